// A part of a score tried out: what the split said of it, and what switching it off does.
import { scores, visible } from "../../compute/attention";
import { headLabel, signed } from "../../parts/format";
import { tokenText } from "../../parts/token";
import type { Tried } from "../../state/whatif";
import { useView, type View } from "../context";
import type { Part, Split } from "../whydata";
import { partName } from "../whydata";
import { add } from "./doing";

/** Whether a part can be switched off. */
export const canTry = (view: View, { kind, layer }: Part): boolean =>
  layer !== null && (kind === "head" || kind === "mlp") && view.link.kernel.value && !view.overview.offers.whatif;

/** Switch a part of a split off. */
export function tryOut(view: View, split: Split, part: Part): void {
  const { layer, head, query, key, against, total } = split;
  view.page.whatif.tried.value = {
    subject: view.overview.subject,
    place: { layer, head, query, key },
    against,
    part: { layer: part.layer!, head: part.head },
    split: part.value,
    before: total,
  };
  add(view, [part.head === null ? ["mlp", part.layer] : ["off", part.layer, part.head]]);
}

/** The score of the place in the run shown, less that of what it is against. */
function scoreNow({ shown }: View, { place, against }: Tried): number {
  const { slice } = shown;
  const row = scores(slice, place.query);
  if (against === null) return row[place.key]!;
  if (typeof against === "number") return row[place.key]! - row[against]!;
  const others = Array.from(row).filter((_, j) => j !== place.key && visible(slice, place.query, j));
  return row[place.key]! - others.reduce((sum, one) => sum + one, 0) / others.length;
}

/** The split beside the experiment, while that is the run shown and its head too. */
export function TriedOut() {
  const view = useView();
  const { page, overview, shown } = view;
  const tried = page.whatif.tried.value;
  if (tried?.subject !== overview.subject || !shown.slice.q) return null;
  const { place, part, split, before } = tried;
  const code = part.head === null ? `whatif.mlp(${part.layer})` : `whatif.off(${part.layer}, ${part.head})`;
  const isAlone = overview.changes.length === 1 && overview.changes[0]!.code === code;
  if (!isAlone || shown.layer !== place.layer || shown.head !== place.head) return null;
  const after = scoreNow(view, tried);
  const { tokens } = overview.keyside;
  const token = (n: number) => `“${tokenText(tokens[n]!)}”`;
  const kind = part.head === null ? "mlp" : "head";
  const numbers = `${before.toFixed(4)} → ${after.toFixed(4)} nats`;
  return (
    <p class="bl-note" data-testid="tried" title={numbers}>
      {token(place.query)} at {token(place.key)} in {headLabel(place.layer, place.head)}: the split gave{" "}
      {partName({ kind, ...part })} <b class="bl-number">{signed(split)}</b> of {signed(before)} nats. In the run
      without it the {tried.against === null ? "score" : "difference"} is {signed(after)}: it made{" "}
      <b class="bl-number">{signed(before - after)}</b>. The split keeps all else as it was; the run does not.
    </p>
  );
}
