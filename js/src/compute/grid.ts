// The grid that is displayed: attention between units, which are word pieces or whole words, some of them hidden.
import { MANY_ROWS } from "../generated/vocabulary";
import { type Cells, cellsOf, heldCells, isLong, type Window } from "./windows";

/** A piece that is white space alone, as some tokenizers have it before a word: no letter of it. */
export const BLANK = "␣";

/** The tokens along one side of an attention map. */
export interface TokenSide {
  tokens: string[]; // for people
  pieces?: string[]; // as the tokenizer writes them
  words: number[]; // word of every piece, −1 for special tokens
  segments: number[];
  special: number[]; // 1 for special tokens
  continuation?: string; // what a token that goes on with a word begins with, "##"
}

/** A token as it stands in its word, without the sign that it goes on with it. */
export const bare = (token: string, { continuation }: Pick<TokenSide, "continuation">): string =>
  continuation && token.length > continuation.length && token.startsWith(continuation)
    ? token.slice(continuation.length)
    : token;

/** Named runs of tokens, half open: the protein domains of a gene, say. */
export type Span = [label: string, start: number, end: number];

/** One row or column: one piece, or the pieces of one word or span. */
export interface Unit {
  label: string;
  pieces: number[]; // positions in the token sequence, ascending
  segment: number;
  special: boolean;
}

/** A row or column of the grid in a list, with its number there. */
export interface Item {
  unit: Unit;
  n: number; // row or column of the grid
  value: number;
}

export interface Grid {
  rows: Unit[];
  cols: Unit[];
  values: Cells; // (rows·cols)
  peak: number; // the largest value, whatever its sign; infinite while it is not known
  top: number; // where the colours end, see `extremes`
}

/** The units of one side. Words are runs of pieces with one word number in one segment. */
export function units(side: TokenSide, words: boolean): Unit[] {
  const list: Unit[] = [];
  side.tokens.forEach((token, n) => {
    const [word, segment] = [side.words[n] ?? -1, side.segments[n] ?? 0];
    const unit = list.at(-1);
    if (words && unit && word >= 0 && n > 0 && side.words[n - 1] === word && unit.segment === segment) {
      unit.label = unit.label === BLANK ? token : unit.label + bare(token, side);
      unit.pieces.push(n);
    } else list.push({ label: token, pieces: [n], segment, special: side.special[n] === 1 });
  });
  return list;
}

/** Spans as units; tokens in none stay single. */
export const spanUnits = (side: TokenSide, spans: Span[]): Unit[] =>
  units(side, false).flatMap((unit) => {
    const at = unit.pieces[0]!;
    const [label, start, end] = spans.find(([, from, to]) => at >= from && at < to) ?? [unit.label, at, at + 1];
    const pieces = Array.from({ length: end - start }, (_, n) => start + n);
    return at === start ? [{ ...unit, label, pieces }] : [];
  });

/**
 * Attention between units: a word's columns are summed, its rows averaged, so that a row still sums to 1.
 * `renormalize` divides every row by what its shown columns hold; a row that holds nothing stays 0.
 * Where every piece is a unit of its own the values are those given, not a copy.
 */
export function grid(from: Cells, rows: Unit[], cols: Unit[], { renormalize = false } = {}): Grid {
  const [R, C] = [rows.length, cols.length];
  const isFull = R === from.rows && C === from.cols; // units are in order, so that their number says it
  const merged: Window = isFull ? from.window : (...part) => merge(from, rows, cols, part);
  const totals = new Map<number, number>(); // what a row's shown columns hold
  const heldIn = (row: number) => {
    if (!totals.has(row)) totals.set(row, merged(row, row + 1, 0, C).reduce((sum, value) => sum + value, 0) || 1);
    return totals.get(row)!;
  };
  const scaled: Window = (top, bottom, left, right) => {
    const width = right - left;
    return merged(top, bottom, left, right).map((value, n) => value / heldIn(top + Math.floor(n / width)));
  };
  const window = renormalize ? scaled : merged;
  const compute = () =>
    isLong(R, C) ? cellsOf(R, C, window, renormalize || from.whole) : heldCells(window(0, R, 0, C), C);
  const values = isFull && !renormalize ? from : compute();
  return { rows, cols, values, ...extentOf(values) };
}

const SAMPLE = 16; // rows of a long map that say where its colours end, until all are computed

