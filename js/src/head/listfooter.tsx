// Below the list beside the head: what it leaves out, what a row holds, and what is to be known of norms.
import { strongestKey } from "../compute/attention";
import type { Item } from "../compute/grid";
import { counted, share } from "../paint/format";
import { Token } from "../parts/token";
import { renormalized } from "../state/display";
import { useView } from "../state/view";
import { currentScale } from "./scale";

/** What the list leaves out, what a row holds, and what is to be known of norms. */
export function ListFooter({ items, rest, ofColumn }: { items: Item[]; rest: Item[]; ofColumn: boolean }) {
  const view = useView();
  const { synced, shown } = view;
  const scale = currentScale(view);
  if (items.length === 0) return null; // still to be computed
  const sumOf = (some: Item[]) => some.reduce((total, item) => total + item.value, 0);
  const sum = sumOf(items);
  return (
    <p class="bl-muted bl-number bl-sums">
      {rest.length > 0 && `${counted(rest.length)} more: ${scale.text(sumOf(rest))}`}
      {rest.length > 0 && !ofColumn && " · "}
      {!ofColumn && `Σ ${scale.text(sum)}`}
      {!ofColumn && scale.symbol === "α" && <Rest rest={1 - sum} />}
      {shown.norms && !shown.layerMap && view.row !== null && <NormNote norms={shown.norms} />}
      {renormalized(synced, shown) && <> (rows renormalised)</>}
      {shown.norms && synced.units.value !== "pieces" && <> (norms of merged pieces: their sum)</>}
    </p>
  );
}

const ROUNDING = 0.01; // what a row may lack without a sink: weights can come in half precision

/** Where the rest of a row's attention goes: to a sink, which is no token, or to tokens that are filtered out. */
function Rest({ rest }: { rest: number }) {
  const { grid, row, shown } = useView();
  const { K, attention } = shown.slice;
  const queries = row === null ? grid.rows.flatMap(({ pieces }) => pieces) : grid.rows[row]!.pieces;
  const given = (i: number) => (attention ? total(attention.subarray(i * K, (i + 1) * K)) : 1); // a softmax has no sink
  const held = queries.reduce((sum, i) => sum + given(i), 0) / queries.length;
  const sink = 1 - held > ROUNDING ? 1 - held : 0;
  return (
    <>
      {sink > 0 && <>; {share(sink)} goes to a sink, no token</>}
      {rest - sink > 0.0005 && <> (the rest goes to tokens not shown)</>}
    </>
  );
}

const total = (row: Float32Array) => row.reduce((sum, one) => sum + one, 0);

/** What cancels: the token with most attention against what it passes on. */
function NormNote({ norms }: { norms: Float32Array }) {
  const { focus, shown, overview } = useView();
  const weights = shown.weights.row(focus.query);
  const top = strongestKey(weights);
  const median = norms.slice().sort()[norms.length >> 1]!;
  return (
    <>
      {" · "}most attended: <Token text={overview.keyside.tokens[top]!} /> with α {share(weights[top]!)}, ‖f(x)‖{" "}
      {share(norms[top]!)} (median {share(median)})
    </>
  );
}
