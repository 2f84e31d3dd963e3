// All heads under their tile: their pictures, what the one shown looks at, and by its name what else is told of them.
import { Grid, included } from "../../atlas/atlas";
import { HeadSentence } from "../../atlas/headsentence";
import { useSentences } from "../../atlas/headvalues";
import { RowList } from "../../head/head";
import { Button } from "../../parts/controls";
import { Deferred } from "../../parts/deferred";
import { useView } from "../../state/view";
import { isOffered, tabsOf } from "../../tabs/opentab";
import { QUESTIONS, TabList } from "../../tabs/tablist";
import { hasHeadsLeaf } from "../unfolded";
import { inFull, showHeads } from "./openleaf";

const KEYS = 3; // of the row in focus that have a line

export function HeadsLeaf() {
  const view = useView();
  return hasHeadsLeaf(view) ? <Body /> : null;
}

function Body() {
  const view = useView();
  const { overview, synced } = view;
  const says = useSentences();
  const shown = included(overview, synced.include_layers.value, synced.include_heads.value);
  const tabs = tabsOf(view).filter((tab) => !(tab.name in QUESTIONS) && isOffered(view, tab));
  return (
    <section class="bl-leaf bl-leaf-pair bl-heads-leaf" data-testid="heads-leaf" aria-label="All heads">
      <Grid {...shown} names={null} stat={null} by={null} says={says} />
      <div>
        <div class="bl-leaf-head">
          <span class="bl-spacer" />
          <Button class="bl-link" title="Escape" onClick={() => showHeads(view, false)}>
            close
          </Button>
        </div>
        <RowList most={KEYS} />
        <HeadSentence />
        <Deferred>
          <TabList tabs={tabs} open={undefined} choose={(name) => inFull(view, name)} label="More" />
        </Deferred>
      </div>
    </section>
  );
}
