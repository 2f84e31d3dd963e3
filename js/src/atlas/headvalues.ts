// What heads are ordered, coloured and told apart by: a statistic of the measure shown, or the cell, row or token pinned.

import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Unit } from "../compute/grid";
import { largestSize } from "../compute/largest";
import { type Cells, heldCells } from "../compute/windows";
import { MEASURES, type Measure, STATISTICS } from "../generated/vocabulary";
import { type Answer, type AnswerTo, fieldsAndArrays, type Kind } from "../kernel/answers";
import { headLabel, percent, scaleEnd, share, signed, upTo } from "../paint/format";
import { isolate, quotation } from "../paint/quotes";
import { describe, type Sentence, sentenceText, statisticLabel } from "../parts/phrasing";
import { shortText } from "../parts/token";
import { changeValues, hasLaterHeads } from "../state/effects";
import type { HeadNumbers, HeadValue, OfHead } from "../state/headvalue";
import type { Overview } from "../state/overview";
import { useView, type View } from "../state/view";
import { rowValue } from "./rowvalues";

type Statistics = AnswerTo<"statistics">;

/** One statistic of every head. */
const statisticOf = ({ names, stats }: Statistics, { n_heads }: Overview, name: string): OfHead => {
  const n = names.indexOf(name);
  return (l, h) => (n < 0 ? Number.NaN : stats[(l * n_heads + h) * names.length + n]!);
};

/** What each key gets of one head, mean over queries. */
const receivedOf = ({ received }: Statistics, { n_heads, keyside }: Overview, l: number, h: number) => {
  const K = keyside.tokens.length;
  return received.subarray((l * n_heads + h) * K, (l * n_heads + h + 1) * K);
};

export const STATS: Kind<Statistics, "statistics"> = {
  op: "statistics",
  layered: true,
  read: fieldsAndArrays,
};

/** Names of the values that a change of the run has, and of those that need a pin. */
const OF_CHANGE = ["moved", "matters"];
const OF_PIN = ["cell", "row", "contrast", "token"];

const NOTHING: OfHead = () => Number.NaN;

/** An answer's value: nothing where it is refused, null while it is on its way. */
const answered = <T>(answer: Answer<T>, of: (value: T) => OfHead, unit: string): HeadNumbers | null =>
  answer.state === "asking" ? null : { of: answer.state === "answered" ? of(answer.value) : NOTHING, unit };

const minus = (a: HeadNumbers | null, b: HeadNumbers | null): HeadNumbers | null =>
  a && b && { of: (l, h) => a.of(l, h) - b.of(l, h), unit: a.unit };

/** Weight, norm, or the one less the other. */
const byMeasure = (measure: Measure, by: (by: "weight" | "norm") => HeadNumbers | null): HeadNumbers | null =>
  measure === "difference" ? minus(by("weight"), by("norm")) : by(measure);

function statistic({ answers, overview }: View, name: string, by: "weight" | "norm"): HeadNumbers | null {
  const unit = STATISTICS[name]?.unit ?? "";
  if (by === "weight" && name !== "variation") return { of: (l, h) => overview.statistic(l, h, name), unit };
  const of = (statistics: Statistics) => statisticOf(statistics, overview, name);
  return answered(answers.get(STATS, overview, { by: "norm" }), of, unit);
}

/** What a key's pieces get of all queries, mean. */
function token({ answers, overview }: View, { pieces }: Unit, by: "weight" | "norm"): HeadNumbers | null {
  const of =
    (statistics: Statistics): OfHead =>
    (l, h) =>
      pieces.reduce((sum, j) => sum + receivedOf(statistics, overview, l, h)[j]!, 0);
  return answered(answers.get(STATS, overview, { by }), of, "share");
}

/** A number of the pinned query's row in every head, by the measure shown. */
function pinnedRowValue(view: View, name: string, query: Unit, measure: Measure): HeadNumbers | null {
  const of = rowValue(view, name, query, measure);
  return of && { of, unit: name === "contrast" ? "share" : name === "cell" ? "cell" : "nats" };
}

const short = ({ label }: Unit) => isolate(shortText(label, 12));

