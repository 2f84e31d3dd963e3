// What a head view can show of a head: its weights, the norm of what it passes on, or how the two differ.
import type { Measure } from "../generated/vocabulary";

/**
 * Norm or difference of a window's cells, row = query. `norms` is ‖f(x_j)‖ of its keys: α_ij f(x_j) has the norm
 * α_ij ‖f(x_j)‖ (Kobayashi et al. 2020). The difference compares shares: a whole row of it sums to 0. `sum` is that of a
 * whole row's norms.
 */
export function measured(
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
