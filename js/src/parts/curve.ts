/** The path of a curve through points, broken where there is no number. */
export const curvePath = (points: [x: number, y: number][]): string =>
  points
    .map(([x, y], n) =>
      Number.isFinite(y) ? `${Number.isFinite(points[n - 1]?.[1] ?? Number.NaN) ? "L" : "M"}${x} ${y}` : "",
    )
    .join("");
