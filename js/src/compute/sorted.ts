// Sorting by a value that may be absent.

const words = new Intl.Collator("en", { numeric: true });

/** What is nothing or not a number comes last in both directions. */
export function sorted<Row>(rows: Row[], value: (row: Row) => number | string | null, down: boolean): Row[] {
  const sign = down ? -1 : 1;
  const absent = (v: number | string | null) => Number(v === null || Number.isNaN(v));
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (absent(x) || absent(y)) return absent(x) - absent(y);
    return sign * (typeof x === "string" ? words.compare(x, String(y)) : x! - (y as number));
  });
}
