// What stands behind each tab: its body, and what a file of it holds. A tab without an entry is drawn as a sheet.
import type { ComponentChildren, ComponentType } from "preact";
import { GATE_LABELS, relabelled, USUAL } from "../atlas/gatemarks";
import type { TabName } from "../generated/vocabulary";
import { arrived } from "../kernel/answers";
import { upTo } from "../paint/format";
import type { Numbers } from "../parts/picturetable";
import type { Tab } from "../state/overview";
import type { View } from "../state/view";
import { compareNumbers } from "./compare/data";
import { HeadMaps } from "./compare/maps";
import { Compare } from "./compare/tab";
import { Gates } from "./gates/gates";
import { Geometry, LAYER_ROWS } from "./geometry/geometry";
import { NeuronFigure } from "./neurons/neuronfigure";
import { Neurons, sheetOf } from "./neurons/neurons";
import { NORM_VIEW, Norms } from "./norms/norms";
import { Sheet, sheetNumbers } from "./sheet";
import { alikeOf, allOf, gatesOf, SURVEY } from "./survey/data";
import { SurveyTab } from "./survey/tab";
import { TableTab, tableNumbers } from "./table";
import { Why, WhyFigure, whyNumbers } from "./why/why";

interface TabContent {
  body: ComponentType<{ tab: Tab; menu: ComponentChildren }>; // menu: of exports, for tabs that stand alone
  measure: string; // what its files say they are of
  figure: ComponentType<{ tab: Tab }> | null; // whose charts a file shows
  numbers: (view: View, tab: Tab) => Numbers | Promise<Numbers>;
}

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
  },
  compare: {
    body: Compare,
    measure: "one head in two runs, and b − a, over the tokens of both",
    figure: HeadMaps,
    numbers: compareNumbers,
  },
  table: { body: TableTab, measure: "", figure: null, numbers: tableNumbers },
};

export const tabOf = (name: string): TabContent =>
  TABS[name as TabName] ?? { body: Sheet, measure: "", figure: Sheet, numbers: sheetNumbers };

/** The neurons of the query and of the keys that are listed. */
function neuronNumbers(view: View): Numbers {
  const { slice, overview } = view.shown;
  const { query, keys, neurons, q, scores, alpha } = sheetOf(view);
  const k = (j: number, n: number) => slice.k![j * slice.d + n]!;
  return {
    columns: ["key_index", "key", "score", "attention", "neuron", "q", "k", "product"],
    rows: keys.flatMap((j) => {
      const key = [j, overview.keyside.tokens[j]!, scores[j]!, alpha[j]!];
      return neurons.map((n) => [...key, n, q[n]!, k(j, n), q[n]! * k(j, n)]);
    }),
    facts: [["query", `${query} ${overview.queries.tokens[query]}`]],
  };
}

/** Mixing ratios of every layer and token, by every method. */
async function mixingNumbers({ answers, overview }: View): Promise<Numbers> {
  const { methods, mixing } = await arrived(() => answers.get(NORM_VIEW, overview, {}));
  const { tokens } = overview.queries;
  const ratio = (m: number, l: number, n: number) => mixing[(m * overview.n_layers + l) * tokens.length + n]!;
  return {
    columns: ["layer", "token_index", "token", ...methods.map((name) => `mixing ratio ${name}`)],
    rows: upTo(overview.n_layers).flatMap((l) =>
      tokens.map((token, n) => [l, n, token, ...methods.map((_, m) => ratio(m, l, n))]),
    ),
  };
}

/** Labels and scores of every head, in both views. */
async function gateNumbers({ answers, overview, page }: View): Promise<Numbers> {
  const [threshold, margin] = page.thresholds.value;
  const gates = relabelled(await arrived(() => answers.get(GATE_LABELS, overview, USUAL)), threshold, margin);
  const { names, labels, content_tokens, least } = gates;
  const views = ["full", "content"] as const;
  const { n_layers, n_heads, queries } = overview;
  const line = (l: number, h: number) => [
    ...[l, h, queries.tokens.length, labels.full[l]![h]!, labels.content[l]![h]!],
    ...views.flatMap((view) => names.map((_, g) => gates[view][(l * n_heads + h) * names.length + g]!)),
  ];
  return {
    columns: [
      ...["layer", "head", "tokens", "label_full", "label_content"],
      ...views.flatMap((view) => names.map((name) => `${view}: ${name}`)),
    ],
    rows: upTo(n_layers).flatMap((l) => upTo(n_heads).map((h) => line(l, h))),
    facts: [
      ["threshold", `${threshold}, margin ${margin}`],
      ["content tokens", `${content_tokens}, where the threshold is ${least?.toFixed(3) ?? "infinite"}`],
    ],
  };
}

/** The table of layers, every column of it. */
async function layerNumbers({ answers, overview }: View): Promise<Numbers> {
  const layers = await arrived(() => answers.get(LAYER_ROWS, overview, {}));
  const columns = Object.keys(layers[0] ?? {});
  return { columns, rows: layers.map((row) => columns.map((name) => row[name] ?? null)) };
}

/** Every head's statistics over the corpus and in the text. */
async function surveyNumbers({ answers, overview }: View): Promise<Numbers> {
  const data = await arrived(() => answers.get(SURVEY, overview, {}));
  const kinds = data.by.flatMap((by) => data.names.map((name) => ({ by, name })));
  const what = ["mean of texts", "mean of tokens", "this text", "mean at this length", "sd at this length", "z"];
  const values = (l: number, h: number) =>
    kinds.flatMap(({ by, name }) => [
      data.mean(name, by, "text", l, h),
      data.mean(name, by, "token", l, h),
      data.inText(name, by, l, h),
      ...(["mean", "sd", "z"] as const).map((one) => data.alikes(one, name, by, l, h)),
    ]);
  return {
    columns: [
      ...["layer", "head", "gate", "gate_share"],
      ...kinds.flatMap(({ by, name }) => what.map((one) => `${name} by ${by}, ${one}`)),
    ],
    rows: data.all.map(([l, h]) => [l, h, data.gates[l]![h]!, data.shares[l]![h]!, ...values(l, h)]),
    facts: [
      ["corpus", `${data.about}; ${allOf(data)}, ${data.tokens} in all`],
      ["this length", `${alikeOf(data)}; gates in ${gatesOf(data)}`],
    ],
  };
}
