// What opens and closes a leaf: the number on an arc does both, and has the focus again once it is closed.
import type { Traits } from "../../generated/vocabulary";
import { visit } from "../../state/page";
import type { View } from "../../state/view";
import { leafOf } from "../unfolded";

const OPENED = "How this weight is computed stands below the sentence; Escape closes it.";
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

export function closeLeaf({ synced, page, root }: View): void {
  const number = root.current?.querySelector<SVGElement>(".bl-weight[aria-expanded=true]");
  synced.put({ view: "" });
  page.announcement.value = CLOSED;
  (number ?? root.current)?.focus({ preventScroll: true });
}
