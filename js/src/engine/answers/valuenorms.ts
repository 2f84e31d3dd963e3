// What a head passes on beside what it looks at: ‖f(x)‖, see bertlens/measures/norms.py. Kobayashi et al. 2020.
import { factorOf } from "../changes";
import type { Pass } from "../forward";
import { memo } from "../runs";
import type { Weights } from "../weights";

const grams = new WeakMap<Weights, Map<number, Float64Array>>(); // of a layer's heads: OᵀO, (H, d, d)
const lengthsByLayer = new WeakMap<Pass, Map<number, Float32Array>>();

function gramsOf({ shape, product, layers }: Weights, layer: number): Float64Array {
  const { width, heads } = shape;
  const size = width / heads;
  const output = new Float32Array(product.memory, layers[layer]!.output.weight, width * width);
  const out = new Float64Array(heads * size * size);
  for (let o = 0; o < width; o++)
    for (let head = 0; head < heads; head++) {
      const [from, to] = [o * width + head * size, head * size * size];
      for (let a = 0; a < size; a++)
        for (let b = 0; b < size; b++) out[to + a * size + b]! += output[from + a]! * output[from + b]!;
    }
  return out;
}

/** (H·S) ‖f(x)‖ = ‖O v‖ of a layer's heads, whose square is vᵀ(OᵀO)v, times how loud a head is. */
export const lengthsOf = (weights: Weights, pass: Pass, layer: number): Float32Array =>
  memo(lengthsByLayer, pass, layer, () => {
    const { width, heads } = weights.shape;
    const [{ tokens, changes }, size] = [pass, width / heads];
    const gram = memo(grams, weights, layer, () => gramsOf(weights, layer));
    const { v } = pass.layers[layer]!;
    const out = new Float32Array(heads * tokens);
    for (let head = 0; head < heads; head++) {
      const factor = factorOf(changes, layer, head);
      if (factor === 0) continue;
      const headGram = gram.subarray(head * size * size);
      for (let at = 0; at < tokens; at++) {
        const value = v.subarray((head * tokens + at) * size, (head * tokens + at + 1) * size);
        let square = 0;
        for (let a = 0; a < size; a++) {
          let dot = 0;
          for (let b = 0; b < size; b++) dot += headGram[a * size + b]! * value[b]!;
          square += value[a]! * dot;
        }
        out[head * tokens + at] = factor * Math.sqrt(Math.max(0, square));
      }
    }
    return out;
  });

/** A row divided by its sum; zeros stay. */
export function sharesOf(row: Float64Array): Float64Array {
  const total = row.reduce((sum, one) => sum + one, 0);
  return total > 0 ? row.map((one) => one / total) : row;
}
