// All rows of a long map, one after the other in small steps: blocks of cells for its overview, and what can only be said
// of all cells. Nothing of the size of the map is kept.
import { colourEnd, largestOf } from "./grid";
import { largest } from "./largest";
import type { Cells } from "./windows";

const [SWEEP_ROWS, KEPT] = [4, 1000]; // rows a step; largest cells that are known by their place
const MOST_BLOCKS = 512; // blocks along a side of the overview, at most

/** Blocks of edge × edge cells: the largest by size, and the sum, both (rows·cols); NaN where it is still to come. */
export interface Blocks {
  edge: number;
  rows: number;
  cols: number;
  max: Float32Array;
  sum: Float32Array;
}

export const blockEdge = ({ rows, cols }: Pick<Cells, "rows" | "cols">, side = MOST_BLOCKS) =>
  Math.ceil(Math.max(rows, cols) / side);

/** The blocks of a part of a map, of which `values` are the cells, row = query; blocks at its end may be smaller. */
export function blocksOf(values: Float32Array, width: number, edge: number): Blocks {
  const height = values.length / width;
  const [rows, cols] = [Math.ceil(height / edge), Math.ceil(width / edge)];
  const max = new Float32Array(rows * cols);
  const sum = new Float64Array(rows * cols);
  for (let i = 0, n = 0; i < height; i++) {
    const from = Math.floor(i / edge) * cols;
    for (let j = 0; j < width; j++, n++) {
      const at = from + Math.floor(j / edge);
      const value = values[n]!;
      sum[at]! += value;
      if (!(Math.abs(value) <= Math.abs(max[at]!))) max[at] = value; // not a number stays
    }
  }
  return { edge, rows, cols, max, sum: Float32Array.from(sum) };
}

export interface Sweep {
  blocks: Blocks;
  rowsDone: number; // rows
}

/** A sweep as it goes; at its end the map's `swept` is known. Steps take about a millisecond for 4,096 keys of size 64. */
export function* sweep(cells: Cells, state: Sweep): Generator<void> {
  const { rows, cols } = cells;
  const { blocks } = state;
  const { edge } = blocks;
  const sums = new Float64Array(cols);
  const sizes = new Float32Array(rows);
  let cellsKept: [position: number, value: number][] = [];
  let bound = 0; // of the largest so far
  const keep = (count: number) => {
    const { positions } = largest(
      cellsKept.map(([, value]) => value),
      KEPT,
    );
    if (cellsKept.length >= KEPT) bound = Math.abs(cellsKept[positions.at(-1)!]![1]);
    cellsKept = positions.slice(0, count).map((n) => cellsKept[n]!);
  };
  for (let top = 0; top < rows; top += edge) {
    const bottom = Math.min(rows, top + edge);
    const strip = new Float32Array((bottom - top) * cols);
    for (let row = top; row < bottom; row += SWEEP_ROWS) {
      const end = Math.min(bottom, row + SWEEP_ROWS);
      const values = cells.window(row, end, 0, cols);
      strip.set(values, (row - top) * cols);
      sizes.set(largestOf(values, end - row), row);
      for (let n = 0; n < values.length; ) {
        for (let j = 0; j < cols; j++, n++) {
          sums[j]! += values[n]!;
          if (Math.abs(values[n]!) > bound) cellsKept.push([row * cols + n, values[n]!]);
        }
      }
      if (cellsKept.length > 4 * KEPT) keep(KEPT);
      yield;
    }
    const { max, sum } = blocksOf(strip, cols, edge);
    const at = (top / edge) * blocks.cols;
    blocks.max.set(max, at);
    blocks.sum.set(sum, at);
    state.rowsDone = bottom;
  }
  keep(KEPT);
  const peak = sizes.reduce((a, b) => Math.max(a, b), 0);
  cells.swept.value = {
    ...{ peak, sums },
    top: Math.min(peak, colourEnd(sizes)) || peak,
    largest: cellsKept.map(([position]) => position),
  };
}

export function emptySweep(cells: Cells): Sweep {
  const edge = blockEdge(cells);
  const [rows, cols] = [Math.ceil(cells.rows / edge), Math.ceil(cells.cols / edge)];
  const empty = () => new Float32Array(rows * cols).fill(Number.NaN);
  return { blocks: { edge, rows, cols, max: empty(), sum: empty() }, rowsDone: 0 };
}
