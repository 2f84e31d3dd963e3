// Below the list beside the head: what it leaves out, what of a row is not shown, and what is to be known of norms.
import { strongestKey } from "../compute/attention";
import type { Item } from "../compute/grid";
import { counted, plural, share } from "../paint/format";
import { More } from "../parts/term";
import { tokenQuote } from "../parts/token";
import { renormalized } from "../state/headgrid";
import { useView, type View } from "../state/view";
import { unitNoun } from "./cellwords";
import { currentScale } from "./scale";

/** What the list leaves out, and what of a row is not in it. */
export function ListFooter({ items, rest, ofColumn }: { items: Item[]; rest: Item[]; ofColumn: boolean }) {
  const view = useView();
  const { synced, shownHead } = view;
  const scale = currentScale(view);
  if (items.length === 0) return null; // still to be computed
  const sumOf = (some: Item[]) => some.reduce((total, item) => total + item.value, 0);
  const remainder = rest.length === 1 ? "1 other" : `${counted(rest.length)} others`;
  const sentences = [
    rest.length > 0 && `${remainder} ${scale.text(sumOf(rest))}`,
    ...(!ofColumn && scale.symbol === "α" ? lackWords(view, 1 - sumOf(items)) : []),
    renormalized(synced, shownHead) && "rows scaled to 1",
  ];
  return (
    <p class="bl-muted bl-number bl-sums">
      {sentences.filter(Boolean).join(" · ")} {shownHead.norms && <AboutNorms norms={shownHead.norms} />}
    </p>
  );
}

const ROUNDING = 0.01; // what a row may lack without a sink: weights can come in half precision

/** Where the rest of a row's attention goes: to a sink, which is no token, or to what is filtered out. */
function lackWords(view: View, lacking: number): (string | false)[] {
  const { grid, row, shownHead } = view;
  const { K, attention } = shownHead.slice;
  const queries = row === null ? grid.rows.flatMap(({ pieces }) => pieces) : grid.rows[row]!.pieces;
  const attentionOf = (i: number) => (attention ? total(attention.subarray(i * K, (i + 1) * K)) : 1); // a softmax has no sink
  const mean = queries.reduce((sum, i) => sum + attentionOf(i), 0) / queries.length;
  const sink = 1 - mean > ROUNDING ? 1 - mean : 0;
  const hidden = lacking - sink;
  return [
    sink > 0 && `${share(sink)} goes to a sink, no token`,
    hidden > 0.0005 && `${share(hidden)} goes to ${plural(unitNoun(view))} not shown`,
  ];
}

const total = (row: Float32Array) => row.reduce((sum, one) => sum + one, 0);

/** What cancels: the token with most attention against the length of what it has to give. */
function AboutNorms({ norms }: { norms: Float32Array }) {
  const { focus, shownHead, overview, row, synced } = useView();
  const weights = shownHead.weights.row(focus.query);
  const top = strongestKey(weights);
  const median = norms.slice().sort()[norms.length >> 1]!;
  const topWords = `Looked at most: ${tokenQuote(overview.keyside.tokens[top]!)}, α ${share(weights[top]!)}. What it has to give, ‖f(x)‖, is ${share(norms[top]!)} long; the median is ${share(median)}.`;
  const merged = synced.units.value === "pieces" ? "" : "The norm of a word is the sum of its pieces’.";
  const about = [row !== null && !shownHead.layerMap && topWords, merged].filter(Boolean).join(" ");
  return about ? <More about={about} /> : null;
}
