// The values of a map, held, or, of a long text, computed where they are looked at: a window of a head's weights, norms or
// differences is exact without the rest of the map (compute/attention.ts), so that no map of a long text is ever held.
import { type Signal, signal } from "@preact/signals";
import { LIMITS, type Measure } from "../generated/vocabulary";
import { type Slice, weightsIn } from "./attention";

/** A map of more cells than 1,024 × 1,024 is not held. */
export const isLong = (rows: number, cols: number): boolean => rows * cols > LIMITS.held ** 2;

/** The queries `top` … `bottom` − 1 and the keys `left` … `right` − 1 of a map, row = query. */
export type Window = (top: number, bottom: number, left: number, right: number) => Float32Array;

/** What is known of all of a long map once every row has been computed, see compute/sweep.ts. */
export interface Swept {
  peak: number; // the largest size of a value
  top: number; // where the colours end, see `extremes`
  sums: Float64Array; // of every column
  largest: number[]; // positions of the largest values, the largest first
}

export interface Cells {
  rows: number;
  cols: number;
  matrix?: Float32Array; // all of them, (rows·cols)
  window: Window;
  at(row: number, col: number): number;
  row(row: number): Float32Array; // (cols)
  column(col: number): Float32Array; // (rows); NaN where each of its cells needs a row that was not computed yet
  whole: boolean; // a cell needs its whole row
  swept: Signal<Swept | null>;
}

export function cellsOf(rows: number, cols: number, window: Window, whole = false, matrix?: Float32Array): Cells {
  const swept: Cells["swept"] = signal(null);
  return {
    ...{ rows, cols, matrix, window, whole, swept },
    at: (row, col) => window(row, row + 1, col, col + 1)[0]!,
    row: (row) => window(row, row + 1, 0, cols),
    column: (col) => (whole && !swept.value ? new Float32Array(rows).fill(Number.NaN) : window(0, rows, col, col + 1)),
  };
}

/** Values that are here, (rows·cols). */
export const heldCells = (values: Float32Array, cols: number): Cells =>
  cellsOf(
    values.length / (cols || 1),
    cols,
    (top, bottom, left, right) => {
      if (right - left === cols) return values.subarray(top * cols, bottom * cols);
      const out = new Float32Array((bottom - top) * (right - left));
      for (let i = top, n = 0; i < bottom; i++) for (let j = left; j < right; j++) out[n++] = values[i * cols + j]!;
      return out;
    },
    false,
    values,
  );

/** The attention of a head: held where it came as such or is not long. */
export function weightCells(slice: Slice): Cells {
  const { S, K, attention } = slice;
  const window: Window = (...part) => weightsIn(slice, ...part);
  if (attention || !isLong(S, K)) return heldCells(attention ?? window(0, S, 0, K), K);
  return cellsOf(S, K, window);
}

/**
 * Norm or difference of a window's cells, row = query. `norms` is ‖f(x_j)‖ of its keys: α_ij f(x_j) has the norm
 * α_ij ‖f(x_j)‖ (Kobayashi et al. 2020). The difference compares shares: a whole row of it sums to 0. `sum` is that of a
 * whole row's norms.
 */
function measured(
  weights: Float32Array,
  norms: Float32Array,
  measure: Measure,
  sum: (row: number) => number,
): Float32Array {
  const width = norms.length;
  const out = new Float32Array(weights.length);
  for (let i = 0, n = 0; n < out.length; i++) {
    const total = measure === "norm" ? 0 : sum(i);
    for (let j = 0; j < width; j++, n++) {
      const value = weights[n]! * norms[j]!;
      out[n] = measure === "norm" ? value : weights[n]! - (total > 0 ? value / total : 0);
    }
  }
  return out;
}

/** A measure of a head. `norms` is ‖f(x_j)‖, (K). */
export function measuredCells(weights: Cells, norms: Float32Array | null, measure: Measure): Cells {
  const { rows, cols } = weights;
  if (measure === "weight" || !norms) return weights;
  const sums = new Float64Array(rows).fill(Number.NaN); // Σ_j α_ij ‖f(x_j)‖ of the rows that were looked at
  const sumOf = (i: number) => {
    if (Number.isNaN(sums[i])) sums[i] = weights.row(i).reduce((sum, one, j) => sum + one * norms[j]!, 0);
    return sums[i]!;
  };
  const window: Window = (top, bottom, left, right) =>
    measured(weights.window(top, bottom, left, right), norms.subarray(left, right), measure, (i) => sumOf(top + i));
  return isLong(rows, cols)
    ? cellsOf(rows, cols, window, measure === "difference")
    : heldCells(window(0, rows, 0, cols), cols);
}