/** The label of a value, with what is pinned. */
export function labelOf({ grid, row, col }: View, name: string): string {
  const [query, key] = [grid.rows[row ?? -1], grid.cols[col ?? -1]];
  if (name === "cell") return query && key ? `${short(query)} → ${short(key)}` : "a cell: pin one";
  if (name === "token") return key ? `to ${quotation(short(key))}` : "to a token: pin a key";
  if (name === "row") return query ? `entropy of ${quotation(short(query))} (nats)` : "entropy of a row: pin one";
  if (name === "contrast")
    return query ? `weight ≠ norm for ${quotation(short(query))}` : "weight ≠ norm in a row: pin one";
  return statisticLabel(name);
}

const hasNorms = ({ measures }: Overview) => measures.includes("norm");

function headNumbers(view: View, name: string, measure: Measure): HeadNumbers | null {
  const { overview, grid, row, col } = view;
  if (OF_CHANGE.includes(name)) return changeValues(view, name);
  if (name === "variation") return hasNorms(overview) ? statistic(view, name, "norm") : { of: NOTHING, unit: "share" };
  if (!OF_PIN.includes(name)) return byMeasure(measure, (by) => statistic(view, name, by));
  const [query, key] = [grid.rows[row ?? -1], grid.cols[col ?? -1]];
  if (name === "token") return key ? byMeasure(measure, (by) => token(view, key, by)) : { of: NOTHING, unit: "share" };
  return query && (key || name !== "cell") ? pinnedRowValue(view, name, query, measure) : { of: NOTHING, unit: "cell" };
}

const UNITS: Record<string, (value: number) => string> = {
  share: percent,
  cell: share,
  nats: (value) => signed(value),
};

/** A value of every head by one measure; null while it is on its way. */
export function headValue(view: View, name: string, measure: Measure): HeadValue | null {
  const numbers = headNumbers(view, name, measure);
  if (!numbers) return null;
  const { n_layers, n_heads } = view.overview;
  const isSigned = numbers.signed ?? (MEASURES[measure].signed && name !== "variation" && name !== "contrast");
  const values = upTo(n_layers * n_heads).map((n) => numbers.of(Math.floor(n / n_heads), n % n_heads));
  const plain = UNITS[numbers.unit] ?? UNITS.nats!;
  return {
    name,
    label: numbers.label ?? labelOf(view, name),
    signed: isSigned,
    mark: numbers.mark,
    whole: !values.some(Number.isNaN),
    absent: numbers.absent ?? false,
    peak: scaleEnd(largestSize(values)),
    of: (l, h) => values[l * n_heads + h]!,
    text:
      numbers.text ??
      ((value) => (Number.isNaN(value) ? "–" : `${isSigned && value > 0 ? "+" : ""}${plain(value).replace("-", "−")}`)),
  };
}

/** The effect of changes that the atlas is coloured by; "" for none. */
export const changeColour = (view: View): string => {
  const { value } = view.page.whatif.colour;
  const isPlain = value === "moved" && (view.overview.changes.length === 0 || !hasLaterHeads(view));
  return isPlain ? "" : value;
};

/** A value of the measure shown; the last one of these maps while it is on its way, null before. */
export function useHeadValue(name: string): HeadValue | null {
  const view = useView();
  const measure = useComputed(() => view.shownHead.measure).value;
  const memo = useRef<{ key: unknown[]; value: HeadValue } | null>(null);
  const pin = OF_PIN.includes(name)
    ? [view.grid.rows[view.row ?? -1], view.grid.cols[view.col ?? -1], view.grid.cols]
    : [];
  const key = [view.overview, name, measure, ...pin];
  const stored = memo.current;
  if (
    stored?.value.whole &&
    !OF_CHANGE.includes(name) &&
    key.every((one, n) => one === stored.key[n]) &&
    key.length === stored.key.length
  )
    return stored.value;
  const value = headValue(view, name, measure);
  if (value) memo.current = { key, value };
  return value ?? (stored?.key[0] === view.overview ? stored.value : null);
}

