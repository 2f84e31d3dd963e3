// Heads by any column, and the best head of each grammatical relation.

import { GateBadge } from "../../atlas/gatemarks";
import type { HeadName } from "../../generated/vocabulary";
import { headLabel, percent } from "../../paint/format";
import { HeadLink } from "../../parts/headlink";
import { numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import { alikeOf, allOf, type Choice, flagsOf, gatesOf, labelOf, type Relation } from "./corpusheads";

export function HeadTable(props: Choice & { across: boolean }) {
  const { data, name, by, average, pick, across } = props;
  const { layer, head } = useView().shownHead;
  const column = (title: string, about: string, value: (l: number, h: number) => number, digits = 3) =>
    numbers<HeadName>(title, ([l, h]) => value(l, h), { title: about, digits });
  const peers = (what: "mean" | "sd" | "z") => (l: number, h: number) => data.alikes(what, name, by, l, h);
  const flags = flagsOf(data, by, name);
  return (
    <Table<HeadName>
      class={across ? "bl-across" : "bl-heads"}
      title="Heads"
      about={`${labelOf(name)}: ${flags}; click a column to sort`}
      first="corpus"
      rows={data.all}
      pinned={([l, h]) => l === layer && h === head}
      columns={[
        { name: "head", value: ([l, h]) => headLabel(l, h), show: (at) => <HeadLink at={at} pick={pick} /> },
        column("corpus", `mean over ${average}s: ${allOf(data)}`, (l, h) => data.mean(name, by, average, l, h)),
        column("this length", `mean of the ${alikeOf(data)}`, peers("mean")),
        column("± sd", `standard deviation of the ${alikeOf(data)}`, peers("sd")),
        column("this text", `in the text shown, ${data.alike.tokens} tokens`, (l, h) => data.inText(name, by, l, h)),
        column("z", "this text less the mean of the texts of its length, in standard deviations", peers("z"), 1),
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

const INTERVAL = "95 % for the accuracy of this head in other sentences, by sentences";
const STABLE = "share of draws of the sentences, with replacement, in which the same head is the best again";
const HELD_OUT = "words right, counted on one half of the sentences by the best head of the other half, both ways";
const FLATTERED = "words right, in the sentences that the head is the best of: flattered, see best_heads";

export function RelationTable({ data, put, pick }: Choice) {
  const { layer, head } = useView().shownHead;
  const heldOut = data.relations.some(({ low }) => low !== undefined);
  const percents = (name: string, title: string, value: (row: Relation) => number | undefined) =>
    numbers<Relation>(name, (row) => 100 * (value(row) ?? Number.NaN), { title, digits: 1 });
  const choose = (direction: string) => (l: number, h: number) => {
    put({ direction });
    pick(l, h);
  };
  return (
    <Table<Relation>
      class="bl-across"
      title="Syntax"
      about={
        "the best head per relation, % of words right" +
        (heldOut ? " in sentences that it was not chosen on" : " in the sentences that it was chosen on: flattered") +
        ", against always guessing the same distance"
      }
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
          title: "of all heads and both directions, in all sentences",
          value: (row) => headLabel(row.layer, row.head),
          show: (row) => <HeadLink at={[row.layer, row.head]} pick={choose(row.direction)} />,
        },
        percents("accuracy", heldOut ? HELD_OUT : FLATTERED, (row) => row.accuracy),
        ...(heldOut
          ? [
              percents("from", INTERVAL, (row) => row.low),
              percents("to", INTERVAL, (row) => row.high),
              percents("stable", STABLE, (row) => row.stable),
            ]
          : []),
        percents(
          "baseline",
          "the best fixed distance of 20 in the same sentences; out of the sentence counts as wrong",
          (r) => r.offset_accuracy,
        ),
        percents("gain", "accuracy less baseline", (row) => row.accuracy - row.offset_accuracy),
        { name: "n", title: "words", value: (row) => row.n },
      ]}
    />
  );
}
