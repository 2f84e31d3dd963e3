// What opens and closes a leaf: the number on an arc, or the tile of all heads, which has the focus again afterwards.
import type { Traits } from "../../generated/vocabulary";
import { afterFrame } from "../../state/nextframe";
import { visit } from "../../state/page";
import type { View } from "../../state/view";
import { fold, leafOf } from "../unfolded";

const OPENED = "It stands below; Escape closes it.";
const CLOSED = "Closed.";

/** Ask how a weight is computed; a second time on the same one closes the answer. */
export function askOf(view: View, cell: Pick<Traits, "query" | "key">): void {
  const { query, key } = view.focus;
  if (leafOf(view) && query === cell.query && key === cell.key) closeLeaf(view);
  else {
    visit(view, "neurons", cell);
    view.page.announcement.value = OPENED;
  }
}

/** All heads as a leaf, or none. */
export function showHeads(view: View, isShown: boolean): void {
  fold(view, !isShown);
  view.page.announcement.value = isShown ? OPENED : CLOSED;
  back(view, ".bl-open-heads");
}

/** The whole of an answer below all heads: its name there has the focus, for the leaf is no more. */
export function inFull(view: View, name: string): void {
  view.page.allHeads.value = true;
  visit(view, name);
  afterFrame(() => back(view, `[data-tab="${name}"]`));
}

/** All heads at once, with the map of the one shown. */
export function unfold(view: View): void {
  const isLost = view.root.current?.querySelector(".bl-in-full:focus"); // the button is no more then
  view.page.allHeads.value = true;
  if (isLost) back(view, ".bl-open-heads");
}

export function closeLeaf(view: View): void {
  back(view, ".bl-weight[aria-expanded=true]");
  view.synced.put({ view: "" });
  view.page.announcement.value = CLOSED;
}

/** The focus goes to what opened it. */
function back({ root }: View, selector: string): void {
  const opener = root.current?.querySelector<HTMLElement>(selector) ?? root.current;
  opener?.focus({ preventScroll: true });
}
