// The body of a tab: its pictures, or their numbers as tables.
import { AsTables } from "../parts/picturetable";
import type { Tab } from "../state/overview";
import { useView } from "../state/view";
import { tabOf } from "../tabs/tabs";

export function TabBody({ tab }: { tab: Tab }) {
  const { body: Body } = tabOf(tab.name);
  return (
    <AsTables.Provider value={useView().page.tables.value}>
      <Body tab={tab} />
    </AsTables.Provider>
  );
}
