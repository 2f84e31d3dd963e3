// One head on one text, recomputed in the page from what the kernel sends: q, k, scaling, mask and the log-sum-exp of each
// row, or the attention itself where the model has no q and k to show. Sums are float64, so printed numbers are as exact
// as float32 q and k; with the log-sum-exp any window is exp(q·k × scaling + terms + mask − lse) without the rest of its rows.
import type { Arrays } from "../kernel/wire";
import { dot, type ScoreTerm, termAt, termsFrom } from "./scoreterms";

type Mask =
  | { kind: "full" } // every query sees every key
  | { kind: "band"; left: number; right: number } // query i sees the keys i − left … i + right
  | { kind: "bits"; bits: Uint8Array; stride: number } // a bit per key, lowest first, `stride` bytes a query, 1 = visible
  | { kind: "bias"; bias: Float32Array }; // (S·K) added to the scores, −Infinity = masked

/** Bytes of what is worked out for single cells of a head and kept, the last ones: of a long text it counts with the head. */
export const CELLS = 4e6;

export interface Slice {
  S: number; // queries
  K: number; // keys
  d: number; // size of q and k, 0 where there are none
  scaling: number; // the model's own factor between q·k and the score
  mask: Mask;
  terms: ScoreTerm[]; // added to the scores beside q·k, of families that have such
  q?: Float32Array; // (S·d)
  k?: Float32Array; // (K·d)
  lse?: Float64Array; // (S) log Σ exp of every query's scores
  attention?: Float32Array; // (S·K), instead of q and k
  decimals?: number; // of its weights, where rounded ones of a model leave fewer
}

/** A slice whose neurons can be shown. */
export type QueryKeySlice = Slice & { q: Float32Array; k: Float32Array };

/** The slice in an answer: its fields {scaling, mask, terms} and its arrays q, k, lse, those of terms, and bits or bias, or attention. */
export function sliceFrom(fields: Record<string, unknown>, arrays: Arrays): Slice {
  const { q, k, lse, attention } = arrays;
  const [S = 0, d = 0] = (attention ?? q)?.shape ?? [];
  if (attention)
    return { S, K: d, d: 0, scaling: 1, mask: { kind: "full" }, terms: [], attention: attention.data as Float32Array };
  if (!q || !k || !lse) throw new Error("a head slice needs q and k with lse, or attention");
  return {
    S,
    K: k.shape[0] ?? 0,
    d,
    scaling: fields.scaling as number,
    mask: maskFrom(fields, arrays),
    terms: termsFrom(fields, arrays),
    q: q.data as Float32Array,
    k: k.data as Float32Array,
    lse: lse.data as Float64Array,
    ...(fields.decimals === undefined ? {} : { decimals: fields.decimals as number }),
  };
}

function maskFrom({ mask: kind, band }: Record<string, unknown>, { bits, bias }: Arrays): Mask {
  if (kind === "full") return { kind };
  if (kind === "causal") return { kind: "band", left: Number.POSITIVE_INFINITY, right: 0 };
  if (kind === "band") return { kind, ...(band as { left: number; right: number }) };
  if (kind === "bits" && bits) return { kind, bits: bits.data as Uint8Array, stride: bits.shape[1] ?? 0 };
  if (kind === "bias" && bias) return { kind, bias: bias.data as Float32Array };
  throw new Error(`a head slice with an unknown mask: ${String(kind)}`);
}

/** Whether query i may attend to key j. */
export function visible({ mask, K }: Slice, i: number, j: number): boolean {
  switch (mask.kind) {
    case "full":
      return true;
    case "band":
      return j <= i + mask.right && j >= i - mask.left;
    case "bits":
      return ((mask.bits[i * mask.stride + (j >> 3)]! >> (j & 7)) & 1) === 1;
    case "bias":
      return mask.bias[i * K + j] !== Number.NEGATIVE_INFINITY;
  }
}

/** What the mask adds to the score of query i and key j: −Infinity where it is hidden. */
export const maskAt = (slice: Slice, i: number, j: number): number =>
  slice.mask.kind === "bias" ? slice.mask.bias[i * slice.K + j]! : visible(slice, i, j) ? 0 : Number.NEGATIVE_INFINITY;

/** What the score of query i and key j has beside q·k: of the mask, and of the terms where the key is not hidden. */
export function biasOf(slice: QueryKeySlice, i: number, j: number): number {
  let sum = maskAt(slice, i, j);
  if (sum > Number.NEGATIVE_INFINITY) for (const term of slice.terms) sum += termAt(term, slice, i, j);
  return sum;
}

