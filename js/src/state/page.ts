// State of this page alone: what the pointer is on, how lists are sorted, what is unfolded. Never synced; where its
// settings start, and a state that is brought back, come from outside (state/snapshot.ts).
import { batch, type Signal, signal } from "@preact/signals";
import type { KeyOrder, NeuronOrder } from "../compute/neuronsheet";
import { SETTINGS, type Traits } from "../generated/vocabulary";
import type { Synced } from "../kernel/synced";
import { createFront, type FrontState } from "./frontstate";
import { createLessonState, type LessonState } from "./lesson";
import { createWhatIf, type WhatIfState } from "./whatif";
import { createWhy, type WhyState } from "./whystate";

export interface Cell {
  row: number; // row of the displayed grid
  col: number;
}

/** What is looked at of a long map. */
export interface Zoom {
  level: number; // 0 for all of it, see compute/zoom.ts
  row: number; // first row and column
  col: number;
  side: number; // px of the picture
  by: "max" | "mean"; // what a block of cells is drawn as
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

/** Units chosen of two runs that the run shown has not, by their place among all, while its pins are these. */
interface Lone {
  subject: string;
  pins: string;
  query: number | null;
  key: number | null;
}

export interface Page {
  hover: Signal<Cell | null>;
  cursor: Signal<Cell>; // keyboard position in the matrix and in the lines
  keySide: Signal<boolean>; // it is among the keys of the lines
  tabChosen: Signal<boolean>; // else a tab with nothing to show gives way to one that has
  visits: Signal<number>; // clicks that opened an answer: each time it comes into sight
  atlasOrder: Signal<string>; // "position", or the statistic that heads are sorted by
  atlasStat: Signal<string>; // the statistic of colours, bars and filter
  atlasBars: Signal<boolean>; // means of layers and of heads beside the atlas
  atlasMinimum: Signal<number>; // heads below this share of the statistic's range are left out; their place stays
  atlasFill: Signal<boolean>; // heads as colours of the statistic instead of thumbnails
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
  allHeads: Signal<boolean>; // all heads and the matrix are unfolded below the answer; no step of the history
  headsLeaf: Signal<boolean>; // or their pictures alone, as a leaf under the heads that matter
  headsRun: Signal<string>; // "all", "estimate" or how many, see SETTINGS
  more: Signal<boolean>; // the row behind "⋯" is open
  tables: Signal<boolean>; // the pictures of the tabs as tables
  textSide: Signal<"from" | "to">; // running text: what a token looks at, or who looks at it
  explain: Signal<boolean>; // a line at the foot says what is seen
  target: Signal<string>; // the label or word whose change is asked, "" the model's first answer
  targetAt: Signal<number>; // at which mask or token, -1 where nobody chose
  alignedOnly: Signal<boolean>; // two runs by their aligned words alone
  compareWith: Signal<{ run: string; text: string; text_pair: string }>; // beside the run shown: "original", "before", or a text
  similarTo: Signal<{ a: string; b: string; task_a: string; task_b: string }>; // texts that were typed to be compared
  together: Signal<boolean>; // a bi-encoder reads two texts as one input
  similarBy: Signal<string>; // "words" or "pieces" of two texts
  similarOf: Signal<string>; // the split: "output", "input", "none", "" for the one that there is
  similarPair: Signal<number[]>; // the chosen tokens of two texts, -1 where nobody chose
  lone: Signal<Lone | null>;
  tableOf: Signal<"head" | "atlas">; // what the tab of that name is of
  gateFilter: Signal<string>; // heads with another gate step back; "" for none
  corpus: Signal<CorpusChoice>;
  texts: Signal<[text: string, pair: string][]>; // that were run, the one shown first
  help: Signal<boolean>;
  zoom: Signal<Zoom>;
  announcement: Signal<string>; // the polite live region
  front: FrontState;
  why: WhyState;
  whatif: WhatIfState;
  lesson: LessonState;
}

/** The pointer is on a cell, or on none; on the same as before is no change. */
export function pointAt({ hover }: Page, cell: Cell | null): void {
  const previous = hover.peek();
  if (cell?.row !== previous?.row || cell?.col !== previous?.col) hover.value = cell;
}

const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** The signal of a setting. */
export const settingOf = (page: Page, name: string) => page[camel(name) as keyof Page] as Signal<unknown>;

export function createPage(): Page {
  const settings = Object.entries(SETTINGS).map(([name, value]) => [
    camel(name),
    signal(name === "muted" ? new Set(value as string[]) : value),
  ]);
  return {
    ...Object.fromEntries(settings),
    hover: signal(null),
    cursor: signal({ row: 0, col: 0 }),
    keySide: signal(false),
    tabChosen: signal(false),
    visits: signal(0),
    texts: signal([]),
    headsLeaf: signal(false),
    help: signal(false),
    zoom: signal({ level: 0, row: 0, col: 0, side: 512, by: "max" }),
    announcement: signal(""),
    lone: signal(null),
    front: createFront(),
    why: createWhy(),
    whatif: createWhatIf(),
    lesson: createLessonState(),
  };
}

/** Open a tab as a click does, with what else it sets: its answer comes into sight. */
export const visit = (
  { page, synced }: { page: Page; synced: Synced },
  view: string,
  pins: Partial<Traits> = {},
): void =>
  batch(() => {
    page.tabChosen.value = true;
    synced.put({ ...pins, view });
    page.visits.value++;
  });
