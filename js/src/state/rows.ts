// Rows of all heads for one query: the kernel's answer, or, on a page without one, computed from the heads that it holds.
import { grid, type Unit } from "../compute/grid";
import { heldCells } from "../compute/windows";
import type { Answer, Kind } from "../kernel/answers";
import type { Overview } from "./overview";
import { type Rows, rowsFromHeads } from "./savedrows";
import type { Store } from "./store";

const floats = (array?: { data: unknown }) => (array ? (array.data as Float32Array) : null);

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
      weight: floats(arrays.weight)!,
      norm: floats(arrays.norm),
      share: floats(arrays.share),
    }),
    instead: async () => ((await link.met) ? null : rowsFromHeads(answers, overview, args)),
  };
  return answers.get(kind, overview, args);
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
