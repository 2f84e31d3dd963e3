// Every tab as one record, by its name: what it draws, and what files of it hold. A tab without one is drawn as a sheet.
import type { ComponentType } from "preact";
import type { Facts } from "../export/csv";
import type { TabName } from "../generated/vocabulary";
import type { Numbers } from "../parts/picturetable";
import type { Tab } from "../state/overview";
import type { View } from "../state/view";
import { Compare } from "./compare/comparison";
import { MapsFigure } from "./compare/headmaps";
import { compareFacts, compareNumbers } from "./compare/tworuns";
import { Gates, gateNumbers } from "./gates/headgates";
import { Geometry, layerNumbers } from "./geometry/geometry";
import { TableTab, tableNumbers } from "./maptable";
import { Matter, matterNumbers } from "./matter/doesitmatter";
import { neuronNumbers } from "./neurons/headneurons";
import { NeuronFigure } from "./neurons/neuronfigure";
import { Neurons } from "./neurons/neuronview";
import { mixingNumbers, Norms } from "./norms/weightandnorm";
import { Sheet, sheetNumbers } from "./sheet";
import { Similarity, SimilarityFigure } from "./similarity/similarity";
import { pairFacts, pairNumbers, pairPdf } from "./similarity/similarityfiles";
import { surveyNumbers } from "./survey/corpusheads";
import { SurveyTab } from "./survey/survey";
import { taskNumbers } from "./task/examplerows";
import { TaskView } from "./task/task";
import { Why, WhyFigure, whyNumbers } from "./why/why";

interface TabContent {
  body: ComponentType<{ tab: Tab }>;
  measure: string; // what its files say they are of
  figure: ComponentType<{ tab: Tab }> | null; // whose charts a file shows
  numbers: (view: View, tab: Tab) => Numbers | Promise<Numbers>;
  facts?: (view: View) => Facts; // what its figures say beside model, text and measure
  pdf?: (view: View) => Promise<Blob>; // made by the kernel
  isOffered?: (view: View) => boolean; // whether it stands in the row; without it, where it has something to show
}

/** Whether two runs are there, or the unchanged one to compare with; the menu of texts leads to another one. */
const isComparing = ({ overview, page, link }: View) =>
  Boolean(
    overview.compared ||
      page.compareWith.value.run ||
      page.compareWith.value.text ||
      (overview.changes.length && !link.alone.value),
  );

const TABS: Record<TabName, TabContent> = {
  neurons: {
    body: Neurons,
    measure: "q, k, q × k, score and attention",
    figure: NeuronFigure,
    numbers: neuronNumbers,
  },
  why: {
    body: Why,
    measure: "score (q·k, scaled) by source, in nats: a split, not an experiment",
    figure: WhyFigure,
    numbers: whyNumbers,
  },
  matter: {
    body: Matter,
    measure: "the model’s answer, with and without each change",
    figure: null,
    numbers: matterNumbers,
  },
  similarity: {
    body: Similarity,
    measure: "parts of the similarity of two texts, and the similarity without each word",
    figure: SimilarityFigure,
    numbers: pairNumbers,
    facts: pairFacts,
    pdf: pairPdf,
    isOffered: ({ overview, page }) => Boolean(overview.similar || page.similarTo.value.b),
  },
  norms: { body: Norms, measure: "attention weight α and ‖f(x)‖", figure: Norms, numbers: mixingNumbers },
  gates: {
    body: Gates,
    measure: "gate scores (bertlens’ own, names after Bonino et al. 2025)",
    figure: Gates,
    numbers: gateNumbers,
  },
  geometry: { body: Geometry, measure: "cone index I/n and vector norms", figure: Geometry, numbers: layerNumbers },
  survey: {
    body: SurveyTab,
    measure: "statistics of a corpus, by weight α and by norm ‖αf(x)‖",
    figure: SurveyTab,
    numbers: surveyNumbers,
    isOffered: () => true, // it was given by hand and does not vanish without a word
  },
  compare: {
    body: Compare,
    measure: "one head in two runs, and b − a, over the tokens of both",
    figure: MapsFigure,
    numbers: compareNumbers,
    facts: compareFacts,
    isOffered: isComparing,
  },
  task: {
    body: TaskView,
    measure: "labelled examples, and what the model makes of them",
    figure: null,
    numbers: taskNumbers,
    isOffered: () => true, // it was given by hand
  },
  table: { body: TableTab, measure: "", figure: null, numbers: tableNumbers },
};

export const tabOf = (name: string): TabContent =>
  TABS[name as TabName] ?? { body: Sheet, measure: "", figure: Sheet, numbers: sheetNumbers };
