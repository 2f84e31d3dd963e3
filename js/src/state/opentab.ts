// The tabs of a widget, and which of them is open.
import type { Tab } from "./overview";
import type { View } from "./view";

/** The widget's tabs, but for those that nobody gave anything for; a page without a model runs no other text. */
export const tabsOf = ({ overview, synced, link }: View): Tab[] =>
  overview.tabs.filter(
    ({ name, why_not }) =>
      why_not !== null &&
      synced.parts.value.includes(name) &&
      (name !== "compare" || overview.compared || !link.alone.value || synced.view.value === name),
  );

/** Whether two runs are there; the menu of texts leads to another one. */
const isComparing = ({ overview, page }: View) =>
  Boolean(overview.compared || page.compareWith.value.run || page.compareWith.value.text);

/** Whether a tab is offered: it has something to show, is open, lacks it only because the run is a changed one, or shows
    what was given by hand, which does not vanish without a word. */
export const isOffered = (view: View, { name, why_not }: Tab): boolean =>
  (why_not === "" && (name !== "compare" || isComparing(view))) ||
  name === "survey" ||
  name === openTab(view)?.name ||
  view.overview.changes.length > 0;

/** The open tab. Under a head none is until one is asked for; what has nothing to show gives way to what has, unasked. */
export function openTab(view: View): Tab | undefined {
  const tabs = tabsOf(view);
  const hasHead = view.synced.parts.value.includes("head");
  const own = tabs.find(({ name }) => name === view.synced.view.value);
  if (hasHead && view.synced.view.value === "") return undefined;
  if (own && (own.why_not === "" || view.page.tabChosen.value || !hasHead)) return own;
  return tabs.find(({ why_not }) => why_not === "") ?? tabs[0];
}
