// Between the sentence and its claim: what is asked of the weight whose number was clicked, each answer in few lines.
import type { ComponentType } from "preact";
import { Button } from "../../parts/controls";
import { NextFrame } from "../../parts/deferred";
import { visit } from "../../state/page";
import { useView } from "../../state/view";
import { MatterLeaf } from "../../tabs/matter/matterleaf";
import { Steps } from "../../tabs/neurons/weightsteps";
import { openTab, tabsOf } from "../../tabs/opentab";
import { Refused } from "../../tabs/refusal";
import { labelOf, QUESTIONS, TabList } from "../../tabs/tablist";
import { WhyLeaf } from "../../tabs/why/whyleaf";
import { leafOf } from "../unfolded";
import { closeLeaf, inFull } from "./openleaf";

function HowLeaf() {
  const { shownHead, focus } = useView();
  return shownHead.slice.q ? <Steps query={focus.query} target={focus.key} /> : null; // between two traces
}

const BODIES: Record<string, ComponentType> = { neurons: HowLeaf, why: WhyLeaf, matter: MatterLeaf };

const WORDS: Record<string, string> = { neurons: "how", why: "why", matter: "matter" };

export function Leaf() {
  const view = useView();
  const open = openTab(view);
  const Body = leafOf(view) && open && BODIES[open.name];
  if (!Body) return null;
  const tabs = tabsOf(view).filter(({ name }) => name in QUESTIONS);
  const choose = (name: string) => (name === open.name ? closeLeaf(view) : visit(view, name));
  const label = labelOf(view, open, true);
  return (
    <section class="bl-leaf" data-testid="leaf" aria-label={label}>
      <div class="bl-leaf-head">
        <TabList {...{ tabs, open, choose }} label="Questions" isLeaf />
        <span class="bl-spacer" />
        <span class="bl-full-answers bl-muted">
          in full:
          {tabs.map(({ name }) => (
            <Button
              key={name}
              class="bl-link"
              aria-label={`In full: ${WORDS[name]}`}
              onClick={() => inFull(view, name)}
            >
              {WORDS[name]}
            </Button>
          ))}
        </span>
        <Button class="bl-link" title="Escape" onClick={() => closeLeaf(view)}>
          close
        </Button>
      </div>
      <div role="tabpanel" class="bl-leaf-body" aria-label={label}>
        {open.why_not ? (
          <Refused tab={open} />
        ) : (
          <NextFrame>
            <Body key={open.name} />
          </NextFrame>
        )}
      </div>
    </section>
  );
}
