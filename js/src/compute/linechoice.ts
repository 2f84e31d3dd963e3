// Which weights of several heads are drawn as lines.
import type { Grid } from "./grid";
import { largest } from "./largest";

const MOST_LINES = 6000; // drawn at once; the caption says when there are more
const [MOST_LENGTH, BREADTH] = [320_000, 35]; // of all lines, in rows: drawing takes as long as they are; from side to side

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

/** The strongest lines that are quickly drawn, weakest first, and how many weights reach the threshold; of one query or key if given. */
export function chooseLines(
  series: Series[],
  minimum: number,
  row: number | null,
  col: number | null,
  most = MOST_LINES,
): { lines: Line[]; passed: number } {
  const lines: Line[] = [];
  let passed = 0;
  series.forEach(({ grid, muted }, n) => {
    if (muted) return;
    const K = grid.cols.length;
    const [top, left] = [row ?? 0, col ?? 0];
    const width = col === null ? K : 1;
    const values = grid.values.window(top, row === null ? grid.rows.length : top + 1, left, left + width);
    const strongest = largest(values, most, Math.max(minimum, Number.MIN_VALUE)); // nothing is not a line
    passed += strongest.passed;
    for (const position of strongest.positions) {
      const [r, c] = [Math.floor(position / width), position % width];
      lines.push({ series: n, row: top + r, col: left + c, weight: values[position]! });
    }
  });
  lines.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight));
  let start = lines.length;
  for (let length = 0; start > 0 && length < MOST_LENGTH && lines.length - start < most; start--) {
    const { row: from, col: to } = lines[start - 1]!;
    length += Math.abs(from - to) + BREADTH;
  }
  return { lines: lines.slice(start), passed };
}
