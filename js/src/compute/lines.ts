// Which weights of several heads are drawn as lines.
import type { Grid } from "./grid";
import { largest } from "./largest";

const MOST = 6000; // drawn at once; the caption says when there are more

export interface Line {
  series: number;
  row: number;
  col: number;
  weight: number; // the measure shown, negative only for differences
}

export interface Series {
  name: string;
  grid: Grid;
  muted: boolean;
}

/** The lines to draw, weakest first, and how many weights reach the threshold; of one query or key where one is given. */
export function chooseLines(
  series: Series[],
  minimum: number,
  row: number | null,
  col: number | null,
  most = MOST,
): { lines: Line[]; passed: number } {
  const lines: Line[] = [];
  let passed = 0;
  series.forEach(({ grid, muted }, n) => {
    if (muted) return;
    const K = grid.cols.length;
    const from = (row ?? 0) * K + (col ?? 0);
    const step = col === null ? 1 : K;
    const count = (row === null ? grid.rows.length : 1) * (col === null ? K : 1);
    const values =
      step === 1
        ? grid.values.subarray(from, from + count)
        : Float32Array.from({ length: count }, (_, i) => grid.values[from + i * step]!);
    const chosen = largest(values, most, Math.max(minimum, Number.MIN_VALUE)); // nothing is not a line
    passed += chosen.passed;
    for (const position of chosen.positions) {
      const at = from + position * step;
      lines.push({ series: n, row: Math.floor(at / K), col: at % K, weight: values[position]! });
    }
  });
  lines.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight));
  return { lines: lines.slice(-most), passed };
}
