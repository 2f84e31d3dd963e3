// Heads that move the answer together, where none that was run does alone: asked for there, and of the run without changes.
import { batch } from "@preact/signals";
import { type ComponentChildren, createContext, createElement } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";
import type { Sets } from "../generated/answers";
import { type HeadName, LITTLE } from "../generated/vocabulary";
import { type Answer, fieldsAndArrays, type Kind } from "../kernel/answers";
import {
  factorOf,
  loudnessOf,
  otherChanges,
  useHeads,
  useHeadsToCome,
  useOnce,
  useTarget,
} from "../state/frontanswers";
import type { Overview } from "../state/overview";
import { useView } from "../state/view";
import type { Asked } from "../state/whatif";
import { put } from "../whatif/doing";
import { isUnfolded } from "./unfolded";

export type { Sets };

const SETS: Kind<Sets, "head_sets"> = {
  op: "head_sets",
  needs: "whatif",
  ofOriginal: true,
  read: fieldsAndArrays,
};

const MUCH = 0.2; // of the answer

/** How many heads make the first set that moves the answer far; 0: none does. */
export const openingOf = ({ heads, before }: Sets): number =>
  heads.findIndex(([, , value]) => Math.abs(value - before) >= MUCH) + 1;

/** How many of these heads a run changes, all alike and nothing else: 0 where it is unchanged, -1 where it is another. */
export function sizeIn(overview: Overview, heads: HeadName[]): number {
  const factors = heads.map(([layer, head]) => factorOf(overview, layer, head));
  const size = factors.findLastIndex((factor) => factor !== 1) + 1;
  const isSet = size !== 1 && factors.slice(0, size).every((factor) => factor === factors[0]);
  return isSet && otherChanges(overview, heads).length === 0 ? size : -1;
}

interface State {
  answer: Answer<Sets>;
  heads: HeadName[]; // as they were added
  size: number; // how many are taken
  isInHand: boolean; // the slider is theirs
  take: (size: number) => void;
}

/** Null where a head matters alone, before all that come are run, or where the run is another one. */
function useSetsOf(): State | null {
  const view = useView();
  const { overview, page, synced, shownHead } = view;
  const { setSize, partners } = page.front;
  const strongest = useHeads();
  const { isComing } = useHeadsToCome();
  const target = useTarget();
  const matter = strongest.state === "answered" && !isComing ? strongest.value : null;
  const isNone =
    overview.changes.length === 0 &&
    matter !== null &&
    matter.kind !== "embedding" &&
    matter.heads.length > 0 &&
    matter.heads.every(([, , change]) => Math.abs(change) < LITTLE);
  const key = JSON.stringify([overview.subject, target]);
  const answer = useOnce(SETS, isNone && target ? { ...target } : null, key, 0);
  const sets = answer.state === "answered" ? answer.value : null;
  const heads = sets ? sets.heads.map(([layer, head]): HeadName => [layer, head]) : [];
  const runSize = sizeIn(overview, heads);
  const isHere = runSize > 0 || (runSize === 0 && isNone);
  const size = runSize > 0 ? runSize : setSize.value.of === key ? setSize.value.size : sets ? openingOf(sets) : 0;
  const isFirst = String(heads[0]) === String([shownHead.layer, shownHead.head]) && !shownHead.layerMap;
  const isInHand = isHere && size > 0 && isFirst && !isUnfolded(view);
  const followers = isInHand ? heads.slice(1, size) : [];
  useLayoutEffect(() => {
    partners.value = followers;
  }, [String(followers)]);
  if (!isHere) return null;
  const take = (wanted: number) => {
    const [layer, head] = heads[0]!;
    batch(() => {
      setSize.value = { of: key, size: wanted };
      if (!isFirst) synced.put({ layer, head, layer_map: "" });
    });
    const factor = isFirst ? loudnessOf(view) : factorOf(overview, layer, head); // that of a run on its way
    const scales = () => heads.slice(0, wanted).map(([l, h]): Asked => ["scale", l, h, factor]);
    if (runSize > 0) put(view, factor === 1 ? () => [] : scales);
  };
  return { answer, heads, size, isInHand, take };
}

const Context = createContext<State | null>(null);
export const useSets = () => useContext(Context);

/** Asks once what several parts of the front show. */
export const HeadSets = ({ children }: { children: ComponentChildren }) =>
  createElement(Context.Provider, { value: useSetsOf(), children });
