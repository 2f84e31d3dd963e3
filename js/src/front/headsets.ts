// Heads that move the answer together, where none that was run does alone: asked for there, and of the run without changes.
import { type ComponentChildren, createContext, createElement } from "preact";
import { useContext } from "preact/hooks";
import { LITTLE } from "../generated/vocabulary";
import { type Answer, fieldsAndArrays, type Kind } from "../kernel/answers";
import { useHeads, useHeadsToCome, useOnce, useTarget } from "../state/frontanswers";
import type { Overview } from "../state/overview";
import { useView } from "../state/view";

/** See bertlens/whatif/head_sets.py. */
export interface Sets {
  name: string;
  unit: string;
  before: number;
  heads: [layer: number, head: number, value: number][]; // as they were added; value: without it and those before it
  tried: number;
  why_not: string;
}

const SETS: Kind<Sets, "head_sets"> = {
  op: "head_sets",
  needs: "whatif",
  ofOriginal: true,
  read: fieldsAndArrays,
};

/** How many heads of the sets are off in a run: none where it is unchanged, -1 where it is another run. */
function sizeIn({ changes }: Overview, heads: Sets["heads"]): number {
  const isOff = ([layer, head]: Sets["heads"][number]) =>
    changes.some(({ off }) => off && off[0] === layer && off[1] === head);
  return heads.slice(0, changes.length).filter(isOff).length === changes.length ? changes.length : -1;
}

/** The sets and how many of their heads are off in the run shown. */
interface State {
  answer: Answer<Sets>;
  size: number;
}

/** Null where a head matters alone, before all that come are run, or where the run is another one. */
function useSetsOf(): State | null {
  const { overview } = useView();
  const heads = useHeads();
  const { isComing } = useHeadsToCome();
  const target = useTarget();
  const matter = heads.state === "answered" && !isComing ? heads.value : null;
  const isNone =
    overview.changes.length === 0 &&
    matter !== null &&
    matter.kind !== "embedding" &&
    matter.heads.length > 0 &&
    matter.heads.every(([, , change]) => Math.abs(change) < LITTLE);
  const key = JSON.stringify([overview.subject, target]);
  const answer = useOnce(SETS, isNone && target ? { ...target } : null, key, 0);
  const size = sizeIn(overview, answer.state === "answered" ? answer.value.heads : []);
  return size < 0 || (size === 0 && !isNone) ? null : { answer, size };
}

const Context = createContext<State | null>(null);
export const useSets = () => useContext(Context);

/** Asks once what several parts of the front show. */
export const HeadSets = ({ children }: { children: ComponentChildren }) =>
  createElement(Context.Provider, { value: useSetsOf(), children });
