// The names of tabs in a row: the questions about the weight in focus, and the quiet row of the others.
import { useRef } from "preact/hooks";
import { digitsOf } from "../head/scale";
import { share } from "../paint/format";
import { Button } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import type { Tab } from "../state/overview";
import { quotedWeight } from "../state/pin";
import { useView, type View } from "../state/view";

export interface TabListProps {
  tabs: Tab[];
  open: Tab | undefined;
  choose: (name: string) => void;
  label: "Questions" | "More";
  isLeaf?: boolean; // they stand in the leaf of a weight
}

/** The questions under a head as cards, the other tabs in a quiet row. */
export function TabList({ tabs, open, choose, label, isLeaf }: TabListProps) {
  const view = useView();
  const bar = useRef<HTMLDivElement>(null);
  const openIndex = tabs.findIndex(({ name }) => name === open?.name);
  const move = onGridKey(
    { rows: 1, cols: tabs.length },
    () => ({ row: 0, col: Math.max(0, openIndex) }),
    ({ col }) => {
      if (tabs[col]!.name !== open?.name) choose(tabs[col]!.name);
      (bar.current!.children[col] as HTMLElement).focus();
    },
  );
  return (
    <div
      ref={bar}
      class={label === "More" ? "bl-tabs" : "bl-questions"}
      role="tablist"
      aria-label={label}
      onKeyDown={move}
    >
      {tabs.map((tab, n) => (
        <Button
          key={tab.name}
          role="tab"
          class={tab.why_not ? "bl-without" : ""}
          data-tab={tab.name}
          aria-selected={tab.name === open?.name}
          tabIndex={n === Math.max(0, openIndex) ? 0 : -1}
          title={tab.why_not || tab.about}
          onClick={({ detail }) => {
            if (detail > 0 || tab.name !== open?.name) choose(tab.name); // a key that came to it does not close it
          }}
        >
          {labelOf(view, tab, isLeaf)}
          {label === "Questions" && !open && (
            <small>{tab.why_not ? "not of this run: why?" : QUESTIONS[tab.name]!.hint}</small>
          )}
        </Button>
      ))}
    </div>
  );
}

/** The tabs that answer a question about the picture: how it is asked of a number, and what the answer goes through. */
export const QUESTIONS: Record<string, { asks: (weight: string) => string; hint: string }> = {
  neurons: { asks: (weight) => `How is ${weight} computed?`, hint: "q · k, score, softmax" },
  why: { asks: () => "Why does it look there?", hint: "words, positions, earlier layers" },
  matter: { asks: () => "Does it matter?", hint: "the answer without it" },
};

/** A tab's name; under a head a question, about the weight that is in focus where it can be quoted. In the leaf of a
 * weight it is not: on the arc its number has fewer digits, or does not stand. */
export function labelOf({ focus, grid, shownHead, synced }: View, { name, label }: Tab, isLeaf = false): string {
  const question = synced.parts.value.includes("head") ? QUESTIONS[name] : undefined;
  if (!question) return label;
  const { weights, measure, layerMap, slice } = shownHead;
  const isOfWeights = measure === "weight" && !layerMap;
  if (isLeaf) return question.asks(isOfWeights ? "it" : "the weight");
  const digits = digitsOf(slice);
  const weight = quotedWeight({ focus, weights, grid, isOfWeights, digits });
  if (weight === null) return question.asks("a weight");
  return question.asks(`${isOfWeights ? "" : "the weight "}${share(weight, digits)}`);
}
