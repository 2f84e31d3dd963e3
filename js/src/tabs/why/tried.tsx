// A part of a score tried out: what the split said of it, and what switching it off does.
import { scores, visible } from "../../compute/attention";
import { useView, type View } from "../../state/view";
import type { Tried } from "../../state/whatif";
import type { Part, Split } from "../../state/why";
import { put } from "../../whatif/doing";
import { triedWords } from "./words";

/** Whether a part can be switched off. */
export const canTry = (view: View, { kind, layer }: Part): boolean =>
  layer !== null && (kind === "head" || kind === "mlp") && view.link.kernel.value && !view.overview.offers.whatif;

/** Switch a part of a split off, and nothing else: the reader stays where it was tried. */
export function tryOut(view: View, split: Split, part: Part): void {
  const { page, overview } = view;
  page.whatif.tried.value = { subject: overview.subject, split, part };
  page.tabChosen.value = true;
  put(view, () => [part.head === null ? ["mlp", part.layer] : ["off", part.layer, part.head]]);
}

/** The score of the split's cell in the run shown, less that of what it is against. */
function scoreNow({ shown }: View, { query, key, against }: Split): number {
  const { slice } = shown;
  const row = scores(slice, query);
  if (against === null) return row[key]!;
  if (typeof against === "number") return row[key]! - row[against]!;
  const others = Array.from(row).filter((_, j) => j !== key && visible(slice, query, j));
  return row[key]! - others.reduce((sum, one) => sum + one, 0) / others.length;
}

/** What was tried, while that is the run shown, and its head too. */
export function triedNow({ page, overview, shown }: View): Tried | null {
  const tried = page.whatif.tried.value;
  if (tried?.subject !== overview.subject || !shown.slice.q) return null;
  const { split, part } = tried;
  const code = part.head === null ? `whatif.mlp(${part.layer})` : `whatif.off(${part.layer}, ${part.head})`;
  const isAlone = overview.changes.length === 1 && overview.changes[0]!.code === code;
  return isAlone && shown.layer === split.layer && shown.head === split.head ? tried : null;
}

/** The split beside the experiment. */
export function TriedOut({ split, part }: Tried) {
  const after = scoreNow(useView(), split);
  return (
    <p class="bl-note" data-testid="tried" title={`${split.total.toFixed(4)} → ${after.toFixed(4)} nats`}>
      {triedWords(split, part, after)}
    </p>
  );
}
