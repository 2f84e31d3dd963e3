// Attention of a run by a measure: whole maps by the model's product, single rows in doubles.
import { mapOf, type Pass } from "../forward";
import type { Weights } from "../weights";
import { lengthsOf, sharesOf } from "./valuenorms";

/** One head's map by a measure, (S, S) without gaps between rows; `keys`, 1 of those: as if it had no others. */
export function measuredMap(
  weights: Weights,
  pass: Pass,
  layer: number,
  head: number,
  measure: string,
  keys?: Uint8Array,
): Float32Array {
  const { tokens } = pass;
  const { values, stride } = mapOf(weights, pass, layer, head);
  const lengths = measure === "weight" ? null : lengthsOf(weights, pass, layer).subarray(head * tokens);
  const out = new Float32Array(tokens * tokens);
  for (let i = 0; i < tokens; i++) {
    let row: Float64Array = Float64Array.from(values.subarray(i * stride, i * stride + tokens));
    if (keys) row = sharesOf(row.map((weight, j) => (keys[j] ? weight : 0)));
    const norm = lengths && row.map((weight, j) => weight * lengths[j]!);
    const share = norm && measure !== "norm" ? sharesOf(norm) : null;
    out.set(share ? row.map((weight, j) => weight - share[j]!) : (norm ?? row), i * tokens);
  }
  return out;
}

/** One head's row of weights. */
export function rowOf(
  { layers, tokens, logarithms }: Pass,
  layer: number,
  head: number,
  query: number,
  heads: number,
): Float64Array {
  const { q, k, lse, masks } = layers[layer]!;
  const size = q.length / heads / tokens;
  const [start, scaling] = [head * tokens, 1 / Math.sqrt(size)];
  const out = new Float64Array(tokens);
  for (let j = 0; j < tokens; j++) {
    if (masks[head] && !masks[head][query * tokens + j]) continue;
    let dot = 0;
    for (let i = 0; i < size; i++) dot += q[(start + query) * size + i]! * k[(start + j) * size + i]!;
    out[j] = Math.exp(dot * scaling + (logarithms?.[j] ?? 0) - lse[start + query]!);
  }
  return out;
}
