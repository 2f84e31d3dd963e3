// Heads by any column, and the best head of each grammatical relation.
import { headLabel, percent, signed } from "../../parts/format";
import { type Column, numbers, Table } from "../../parts/table";
import type { HeadName } from "../../vocabulary";
import { useView } from "../context";
import { GateBadge } from "../gatemarks";
import { alikeOf, allOf, type Choice, flagsOf, gatesOf, labelOf, type Relation } from "./data";

const HeadLink = ({ at: [l, h], pick }: { at: HeadName; pick: (l: number, h: number) => void }) => (
  <button type="button" class="bl-link" onClick={() => pick(l, h)}>
    {headLabel(l, h)}
  </button>
);

export function HeadTable(props: Choice) {
  const { data, name, by, average, pick } = props;
  const { layer, head } = useView().shown;
  const column = (title: string, about: string, value: (l: number, h: number) => number, digits = 3) =>
    numbers<HeadName>(title, ([l, h]) => value(l, h), { title: about, digits });
  const alike = (what: "mean" | "sd" | "z") => (l: number, h: number) => data.alikes(what, name, by, l, h);
  const flags = flagsOf(
    data,
    by,
    "heads",
    data.all.map((at) => [name, at]),
  );
  return (
    <Table<HeadName>
      title="Heads"
      about={`${labelOf(name)}: ${flags}; click a column to sort`}
      first="corpus"
      rows={data.all}
      pinned={([l, h]) => l === layer && h === head}
      columns={[
        { name: "head", value: ([l, h]) => headLabel(l, h), show: (at) => <HeadLink at={at} pick={pick} /> },
        column("corpus", `mean over ${average}s: ${allOf(data)}`, (l, h) => data.mean(name, by, average, l, h)),
        column("this length", `mean of the ${alikeOf(data)}`, alike("mean")),
        column("± sd", `standard deviation of the ${alikeOf(data)}`, alike("sd")),
        column("this text", `in the text shown, ${data.alike.tokens} tokens`, (l, h) => data.inText(name, by, l, h)),
        column("z", "this text less the mean of the texts of its length, in standard deviations", alike("z"), 1),
        {
          name: "gate",
          title: `most frequent gate in ${gatesOf(data)}, full view (names after Bonino et al. 2025, scores are bertlens’ own)`,
          value: ([l, h]) => data.gates[l]![h]!,
          show: ([l, h]) => (
            <>
              <GateBadge label={data.gates[l]![h]!} /> {data.gates[l]![h]}
            </>
          ),
        },
        {
          name: "of texts",
          title: `share of ${gatesOf(data)} in which it has this gate`,
          value: ([l, h]) => data.shares[l]![h]!,
          show: ([l, h]) => percent(data.shares[l]![h]!),
        },
      ]}
    />
  );
}

const hundredths = (name: string, title: string, value: (row: Relation) => number): Column<Relation> => ({
  name,
  title,
  value,
  show: (row) => signed(100 * value(row), 1),
});

const INTERVAL = "95 % interval, bootstrap over sentences";

export function RelationTable({ data, put, pick }: Choice) {
  const { layer, head } = useView().shown;
  const interval = [
    numbers<Relation>("from", (row) => 100 * (row.low ?? Number.NaN), { title: INTERVAL, digits: 1 }),
    numbers<Relation>("to", (row) => 100 * (row.high ?? Number.NaN), { title: INTERVAL, digits: 1 }),
  ];
  const choose = (direction: string) => (l: number, h: number) => {
    put({ direction });
    pick(l, h);
  };
  return (
    <Table<Relation>
      title="Syntax"
      about="the best head per relation, % right, against always guessing the same distance"
      first="n"
      rows={data.relations}
      pinned={(row) => row.layer === layer && row.head === head}
      columns={[
        { name: "relation", value: (row) => row.relation },
        {
          name: "direction",
          title: "dep->head: a word attends to its head; head->dep: its head attends to the word",
          value: (row) => row.direction,
        },
        {
          name: "best head",
          value: (row) => headLabel(row.layer, row.head),
          show: (row) => <HeadLink at={[row.layer, row.head]} pick={choose(row.direction)} />,
        },
        hundredths("accuracy", "words right", (row) => row.accuracy),
        ...(data.relations.some(({ low }) => low !== undefined) ? interval : []),
        hundredths(
          "baseline",
          "the best fixed distance; out of the sentence counts as wrong",
          (r) => r.offset_accuracy,
        ),
        hundredths("gain", "accuracy less baseline", (row) => row.accuracy - row.offset_accuracy),
        { name: "n", title: "words", value: (row) => row.n },
      ]}
    />
  );
}
