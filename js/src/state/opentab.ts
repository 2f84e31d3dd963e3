// The tabs of a widget, and which of them is open.
import type { Tab } from "./overview";
import type { View } from "./view";

/** The widget's tabs, but for those that nobody gave anything for. */
export const tabsOf = ({ overview, synced }: View): Tab[] =>
  overview.tabs.filter(({ name, why_not }) => why_not !== null && synced.parts.value.includes(name));

/** The open tab: the widget's own, unless that has nothing to show and nobody asked for it; then the first that has. */
export function openTab(view: View): Tab | undefined {
  const tabs = tabsOf(view);
  const own = tabs.find(({ name }) => name === view.synced.view.value);
  const asked = view.page.tabChosen.value || !view.synced.parts.value.includes("head");
  if (own && (own.why_not === "" || asked)) return own;
  return tabs.find(({ why_not }) => why_not === "") ?? tabs[0];
}
