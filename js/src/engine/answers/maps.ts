// Attention of a run: whole maps by the model's product, single rows in doubles.
import type { Pass } from "../forward";
import { MASKED } from "../product";
import { padded, type Weights } from "../weights";

/** One head's map: (tokens) weights of each row, which begin `stride` numbers apart. They are where the next one will be. */
export interface HeadMap {
  values: Float32Array;
  stride: number;
}

export function mapOf({ shape, product, scratch }: Weights, pass: Pass, layer: number, head: number): HeadMap {
  const { tokens } = pass;
  const { q, k, masks } = pass.layers[layer]!;
  const [stride, size] = [padded(tokens), shape.width / shape.heads];
  for (const [at, all] of [
    [scratch.headA, q],
    [scratch.headB, k],
  ] as const)
    new Float32Array(product.memory, at, stride * size)
      .fill(0)
      .set(all.subarray(head * tokens * size, (head + 1) * tokens * size));
  product.multiply(scratch.headA, scratch.headB, scratch.zeros, scratch.scores, stride, size, stride);
  const values = new Float32Array(product.memory, scratch.scores, stride * stride);
  const mask = masks[head];
  for (let i = 0; i < tokens; i++) {
    const row = values.subarray(i * stride, (i + 1) * stride).fill(MASKED, tokens);
    if (mask) for (let j = 0; j < tokens; j++) if (!mask[i * tokens + j]) row[j] = MASKED;
    product.softmax(scratch.scores + 4 * i * stride, stride, 1 / Math.sqrt(size));
  }
  return { values, stride };
}

/** Σ_j α_ij v_j of the head whose map was the last: (tokens and more, d). It is where the next one will be. */
export function contextOf(
  { shape, product, scratch }: Weights,
  { tokens, layers }: Pass,
  layer: number,
  head: number,
): Float32Array {
  const [rows, size] = [padded(tokens), shape.width / shape.heads];
  const weights = new Float32Array(product.memory, scratch.scores, rows * rows);
  for (let i = 0; i < rows; i++) weights.fill(0, i * rows + (i < tokens ? tokens : 0), (i + 1) * rows);
  const turned = new Float32Array(product.memory, scratch.headC, rows * size).fill(0);
  const values = layers[layer]!.v.subarray(head * tokens * size, (head + 1) * tokens * size);
  for (let at = 0; at < tokens; at++) for (let i = 0; i < size; i++) turned[i * rows + at] = values[at * size + i]!;
  product.multiply(scratch.scores, scratch.headC, scratch.zeros, scratch.headA, rows, rows, size);
  return new Float32Array(product.memory, scratch.headA, rows * size);
}

/** One head's row of weights. */
export function rowOf(
  { layers, tokens }: Pass,
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
    out[j] = Math.exp(dot * scaling - lse[start + query]!);
  }
  return out;
}
