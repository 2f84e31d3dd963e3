// What a change does to a run: which heads look elsewhere, see bertlens/whatif/movement.py.
import type { Change } from "./changes";
import type { Pass } from "./forward";

/** One head's row of weights. */
export function rowOf(
  { layers, tokens }: Pass,
  layer: number,
  head: number,
  query: number,
  heads: number,
): Float64Array {
  const { q, k, lse, seen } = layers[layer]!;
  const size = q.length / heads / tokens;
  const [start, scaling] = [head * tokens, 1 / Math.sqrt(size)];
  const out = new Float64Array(tokens);
  for (let j = 0; j < tokens; j++) {
    if (seen[head] && !seen[head][query * tokens + j]) continue;
    let dot = 0;
    for (let i = 0; i < size; i++) dot += q[(start + query) * size + i]! * k[(start + j) * size + i]!;
    out[j] = Math.exp(dot * scaling - lse[start + query]!);
  }
  return out;
}

/** Whether something that is changed comes before a head's weights, or is one of them. */
const canDiffer = (changes: readonly Change[], layer: number, head: number) =>
  changes.some(
    (one) =>
      one.kind === "hide" ||
      one.layer < layer ||
      (one.kind === "cut" && one.layer === layer && (one.head ?? head) === head),
  );

const entr = (p: number) => (p > 0 ? -p * Math.log(p) : 0);

/** (L·H) Jensen-Shannon divergence of a head's rows in two runs, nats, mean over queries; NaN where they cannot differ. */
export function moved(before: Pass, after: Pass, heads: number): Float32Array {
  const { tokens, layers, changes } = after;
  const out = new Float32Array(layers.length * heads).fill(Number.NaN);
  for (let layer = 0; layer < layers.length; layer++)
    for (let head = 0; head < heads; head++) {
      if (!canDiffer(changes, layer, head)) continue;
      let sum = 0;
      for (let query = 0; query < tokens; query++) {
        const [p, q] = [before, after].map((pass) => rowOf(pass, layer, head, query, heads)) as [
          Float64Array,
          Float64Array,
        ];
        let apart = 0;
        for (let j = 0; j < tokens; j++) apart += entr((p[j]! + q[j]!) / 2) - (entr(p[j]!) + entr(q[j]!)) / 2;
        sum += Math.max(0, apart);
      }
      out[layer * heads + head] = sum / tokens;
    }
  return out;
}
