// Rows of all heads for one query: the kernel's answer, or, on a page without one, computed from the heads that it holds.
import { rowWeights, sliceFrom } from "../compute/attention";
import { grid, type Unit } from "../compute/grid";
import { heldCells } from "../compute/windows";
import type { Answer, Answers, Kind } from "../kernel/answers";
import type { Overview } from "./overview";
import type { Store } from "./store";

/** (L·H·K) each, the mean over the queries asked for; NaN for heads that are not in the page. */
export interface Rows {
  weight: Float32Array;
  norm: Float32Array | null; // ‖αf(x)‖
  share: Float32Array | null; // of the row's norm
}

/** The rows of a unit's queries. */
export function rowsOf(
  { answers, link }: Pick<Store, "answers" | "link">,
  overview: Overview,
  { pieces }: Unit,
): Answer<Rows> {
  const args = { query: pieces[0]!, last: pieces.at(-1)! };
  const kind: Kind<Rows, "rows"> = {
    op: "rows",
    read: ({ arrays }) => ({
      weight: arrays.weight.data,
      norm: arrays.norm?.data ?? null,
      share: arrays.share?.data ?? null,
    }),
    instead: async () => ((await link.met) ? null : rowsFromHeads(answers, overview, args)),
  };
  return answers.get(kind, overview, args);
}

/** The rows for the queries `query` … `last`, their mean. Only these rows are computed, and no map is kept. */
async function rowsFromHeads(
  answers: Answers,
  overview: Overview,
  { query, last }: { query: number; last: number },
): Promise<Rows> {
  const { n_layers, n_heads, keyside, measures } = overview;
  const [K, count] = [keyside.tokens.length, last - query + 1];
  const nothing = () => new Float32Array(n_layers * n_heads * K).fill(Number.NaN);
  const ask = (op: string, args: Record<string, unknown>) =>
    answers
      .plain(op, overview, args, (reply) => reply)
      .then(
        ({ value }) => value,
        () => null, // a layer that this page does not hold
      );
  const rows = { weight: nothing(), ...(measures.includes("norm") ? { norm: nothing(), share: nothing() } : {}) };
  for (let layer = 0; layer < n_layers; layer++) {
    const lengths = rows.norm && (await ask("norms", { layer }));
    for (let head = 0; head < n_heads; head++) {
      const answer = await ask("head", { layer, head });
      if (!answer) continue;
      const slice = sliceFrom(answer.fields, answer.arrays);
      const at = (layer * n_heads + head) * K;
      const [weight, norm, share] = [rows.weight, rows.norm, rows.share].map((one) => one?.subarray(at, at + K));
      const length = lengths && (lengths.arrays.norms!.data as Float32Array).subarray(head * K, (head + 1) * K);
      for (const numbers of [weight, length && norm, length && share]) numbers?.fill(0);
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

const ONE: Unit[] = [{ label: "", pieces: [0], segment: 0, special: false }];

/** What a row gives to each of some units: columns of a unit summed, as the head view does. */
export const unitValues = (row: Float32Array, cols: Unit[], renormalize: boolean): Float32Array =>
  grid(heldCells(row, row.length), ONE, cols, { renormalize }).values.row(0);

/** −Σ p ln p in nats. */
export function entropyOf(row: Float32Array): number {
  let sum = 0;
  for (const p of row) if (p !== 0) sum -= p * Math.log(p);
  return sum;
}

/** ½ Σ |p − q| of two rows, each scaled to sum 1: how much would have to move. */
export function variationOf(a: Float32Array, b: Float32Array): number {
  const total = (row: Float32Array) => row.reduce((sum, one) => sum + one, 0) || 1;
  const [p, q] = [total(a), total(b)];
  return a.reduce((sum, one, j) => sum + Math.abs(one / p - b[j]! / q), 0) / 2;
}
