// State of this page alone: what the pointer is on, how lists are sorted, what is unfolded. Never synced.
import { type Signal, signal } from "@preact/signals";
import { GATE_MARGIN, GATE_THRESHOLD } from "../vocabulary";
import type { KeyOrder, NeuronOrder } from "./neurons";
import { createWhy, type WhyState } from "./why";

export interface Cell {
  row: number; // row of the displayed grid
  col: number;
}

/** What the corpus view shows of its statistics. */
export interface CorpusChoice {
  name: string; // statistic
  by: "weight" | "norm";
  average: "text" | "token";
  colour: "corpus" | "text" | "difference";
  layers: string; // quantity of the curves: "statistic", or a group of layer quantities
  direction: string; // of the parse
}

export interface Page {
  hover: Signal<Cell | null>;
  cursor: Signal<Cell>; // keyboard position in the matrix
  tabChosen: Signal<boolean>; // else a tab with nothing to show gives way to one that has
  atlasOrder: Signal<string>; // "position", or the statistic that heads are sorted by
  atlasStat: Signal<string>; // the statistic of summaries and filter
  atlasMinimum: Signal<number>; // heads below this share of the statistic's range recede
  commonScale: Signal<boolean>; // thumbnails share one scale instead of one each
  muted: Signal<ReadonlySet<string>>; // heads switched off in the lines
  lineMinimum: Signal<number>;
  cellSize: Signal<number>; // pixels a cell, 0 = fit
  neuronOrder: Signal<NeuronOrder>;
  keyOrder: Signal<KeyOrder>;
  allKeys: Signal<boolean>;
  mixing: Signal<string>; // method of the mixing ratio
  thresholds: Signal<[threshold: number, margin: number]>; // of gate labels
  gateView: Signal<"full" | "content">;
  gateFilter: Signal<string>; // heads with another gate recede; "" for none
  corpus: Signal<CorpusChoice>;
  help: Signal<boolean>;
  said: Signal<string>; // the polite live region
  why: WhyState;
}

export function createPage(): Page {
  return {
    hover: signal(null),
    cursor: signal({ row: 0, col: 0 }),
    tabChosen: signal(false),
    atlasOrder: signal("position"),
    atlasStat: signal("entropy"),
    atlasMinimum: signal(0),
    commonScale: signal(false),
    muted: signal(new Set<string>()),
    lineMinimum: signal(0.02),
    cellSize: signal(0),
    neuronOrder: signal("contribution"),
    keyOrder: signal("position"),
    allKeys: signal(false),
    mixing: signal("attnresln-n"),
    thresholds: signal<[number, number]>([GATE_THRESHOLD, GATE_MARGIN]),
    gateView: signal<"full" | "content">("full"),
    gateFilter: signal(""),
    corpus: signal({
      name: "previous",
      by: "weight",
      average: "text",
      colour: "corpus",
      layers: "statistic",
      direction: "dep->head",
    }),
    help: signal(false),
    said: signal(""),
    why: createWhy(),
  };
}
