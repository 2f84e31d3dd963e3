// Whether a second sentence stands below the first, and what puts it there and takes it away. What it says is kept with
// the page's settings, as the other text of Compare: so a saved state, a link and undo bring it back.
import { batch } from "@preact/signals";
import { LIMITS, SETTINGS } from "../../generated/vocabulary";
import { afterFrame } from "../../state/nextframe";
import type { View } from "../../state/view";
import { choose } from "../../whatif/target";
import { fold, hasHeadsLeaf, isUnfolded, leafOf } from "../unfolded";

const OPENED = "A second sentence stands below the first. Write in either; Escape closes it.";
const CLOSED = "One sentence again.";

/** Whether another text can be run and set below this one. */
export const mayCompare = ({ overview, link }: View): boolean =>
  Boolean(link.kernel.value && overview.lens && overview.square && overview.text) &&
  overview.text_pair === "" &&
  !overview.compared &&
  !overview.ranking &&
  overview.changes.length === 0 &&
  overview.queries.tokens.length <= LIMITS.typed;

/** The text below, "" for none. */
export function textBelow(view: View): string {
  const { run, text, text_pair } = view.page.compareWith.value;
  return run || text_pair || isUnfolded(view) || hasHeadsLeaf(view) || leafOf(view) || !mayCompare(view) ? "" : text;
}

/** Double the sentence; what had the focus goes, so the new one has it. */
export function openTwin(view: View): void {
  const { page, overview } = view;
  batch(() => {
    choose(view, "");
    fold(view, true);
    page.front.secondText.value = false;
    page.front.entering.value = true;
    page.compareWith.value = { ...SETTINGS.compare_with, text: overview.text };
    page.announcement.value = OPENED;
  });
}

export function closeTwin({ page, root }: View): void {
  page.compareWith.value = SETTINGS.compare_with;
  page.announcement.value = CLOSED;
  afterFrame(() => root.current?.querySelector<HTMLElement>(".bl-compare-verb")?.focus({ preventScroll: true }));
}
