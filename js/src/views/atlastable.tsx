// The atlas as a table: a line for each head, with its gate and its statistics by the measure shown.
import { headLabel, paperName } from "../parts/format";
import { statistics } from "../parts/sentence";
import { type Column, Table } from "../parts/table";
import { type HeadName, MEASURES } from "../vocabulary";
import { included } from "./atlas";
import { useView, type View } from "./context";
import { type Gates, useByWeight, useGates } from "./gatemarks";
import { type HeadValue, headValue } from "./headvalues";
import type { Numbers } from "./tabs";

/** The heads of the atlas. */
function headsOf({ overview, synced }: View): HeadName[] {
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  return layers.flatMap((l) => heads.map((h): HeadName => [l, h]));
}

/** Every statistic by the measure shown, and what the atlas is ordered by where that is something else. */
function valuesOf(view: View): HeadValue[] {
  const order = view.page.atlasOrder.value;
  const names = [...new Set([...(["position", "gate"].includes(order) ? [] : [order]), ...statistics(view.overview)])];
  return names.flatMap((name) => headValue(view, name, view.shown.measure) ?? []);
}

const columnsOf = (values: HeadValue[]): Column<HeadName>[] =>
  values.map((value) => ({
    name: value.label,
    value: ([l, h]) => value.of(l, h),
    show: ([l, h]) => value.text(value.of(l, h)),
  }));

const HEAD: Column<HeadName>[] = [
  { name: "head", value: ([l, h]) => headLabel(l, h) },
  { name: "paper", value: ([l, h]) => paperName(l, h).replace(/[()]|paper: /g, "") },
];

export function AtlasTable() {
  const view = useView();
  const { layer, head } = view.shown;
  const gates: Gates | null = useGates();
  const byWeight = useByWeight();
  const { symbol } = MEASURES[view.shown.measure];
  const values = valuesOf(view);
  const gate = gates && { name: `gate${byWeight}`, value: ([l, h]: HeadName) => gates.labels.full[l]![h]! };
  return (
    <Table<HeadName>
      title="All heads"
      about={`statistics of ${symbol}, mean over queries; click a column to sort`}
      first={values[0]?.label}
      rows={headsOf(view)}
      columns={[...HEAD, ...(gate ? [gate] : []), ...columnsOf(values)]}
      pinned={([l, h]) => l === layer && h === head}
    />
  );
}

/** The table as a file has it. */
export function atlasNumbers(view: View): Numbers {
  const columns = [...HEAD, ...columnsOf(valuesOf(view))];
  return {
    columns: columns.map(({ name }) => name),
    rows: headsOf(view).map((at) => columns.map(({ value }) => value(at))),
    facts: [["table", `all heads, by ${MEASURES[view.shown.measure].title}`]],
  };
}