/** Whether a change of the run switches a head off. */
export const isOff = ({ changes }: Overview, layer: number, head: number): boolean =>
  changes.some(({ off }) => off && off[0] === layer && (off[1] ?? head) === head);

/** A head in one sentence; with its weights it names words that all look at. */
export type Says = (layer: number, head: number, weights?: Cells) => Sentence;

/** A head that is switched off still looks, but passes nothing on. */
const off = ({ lead, share, next, more }: Sentence, name: string): Sentence => ({
  lead: `${name} is switched off`,
  share: `: it${lead.slice(name.length)}${share} and passes nothing on`,
  next,
  more,
});

/** How far a head takes from other places than it looks at, after where it looks most. */
const withVariation = ({ lead, share, next, more }: Sentence, variation: number): Sentence => ({
  lead,
  share,
  next:
    Math.round(100 * variation) === 0
      ? "weight and norm agree here"
      : `${percent(variation)} of what it takes comes from elsewhere`,
  more: [next, ...more].filter(Boolean),
});

/** What a head does in one sentence, by a measure; by weight until the norms are here. */
export function sentences({ overview, answers }: View, measure: Measure): Says {
  const byWeight: Says = (l, h, weights) => describe(overview, l, h, weights);
  const answer = measure === "weight" ? null : answers.get(STATS, overview, { by: "norm" });
  const value = answer?.state === "answered" ? answer.value : null;
  const byNorm = (norms: Statistics): Says => {
    const statistic = (l: number, h: number, name: string) => statisticOf(norms, overview, name)(l, h);
    if (measure === "difference")
      return (l, h, weights) => {
        const variation = statistic(l, h, "variation");
        return Number.isNaN(variation) ? byWeight(l, h, weights) : withVariation(byWeight(l, h, weights), variation);
      };
    const columns = (l: number, h: number) => {
      const received = receivedOf(norms, overview, l, h);
      return heldCells(received, received.length);
    };
    return (l, h, weights) => describe({ ...overview, statistic }, l, h, weights && columns(l, h), "norm");
  };
  return (l, h, weights) => {
    const isHere = value && !(answer?.state === "answered" && answer.pending?.includes(l));
    const sentence = (isHere ? byNorm(value) : byWeight)(l, h, weights);
    return isOff(overview, l, h) ? off(sentence, headLabel(l, h)) : sentence;
  };
}

/** The heads whose sentence holds these words, those that it leads with first, then by their share. */
export function headsThatDo(view: View, says: Says, words: string) {
  const { overview, answers, synced } = view;
  const { include_layers, include_heads } = synced;
  const answer = answers.get(STATS, overview, { by: "weight" }); // words of the text are named by what they get
  const columns = (l: number, h: number) => {
    if (answer.state !== "answered" || answer.pending?.includes(l)) return undefined;
    const received = receivedOf(answer.value, overview, l, h);
    return heldCells(received, received.length);
  };
  const isIn = (list: number[] | null, n: number) => list === null || list.includes(n);
  const matching = upTo(overview.n_layers * overview.n_heads).flatMap((n) => {
    const [layer, head] = [Math.floor(n / overview.n_heads), n % overview.n_heads];
    if (!isIn(include_layers.value, layer) || !isIn(include_heads.value, head)) return [];
    const sentence = says(layer, head, columns(layer, head));
    const own = sentenceText(sentence).slice(headLabel(layer, head).length).toLowerCase();
    const isLead = sentence.lead.toLowerCase().includes(words);
    const share = Number.parseInt(sentence.share.replace(/\D+/g, ""), 10) || 0;
    return own.includes(words) ? [{ layer, head, sentence, rank: isLead ? share + 100 : share / 100 }] : [];
  });
  return matching.sort((a, b) => b.rank - a.rank);
}

/** What a head does in one sentence, by the measure shown. */
export function useSentences(): Says {
  const view = useView();
  const { overview, answers } = view;
  const measure = useComputed(() => view.shownHead.measure).value;
  const answer = measure === "weight" ? null : answers.get(STATS, overview, { by: "norm" });
  return useMemo(() => sentences(view, measure), [overview, measure, answer]);
}
