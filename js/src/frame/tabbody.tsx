// Pictures as tables: one switch for all pictures of the tabs, and the body of a tab, which reads it.
import { Check, into } from "../parts/controls";
import { AsTables } from "../parts/picturetable";
import type { Tab } from "../state/overview";
import { useView } from "../state/view";
import { tabOf } from "../tabs/tabs";
import { ExportMenu } from "./exportmenu";

export function TablesSwitch() {
  const { tables } = useView().page;
  return (
    <Check
      label="as tables"
      title="Every picture of this tab as the table of its numbers"
      checked={tables.value}
      onChange={into(tables)}
    />
  );
}

export function TabBody({ tab }: { tab: Tab }) {
  const { body: Body } = tabOf(tab.name);
  return (
    <AsTables.Provider value={useView().page.tables.value}>
      <Body tab={tab} menu={<ExportMenu />} />
    </AsTables.Provider>
  );
}
