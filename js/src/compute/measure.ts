// What a head view can show of a head: its weights, the norm of what it passes on, or how the two differ.
import type { Measure } from "../vocabulary";

/**
 * The measure of every cell, (S·K) row = query. `norms` is ‖f(x_j)‖, (K): α_ij f(x_j) has the norm α_ij ‖f(x_j)‖
 * (Kobayashi et al. 2020). The difference compares shares: a row of it sums to 0.
 */
export function measured(
  weights: Float32Array,
  norms: Float32Array | null,
  S: number,
  K: number,
  measure: Measure,
): Float32Array {
  if (measure === "weight" || !norms) return weights;
  const out = new Float32Array(S * K);
  for (let i = 0; i < S; i++) {
    let sum = 0;
    for (let j = 0; j < K; j++) {
      const value = weights[i * K + j]! * norms[j]!;
      out[i * K + j] = value;
      sum += value;
    }
    if (measure === "norm") continue;
    for (let j = 0; j < K; j++) out[i * K + j] = weights[i * K + j]! - (sum > 0 ? out[i * K + j]! / sum : 0);
  }
  return out;
}
