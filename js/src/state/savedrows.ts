// Rows of all heads on a page without a kernel, from the heads' queries and keys that it carries.
import { rowWeights, sliceFrom } from "../compute/attention";
import type { Answers } from "../kernel/answers";
import type { Overview } from "./overview";

/** (L·H·K) each, the mean over the queries asked for; NaN for heads that are not in the page. */
export interface Rows {
  weight: Float32Array;
  norm: Float32Array | null; // ‖αf(x)‖
  share: Float32Array | null; // of the row's norm
}

/** The rows for the queries `query` … `last`, their mean. Only these rows are computed, and no map is kept. */
export async function rowsFromHeads(
  answers: Answers,
  overview: Overview,
  { query, last }: { query: number; last: number },
): Promise<Rows> {
  const { n_layers, n_heads, keyside, measures } = overview;
  const [K, count] = [keyside.tokens.length, last - query + 1];
  const nothing = () => new Float32Array(n_layers * n_heads * K).fill(Number.NaN);
  const held = (op: string, args: Record<string, unknown>) =>
    answers
      .plain(op, overview, args, (answer) => answer)
      .then(
        ({ value }) => value,
        () => null, // a layer that this page does not hold
      );
  const rows = { weight: nothing(), ...(measures.includes("norm") ? { norm: nothing(), share: nothing() } : {}) };
  for (let layer = 0; layer < n_layers; layer++) {
    const lengths = rows.norm && (await held("norms", { layer }));
    for (let head = 0; head < n_heads; head++) {
      const found = await held("head", { layer, head });
      if (!found) continue;
      const slice = sliceFrom(found.fields, found.arrays);
      const at = (layer * n_heads + head) * K;
      const [weight, norm, share] = [rows.weight, rows.norm, rows.share].map((one) => one?.subarray(at, at + K));
      const length = lengths && (lengths.arrays.norms!.data as Float32Array).subarray(head * K, (head + 1) * K);
      for (const one of [weight, length && norm, length && share]) one?.fill(0);
      for (let i = query; i <= last; i++) {
        const row = rowWeights(slice, i);
        const total = length ? row.reduce((sum, one, j) => sum + one * length[j]!, 0) || 1 : 1;
        for (let j = 0; j < K; j++) {
          weight![j]! += row[j]! / count;
          if (!length) continue;
          norm![j]! += (row[j]! * length[j]!) / count;
          share![j]! += (row[j]! * length[j]!) / total / count;
        }
      }
    }
  }
  return { weight: rows.weight, norm: rows.norm ?? null, share: rows.share ?? null };
}
