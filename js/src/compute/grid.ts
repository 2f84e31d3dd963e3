// The grid that is displayed: attention between units, which are word pieces or whole words, some of them hidden.

/** The tokens along one side of an attention map. */
export interface TokenSide {
  tokens: string[]; // for people
  words: number[]; // word of every piece, −1 for special tokens
  segments: number[];
  special: number[]; // 1 for special tokens
}

/** Named runs of tokens, half open: the protein domains of a gene, say. */
export type Span = [label: string, start: number, end: number];

/** One row or column: one piece, or the pieces of one word or span. */
export interface Unit {
  label: string;
  pieces: number[]; // positions in the token sequence, ascending
  segment: number;
  special: boolean;
}

export interface Grid {
  rows: Unit[];
  cols: Unit[];
  values: Float32Array; // (rows·cols)
  most: number; // the largest value, whatever its sign
  top: number; // where the colours end, see `extremes`
}

/** The units of one side. Words are runs of pieces with one word number in one segment. */
export function units(side: TokenSide, words: boolean): Unit[] {
  const list: Unit[] = [];
  side.tokens.forEach((token, n) => {
    const [word, segment] = [side.words[n] ?? -1, side.segments[n] ?? 0];
    const last = list.at(-1);
    if (words && last && word >= 0 && n > 0 && side.words[n - 1] === word && last.segment === segment) {
      last.label += token.length > 2 && token.startsWith("##") ? token.slice(2) : token;
      last.pieces.push(n);
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
 * `weights` is (S·K), row = query; where every piece is a unit of its own they are the values themselves, not a copy.
 */
export function grid(
  weights: Float32Array,
  S: number,
  K: number,
  rows: Unit[],
  cols: Unit[],
  { renormalize = false } = {},
): Grid {
  const merged = isEvery(rows, S) && isEvery(cols, K) ? weights : merge(weights, K, rows, cols);
  const values = renormalize ? scaled(merged, cols.length) : merged;
  return { rows, cols, values, ...extremes(values, rows.length) };
}

/** Rows scaled to 1. */
function scaled(values: Float32Array, width: number): Float32Array {
  const out = values.slice();
  for (let start = 0; start < out.length; start += width) {
    const row = out.subarray(start, start + width);
    const held = row.reduce((sum, value) => sum + value, 0) || 1;
    for (let n = 0; n < width; n++) row[n]! /= held;
  }
  return out;
}

const MANY_ROWS = 64;

/**
 * The largest size of a map's values, and where its colours end: there too, but in a map of many rows no higher than
 * twice the median of the rows' largest, since a single cell would leave all others white.
 */
export function extremes(values: Float32Array, rows: number): { most: number; top: number } {
  const width = values.length / (rows || 1);
  const largest = new Float32Array(rows);
  for (let r = 0, n = 0; r < rows; r++) {
    let most = 0;
    for (const end = n + width; n < end; n++) {
      const size = Math.abs(values[n]!);
      if (size > most) most = size;
    }
    largest[r] = most;
  }
  const sorted = largest.sort();
  const most = sorted.at(-1) ?? 0;
  return { most, top: rows > MANY_ROWS ? Math.min(most, 2 * sorted[rows >> 1]!) || most : most };
}

/** Whether the units are all pieces of a side, one each. Units are in order, so that their number says it. */
const isEvery = (list: Unit[], pieces: number) => list.length === pieces;

/** Columns of a unit summed, its rows averaged: (rows·cols). */
function merge(weights: Float32Array, K: number, rows: Unit[], cols: Unit[]): Float32Array {
  const values = new Float32Array(rows.length * cols.length);
  const row = new Float64Array(cols.length);
  const pieces = Int32Array.from(cols.flatMap((col) => col.pieces));
  const owner = Int32Array.from(cols.flatMap((col, c) => col.pieces.map(() => c))); // the column of each piece
  for (let r = 0; r < rows.length; r++) {
    const queries = rows[r]!.pieces;
    row.fill(0);
    for (const i of queries) for (let n = 0; n < pieces.length; n++) row[owner[n]!]! += weights[i * K + pieces[n]!]!;
    for (let c = 0; c < cols.length; c++) values[r * cols.length + c] = row[c]! / queries.length;
  }
  return values;
}

const sums = new WeakMap<Float32Array, Float64Array>(); // a map is gone back to more often than it is new

/** Sum over the rows of every column, (cols). */
export function columnSums(values: Float32Array, cols: number): Float64Array {
  if (sums.has(values)) return sums.get(values)!;
  const made = new Float64Array(cols);
  for (let n = 0; n < values.length; ) for (let c = 0; c < cols; c++, n++) made[c]! += values[n]!;
  sums.set(values, made);
  return made;
}

/** Mean over the rows of every column, (cols). */
export const columnMeans = ({ rows, cols, values }: Grid): Float64Array =>
  columnSums(values, cols.length).map((sum) => sum / rows.length);
