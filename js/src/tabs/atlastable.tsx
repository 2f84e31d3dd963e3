// The atlas as a table: a line for each head, with its gates and every statistic, by weight and by norm.

import { included } from "../atlas/atlas";
import { GATE_LABELS, type Gates, relabelled, USUAL, useGates } from "../atlas/gatemarks";
import { headValue, STATS } from "../atlas/headvalues";
import { type HeadName, MEASURES, type Measure } from "../generated/vocabulary";
import { arrived } from "../kernel/answers";
import { headLabel, paperName } from "../paint/format";
import { HeadLink } from "../parts/headlink";
import { statistics } from "../parts/phrasing";
import type { Numbers } from "../parts/picturetable";
import { type Column, Table, tableCells } from "../parts/table";
import type { HeadValue } from "../state/headvalue";
import { useView, type View } from "../state/view";
import { HeadTexts } from "./survey/headtexts";

/** The heads of the atlas. */
function headsOf({ overview, synced }: View): HeadName[] {
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  return layers.flatMap((l) => heads.map((h): HeadName => [l, h]));
}

const columnOf = (label: string, { of, text }: HeadValue): Column<HeadName> => ({
  name: label,
  value: ([l, h]) => of(l, h),
  show: ([l, h]) => text(of(l, h)),
});

const HEAD: Column<HeadName>[] = [
  { name: "head", value: ([l, h]) => headLabel(l, h) },
  { name: "paper", value: ([l, h]) => paperName(l, h).replace("paper: ", "") },
];

/** Labels by all tokens and by content tokens alone; gates are of the weights. */
const gateColumns = (gates: Gates | null): Column<HeadName>[] =>
  gates
    ? (["full", "content"] as const).map((view) => ({
        name: view === "full" ? "gate" : "gate of content tokens",
        value: ([l, h]) => gates.labels[view][l]?.[h] ?? "",
      }))
    : [];

/** What the atlas is ordered by where that is no statistic, by the measure shown; then every statistic by each measure. */
function valueColumns(view: View): Column<HeadName>[] {
  const order = view.page.atlasOrder.value;
  const names = statistics(view.overview);
  const column = (name: string, measure: Measure, symbol = "") => {
    const value = headValue(view, name, measure);
    return value ? [columnOf(value.label + symbol, value)] : [];
  };
  const measures = view.overview.measures.filter((name) => name !== "difference");
  return [
    ...(["position", "gate", ...names].includes(order) ? [] : column(order, view.shownHead.measure)),
    ...measures.flatMap((name) => names.flatMap((stat) => column(stat, name, ` ${MEASURES[name].symbol}`))),
  ];
}

export function AtlasTable() {
  const view = useView();
  const { layer, head } = view.shownHead;
  const gates = useGates();
  const columns = valueColumns(view);
  const pick = (layer: number, head: number) => view.synced.put({ layer, head, layer_map: "" });
  const heads = headsOf(view);
  const hasCorpus = view.overview.tabs.some(({ name, why_not }) => name === "survey" && why_not === "");
  return (
    <div class="bl-stack">
      <Table<HeadName>
        class="bl-all-heads"
        title="All heads"
        about={`${heads.length} heads; statistics of ${view.overview.queries.tokens.length} tokens, mean over queries`}
        first={columns[0]?.name}
        rows={heads}
        columns={[
          { ...HEAD[0]!, show: (at) => <HeadLink at={at} pick={pick} /> },
          HEAD[1]!,
          ...gateColumns(gates),
          ...columns,
        ]}
        pinned={([l, h]) => l === layer && h === head}
      />
      {hasCorpus && <HeadTexts />}
    </div>
  );
}

/** The table as a file has it, with all that it can hold. */
export async function atlasNumbers(view: View): Promise<Numbers> {
  const { answers, overview, page } = view;
  const [threshold, margin] = page.thresholds.value;
  const gates = overview.offers.gates
    ? null
    : relabelled(await arrived(() => answers.get(GATE_LABELS, overview, USUAL)), threshold, margin);
  if (overview.measures.includes("norm")) await arrived(() => answers.get(STATS, overview, { by: "norm" }));
  const columns = [...HEAD, ...gateColumns(gates), ...valueColumns(view)];
  return {
    ...tableCells(columns, headsOf(view)),
    facts: [["table", `all heads, ${overview.queries.tokens.length} tokens`]],
  };
}
