// The tabs of a widget, and which of them is open.
import type { Tab } from "../state/overview";
import type { View } from "../state/view";
import { tabOf } from "./tabs";

/** The widget's tabs, but for those that nobody gave anything for. */
export const tabsOf = ({ overview, synced }: View): Tab[] =>
  overview.tabs.filter(({ name, why_not }) => why_not !== null && synced.parts.value.includes(name));

/** Whether a tab stands in the row: it is open, its record says so, or it has something to show; on a changed run also
    what may lack it only there. */
export const isOffered = (view: View, tab: Tab): boolean =>
  tab.name === openTab(view)?.name || isOfferedUnasked(view, tab);

const isOfferedUnasked = (view: View, { name, why_not }: Tab): boolean =>
  tabOf(name).isOffered?.(view) ?? (why_not === "" || view.overview.changes.length > 0);

/** The open tab. Under a head none is until one is asked for; what has nothing to show gives way to what has, unasked. */
export function openTab(view: View): Tab | undefined {
  const tabs = tabsOf(view);
  const hasHead = view.synced.parts.value.includes("head");
  const choice = tabs.find(({ name }) => name === view.synced.view.value);
  if (hasHead && view.synced.view.value === "") return undefined;
  if (choice && (choice.why_not === "" || view.page.tabChosen.value || !hasHead)) return choice;
  return tabs.find((tab) => tab.why_not === "" && isOfferedUnasked(view, tab)) ?? tabs[0];
}
