// Heads by any column, and the best head of each grammatical relation.
import { signed } from "../../parts/format";
import { number } from "../../parts/numbers";
import { type Column, Sortable } from "../../parts/sortable";
import { headLabel } from "../../state/store";
import { useView } from "../context";
import { GateBadge } from "../gates";
import { type Choice, labelOf, type Relation } from "./data";
import { allHeads } from "./grid";

type Head = [layer: number, head: number];

const HeadLink = ({ at: [l, h], pick }: { at: Head; pick: (l: number, h: number) => void }) => (
  <button type="button" class="bl-link" onClick={() => pick(l, h)}>
    {headLabel(l, h)}
  </button>
);

const numbers = <Row,>(name: string, title: string, value: (row: Row) => number, digits = 3): Column<Row> => ({
  name,
  title,
  value,
  show: (row) => number(value(row), digits),
});

export function HeadTable({ data, name, by, average, pick }: Choice) {
  const { layer, head } = useView().store.shown.value;
  const mean = ([l, h]: Head) => data.mean(name, by, average, l, h);
  const spread = ([l, h]: Head) => data.spread(name, by, l, h);
  const here = ([l, h]: Head) => data.here(name, by, l, h);
  const deviation = (at: Head) => (spread(at) > 0 ? (here(at) - data.mean(name, by, "text", ...at)) / spread(at) : NaN);
  return (
    <Sortable<Head>
      title="Heads"
      about={`${labelOf(name)}; click a column to sort`}
      first="corpus"
      rows={allHeads(data)}
      pinned={([l, h]) => l === layer && h === head}
      columns={[
        { name: "head", value: ([l, h]) => headLabel(l, h), show: (at) => <HeadLink at={at} pick={pick} /> },
        numbers("corpus", `mean over ${average}s`, mean),
        numbers("± sd", "standard deviation from text to text", spread),
        numbers("this text", "the same in the text shown", here),
        numbers("z", "this text less the mean of the texts, in standard deviations", deviation, 1),
        {
          name: "gate",
          title: "most frequent gate, full view (names after Bonino et al. 2025, scores are bertlens’ own)",
          value: ([l, h]) => data.gates[l]![h]!,
          show: ([l, h]) => (
            <>
              <GateBadge label={data.gates[l]![h]!} /> {data.gates[l]![h]}
            </>
          ),
        },
        {
          name: "of texts",
          title: "share of the texts in which it has this gate",
          value: ([l, h]) => data.shares[l]![h]!,
          show: ([l, h]) => `${Math.round(100 * data.shares[l]![h]!)} %`,
        },
      ]}
    />
  );
}

export function RelationTable({ data, put, pick }: Choice) {
  const { layer, head } = useView().store.shown.value;
  const hasInterval = data.relations.some((r) => r.low !== undefined);
  const percent = (value: number) => signed(100 * value, 1);
  return (
    <Sortable<Relation>
      title="Syntax"
      about="the best head per relation, % right, against always guessing the same distance"
      first="n"
      rows={data.relations}
      pinned={(r) => r.layer === layer && r.head === head}
      columns={[
        { name: "relation", value: (r) => r.relation },
        {
          name: "direction",
          title: "dep->head: a word attends to its head; head->dep: its head attends to the word",
          value: (r) => r.direction,
        },
        {
          name: "best head",
          value: (r) => headLabel(r.layer, r.head),
          show: (r) => (
            <HeadLink
              at={[r.layer, r.head]}
              pick={(l, h) => {
                put({ direction: r.direction });
                pick(l, h);
              }}
            />
          ),
        },
        { name: "accuracy", value: (r) => r.accuracy, show: (r) => <b>{percent(r.accuracy)}</b> },
        ...(hasInterval
          ? [
              numbers<Relation>("from", "95 % interval, bootstrap over sentences", (r) => 100 * (r.low ?? NaN), 1),
              numbers<Relation>("to", "95 % interval, bootstrap over sentences", (r) => 100 * (r.high ?? NaN), 1),
            ]
          : []),
        {
          name: "baseline",
          title: "the best fixed distance; out of the sentence counts as wrong",
          value: (r) => r.offset_accuracy,
          show: (r) => percent(r.offset_accuracy),
        },
        {
          name: "gain",
          title: "accuracy less baseline",
          value: (r) => r.accuracy - r.offset_accuracy,
          show: (r) => percent(r.accuracy - r.offset_accuracy),
        },
        { name: "n", title: "words", value: (r) => r.n },
      ]}
    />
  );
}
