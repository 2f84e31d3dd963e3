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
  rowSum: Float32Array; // attention that the shown columns hold, before renormalising: 1 where nothing is hidden
  most: number; // the largest value, whatever its sign
  top: number; // where the colours end, see `extremes`
}

/** The units of one side. Words are runs of pieces with one word number in one segment. */
export function units(side: TokenSide, words: boolean): Unit[] {
  const found: Unit[] = [];
  side.tokens.forEach((token, n) => {
    const word = side.words[n] ?? -1;
    const segment = side.segments[n] ?? 0;
    const last = found.at(-1);
    if (words && last && word >= 0 && n > 0 && side.words[n - 1] === word && last.segment === segment) {
      last.label += token.length > 2 && token.startsWith("##") ? token.slice(2) : token;
      last.pieces.push(n);
    } else {
      found.push({ label: token, pieces: [n], segment, special: side.special[n] === 1 });
    }
  });
  return found;
}

/** Spans as units; tokens in none stay single. */
export function spanUnits(side: TokenSide, spans: Span[]): Unit[] {
  const found: Unit[] = [];
  for (const unit of units(side, false)) {
    const at = unit.pieces[0]!;
    const span = spans.find(([, start, end]) => at >= start && at < end);
    if (!span) found.push(unit);
    else if (at === span[1]) found.push({ ...unit, label: span[0], pieces: piecesOf(span) });
  }
  return found;
}

const piecesOf = ([, start, end]: Span) => Array.from({ length: end - start }, (_, n) => start + n);

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
  const width = cols.length;
  const merged = isEvery(rows, S) && isEvery(cols, K) ? weights : merge(weights, K, rows, cols);
  const values = renormalize ? merged.slice() : merged;
  const rowSum = new Float32Array(rows.length);
  for (let r = 0, start = 0; r < rows.length; r++, start += width) {
    let held = 0;
    for (let n = start; n < start + width; n++) held += merged[n]!;
    rowSum[r] = held;
    if (renormalize && held !== 0) for (let n = start; n < start + width; n++) values[n]! /= held;
  }
  return { rows, cols, values, rowSum, ...extremes(values, rows.length) };
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
    const own = rows[r]!.pieces;
    row.fill(0);
    for (const i of own) for (let n = 0; n < pieces.length; n++) row[owner[n]!]! += weights[i * K + pieces[n]!]!;
    for (let c = 0; c < cols.length; c++) values[r * cols.length + c] = row[c]! / own.length;
  }
  return values;
}

/** Mean over the rows of every column, (cols). */
export function columnMeans({ rows, cols, values }: Grid): Float64Array {
  const means = new Float64Array(cols.length);
  for (let r = 0, n = 0; r < rows.length; r++)
    for (let c = 0; c < cols.length; c++, n++) means[c]! += values[n]! / rows.length;
  return means;
}