/** Scores of query i, q·k × scaling plus terms and the mask's bias: (K), −Infinity where masked. */
export function scores(slice: Slice, i: number): Float64Array {
  const row = new Float64Array(slice.K);
  fillScores(needQueryKey(slice), i, row);
  return row;
}

/** Attention of query i: softmax of its scores, (K). NaN throughout if no key is visible. */
export function rowWeights(slice: Slice, i: number): Float64Array {
  if (slice.attention) return Float64Array.from(slice.attention.subarray(i * slice.K, (i + 1) * slice.K));
  const row = scores(slice, i);
  softmax(row);
  return row;
}

/** Attention of the queries `top` … `bottom` − 1 to the keys `left` … `right` − 1 by q and k, row = query. */
export function weightsIn(slice: Slice, top: number, bottom: number, left: number, right: number): Float32Array {
  const width = right - left;
  const out = new Float32Array((bottom - top) * width);
  const vectors = needQueryKey(slice);
  const isPlain = slice.mask.kind === "full" && slice.terms.length === 0;
  const products = isPlain ? out : new Float64Array(out.length); // which may be far from the weight's logarithm
  lessTotal(vectors, top, bottom, left, right, products);
  for (let i = top, n = 0; i < bottom; i++) {
    if (isPlain) for (const end = n + width; n < end; n++) out[n] = Math.exp(out[n]!);
    // NaN where no key is visible, as in torch
    else for (let j = left; j < right; j++, n++) out[n] = Math.exp(products[n]! + biasOf(vectors, i, j));
  }
  return out;
}

/** q·k × scaling − lse of a window. Two queries and two keys at a time: what is read serves twice. */
function lessTotal(
  slice: QueryKeySlice,
  top: number,
  bottom: number,
  left: number,
  right: number,
  out: Float32Array | Float64Array,
) {
  const { q, k, d, scaling } = slice;
  const lse = slice.lse!; // what has q and k has it too
  const width = right - left;
  for (let i = top; i < bottom; i += 2) {
    const x = i * d;
    const y = i + 1 < bottom ? x + d : x; // the last one of an odd number twice
    for (let j = left; j < right; j += 2) {
      const k0 = j * d;
      const k1 = j + 1 < right ? k0 + d : k0;
      let a = 0,
        b = 0,
        c = 0,
        e = 0;
      for (let n = 0; n < d; n++) {
        const u = q[x + n]!;
        const v = q[y + n]!;
        const key = k[k0 + n]!;
        const two = k[k1 + n]!;
        a += u * key;
        b += u * two;
        c += v * key;
        e += v * two;
      }
      const at = (i - top) * width + j - left;
      const below = y > x ? at + width : at;
      const step = k1 > k0 ? 1 : 0;
      out[at] = a * scaling - lse[i]!;
      out[at + step] = b * scaling - lse[i]!;
      if (below === at) continue;
      out[below] = c * scaling - lse[i + 1]!;
      out[below + step] = e * scaling - lse[i + 1]!;
    }
  }
}

/** The key with the largest weight in a query's row. */
export const strongestKey = (row: Float32Array): number =>
  row.reduce((best, value, j) => (value > row[best]! ? j : best), 0);

/** The slice itself, if it has q and k. */
export function needQueryKey(slice: Slice): QueryKeySlice {
  if (!slice.q || !slice.k) throw new Error("this head has attention only: no queries and keys");
  return slice as QueryKeySlice;
}

function fillScores(slice: QueryKeySlice, i: number, row: Float64Array): void {
  const { q, k, d, K, scaling } = slice;
  for (let j = 0; j < K; j++) {
    const bias = biasOf(slice, i, j);
    row[j] = bias > Number.NEGATIVE_INFINITY ? dot(q, i * d, k, j * d, d) * scaling + bias : bias;
  }
}

/** In place. NaN and rows without a visible key come out as NaN, as in torch. */
export function softmax(row: Float64Array): void {
  let peak = Number.NEGATIVE_INFINITY;
  let total = 0;
  for (let j = 0; j < row.length; j++) if (row[j]! > peak) peak = row[j]!;
  for (let j = 0; j < row.length; j++) {
    row[j] = Math.exp(row[j]! - peak);
    total += row[j]!;
  }
  for (let j = 0; j < row.length; j++) row[j]! /= total;
}