function extentOf(values: Cells): Pick<Grid, "peak" | "top"> {
  const { rows, cols, matrix, swept } = values;
  if (!isLong(rows, cols)) return extremes(matrix!, rows);
  if (swept.value) return swept.value;
  const sample = new Float32Array(SAMPLE * cols);
  for (let n = 0; n < SAMPLE; n++) sample.set(values.row(Math.floor(((n + 0.5) * rows) / SAMPLE)), n * cols);
  return { peak: Number.POSITIVE_INFINITY, top: colourEnd(largestOf(sample, SAMPLE)) };
}

/**
 * The largest size of a map's values, and where its colours end: there too, but in a map of many rows no higher than
 * twice the median of the rows' largest, since a single cell would leave all others white.
 */
export function extremes(values: Float32Array, rows: number): { peak: number; top: number } {
  const sizes = largestOf(values, rows);
  const peak = sizes.reduce((a, b) => Math.max(a, b), 0);
  return { peak, top: rows > MANY_ROWS ? Math.min(peak, colourEnd(sizes)) : peak };
}

/** The largest size in every row. */
export function largestOf(values: Float32Array, rows: number): Float32Array {
  const width = values.length / (rows || 1);
  const largest = new Float32Array(rows);
  for (let r = 0, n = 0; r < rows; r++) {
    let peak = 0;
    for (const end = n + width; n < end; n++) {
      const size = Math.abs(values[n]!);
      if (size > peak) peak = size;
    }
    largest[r] = peak;
  }
  return largest;
}

/** Twice the median of the rows' largest, the largest of all where that is nothing. */
export function colourEnd(sizes: Float32Array): number {
  const sorted = sizes.slice().sort();
  return 2 * sorted[sorted.length >> 1]! || sorted.at(-1)!;
}

/** Columns of a unit summed, its rows averaged, in a part of the grid. */
function merge(from: Cells, rows: Unit[], cols: Unit[], [top, bottom, left, right]: Parameters<Window>): Float32Array {
  const width = right - left;
  const values = new Float32Array((bottom - top) * width);
  if (values.length === 0) return values;
  const sum = new Float64Array(width);
  const span = cols.slice(left, right);
  const start = span[0]!.pieces[0]!;
  const end = span.at(-1)!.pieces.at(-1)! + 1;
  const pieces = Int32Array.from(span.flatMap((col) => col.pieces));
  const owner = Int32Array.from(span.flatMap((col, c) => col.pieces.map(() => c))); // the column of each piece
  for (let r = top; r < bottom; r++) {
    const queries = rows[r]!.pieces;
    sum.fill(0);
    for (const i of queries) {
      const row = from.window(i, i + 1, start, end);
      for (let n = 0; n < pieces.length; n++) sum[owner[n]!]! += row[pieces[n]! - start]!;
    }
    for (let c = 0; c < width; c++) values[(r - top) * width + c] = sum[c]! / queries.length;
  }
  return values;
}

const sums = new WeakMap<Float32Array, Float64Array>(); // a map is gone back to more often than it is new

/** Sum over the rows of every column, (cols). */
export function columnSums(values: Float32Array, cols: number): Float64Array {
  if (sums.has(values)) return sums.get(values)!;
  const columns = new Float64Array(cols);
  for (let n = 0; n < values.length; ) for (let c = 0; c < cols; c++, n++) columns[c]! += values[n]!;
  sums.set(values, columns);
  return columns;
}

/** Mean over the rows of every column, (cols); not known of a long map before all its rows have been computed. */
export const columnMeans = ({ rows, cols, matrix, swept }: Cells): Float64Array | undefined =>
  (matrix ? columnSums(matrix, cols) : swept.value?.sums)?.map((sum) => sum / rows);

/** Whether a unit begins in a span. */
export const within = ([, start, end]: Span, unit: Unit) => unit.pieces[0]! >= start && unit.pieces[0]! < end;

/** Where the second sentence and the named runs of tokens begin. */
export const edges = (spans: Span[], list: Unit[]): number[] =>
  [
    ...new Set([
      ...spans.map((span) => list.findIndex((unit) => within(span, unit))),
      list.findIndex((u, n) => n > 0 && u.segment === 1 && list[n - 1]!.segment === 0),
    ]),
  ].filter((n) => n > 0);

/** ‖f(x)‖ of every column. */
export const keyNorms = (norms: Float32Array, cols: Unit[]) =>
  Float32Array.from(cols, (unit) => unit.pieces.reduce((n, j) => n + norms[j]!, 0));
