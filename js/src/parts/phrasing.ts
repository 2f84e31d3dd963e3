// One sentence that says what a head does, from its statistics.

import { columnMeans } from "../compute/grid";
import type { Cells } from "../compute/windows";
import { type HeadName, MENTION_EVEN, MENTION_SHARE, STATISTICS } from "../generated/vocabulary";
import { capital, counted, headLabel, meanOf, percent, plural, share, upTo } from "../paint/format";
import { quotation } from "../paint/quotes";
import type { Overview } from "../state/overview";
import { type Noun, nounOf, separatorNames, specialNames } from "./nouns";
import { tokenQuote, tokenWord } from "./token";

const RULE = `named is what gets ${percent(MENTION_SHARE)} or more, and twice what even rows would give, or that and half of the rest`;
const MOST_PLACES = 3; // that are named, two of them in the sentence itself
const FEW = 5; // words that hold 90 % of a row: fewer are picked, more are spread over

/** The label of a statistic, with its unit where that is not plain from the label. */
export const statisticLabel = (name: string): string => {
  const { label, unit } = STATISTICS[name] ?? { label: name.replaceAll("_", " "), unit: "" };
  return unit === "nats" ? `${label} (nats)` : label;
};

const OF_WORDS = ["same_word", "punctuation", "punctuation_all"]; // which patches of an image are not

/** The names of the statistics by which heads can be sorted. */
export const statistics = ({ stats, statistic, nan_layer, pending, n_layers, patches }: Overview): string[] => {
  const layer = upTo(n_layers).find((l) => !pending.includes(l)); // one that is here
  const isKnown = (name: string) =>
    layer === undefined || !Number.isNaN(statistic(layer, 0, name)) || nan_layer !== null;
  return stats.filter((name) => isKnown(name) && !(patches && OF_WORDS.includes(name)));
};

/** What a head does. */
export interface Sentence {
  lead: string; // most of all: "L1·H8 looks at the next word"
  share: string; // " (59 %)"
  next: string; // "31 % rests on [CLS]"
  more: string[]; // for who asks: further shares, entropy
}

/**
 * Whether a share is well above what an even row gives: not what the length of the text gives alone. Where twice of it
 * is near 1 or above, halfway from it to 1.
 */
export const isMuch = (share: number, even: number): boolean => share >= Math.min(MENTION_EVEN * even, (1 + even) / 2);

/** The neighbour that a head looks at in general. */
export interface Neighbour {
  side: "previous" | "next";
  share: number; // of its weight, mean over all rows
}

/** Where half of a head's weight or more goes to a neighbour: to which. */
export function neighbourOf({ square, statistic }: Overview, layer: number, head: number): Neighbour | null {
  const side = (["previous", "next"] as const).find((name) => square && statistic(layer, head, name) >= 0.5);
  return side ? { side, share: statistic(layer, head, side) } : null;
}

/** What follows the lead, to its full stop. */
export const restOf = ({ share, next }: Pick<Sentence, "share" | "next">): string => `${share}${next && `; ${next}`}.`;

export const sentenceText = (sentence: Sentence): string => sentence.lead + restOf(sentence);

/** Where much of a head's attention lies. */
interface Place {
  share: number;
  even: number; // what even rows would give
  name: string;
  rests: boolean; // a special token, which has nothing to say of the text
}

const VERBS = {
  weight: { looks: "looks", at: "at", rests: "rests", on: "on", goes: "goes to" },
  norm: { looks: "takes", at: "from", rests: "takes", on: "from", goes: "comes from" },
} as const;

type By = keyof typeof VERBS;

/** "looks at the next word (59 %)", with "partly" where less than half of it lies there. */
function firstWords({ share, name, rests }: Place, by: By): Pick<Sentence, "lead" | "share"> {
  const { looks, at, rests: lies, on } = VERBS[by];
  const partly = share < 0.5 ? "partly " : "";
  return { lead: `${rests ? lies : looks} ${partly}${rests ? on : at} ${name}`, share: ` (${percent(share)})` };
}

const nextWords = ({ share, name, rests }: Place, by: By): string => {
  const { rests: lies, on, goes } = VERBS[by];
  return `${percent(share)} ${rests && by === "weight" ? `${lies} ${on}` : goes} ${name}`;
};

type Value = (statistic: string) => number;

/** The places that every head is told by, those of a statistic. */
function fixedPlaces({ keyside }: Overview, noun: Noun, value: Value, even: Value): Place[] {
  const token = tokenWord(keyside.tokens[0] ?? "");
  const isSpecial = Boolean(keyside.special[0]);
  const names: [statistic: string, name: string, rests: boolean][] = [
    ["previous", `the previous ${noun}`, false],
    ["next", `the next ${noun}`, false],
    ["self", `the ${noun} itself`, false],
    ["first", isSpecial ? token : `the first ${noun}, ${quotation(token)}`, isSpecial],
    ["separator", separatorNames(keyside), true],
  ];
  return names.map(([statistic, name, rests]) => ({ share: value(statistic), even: even(statistic), name, rests }));
}

/** Words that get much of every row, the first token and separators apart; none gets more of even rows than the first. */
function columnsOf({ keyside: { tokens, special } }: Overview, weights: Cells, even: number): Place[] {
  const means = columnMeans(weights);
  if (!means) return [];
  const isRepeated = (j: number) => tokens.indexOf(tokens[j]!) !== tokens.lastIndexOf(tokens[j]!);
  return upTo(tokens.length)
    .filter((j) => !special[j] && j > 0)
    .map((j) => {
      const name = `${tokenQuote(tokens[j]!)}${isRepeated(j) ? ` (${j})` : ""}`;
      return { share: means[j]!, even, name, rests: false };
    });
}

/**
 * A head in one sentence: where most of its attention lies, mean over all rows, words before special tokens, and what is
 * next. A place is named that
 * gets a tenth, and twice what even rows would give it. Shares that would count much of it twice (the first token is
 * often the previous one) are left out. With its rows, or their mean, it also names words that all look at. by: "norm"
 * where the statistics are of what is taken.
 */
export function describe(overview: Overview, layer: number, head: number, rows?: Cells, by: By = "weight"): Sentence {
  const name = headLabel(layer, head);
  const plain = (words: string): Sentence => ({ lead: `${name} ${words}`, share: "", next: "", more: [] });
  if (overview.pending.includes(layer)) return plain("is not computed yet");
  const [value, even] = [overview.statistic, overview.even].map(
    (of): Value =>
      (name) =>
        of(layer, head, name),
  ) as [Value, Value];
  const entropy = value("entropy");
  if (Number.isNaN(entropy)) return plain("is not a number: its attention holds NaN or infinity");
  const noun = nounOf(overview);
  if (overview.keyside.tokens.length === 1) return plain(`sees one ${noun}: there is no other to look at`);
  let remainder = 1;
  const column = Math.max(even("first"), even("self") || 0);
  const places = [...fixedPlaces(overview, noun, value, even), ...(rows ? columnsOf(overview, rows, column) : [])]
    .filter(({ share, even }) => share >= MENTION_SHARE && isMuch(share, even))
    .sort((a, b) => b.share - a.share)
    .filter(({ share }) => {
      const fits = share < remainder + 0.005;
      if (fits) remainder -= share;
      return fits;
    })
    .slice(0, MOST_PLACES);
  const telling = places.findIndex(({ rests }) => !rests); // most heads rest on special tokens: that tells few apart
  if (telling > 0) places.unshift(...places.splice(telling, 1));
  const [leader, next, ...others] = places;
  const clause = leader ? firstWords(leader, by) : spreadWords(value("k90"), even("k90"), noun, by);
  return {
    lead: `${name} ${clause.lead}`,
    share: clause.share,
    next: next ? nextWords(next, by) : "",
    more: [
      ...others.map((place) => nextWords(place, by)),
      `entropy ${entropy.toFixed(1)} nats`,
      `by ${by}, mean over all rows${leader?.even ? `; even rows would give ${leader.name} ${percent(leader.even)}` : ""}`,
      RULE,
    ],
  };
}

/** What even rows would give, mean over heads: "; evenly 0.13". */
const evenly = (even: number, before: string) => (even > 0 ? `${before}${share(even, 2)}` : "");

/**
 * All these heads in one sentence: how many give half of their weight or more to special tokens, and how many to a
 * neighbour; "" where half is less than twice what even rows would give, or not all of them are here.
 */
export function describeAll(overview: Overview, heads: HeadName[]): string {
  const special = specialNames(overview);
  const noun = nounOf(overview);
  const [name, place] = special
    ? ["special", special.replace(/, (?=[^,]+$)/, " and ")]
    : ["first", `the first ${noun}, ${tokenQuote(overview.keyside.tokens[0] ?? "")}`];
  const even = (statistic: string) => meanOf(heads.map(([l, h]) => overview.even(l, h, statistic)));
  const [evenRest, evenNear] = [even(name), even("previous")];
  const isShort = Math.max(evenRest, evenNear) > 0.5 / MENTION_EVEN;
  if (heads.length < 2 || isShort || heads.some(([l]) => overview.pending.includes(l))) return "";
  const count = (...statistics: string[]) =>
    heads.filter(([l, h]) => statistics.some((statistic) => overview.statistic(l, h, statistic) >= 0.5)).length;
  const [resting, near] = [count(name), count("previous", "next")];
  const verb = (n: number, word: string) => `${word}${n < 2 ? "s" : ""}`;
  const many = (n: number) => (n ? counted(n) : "none");
  const lead = `${many(resting)} of ${counted(heads.length)} ${verb(resting, "rest")} on ${place}`;
  const neighbour = `${many(near)} ${verb(near, "look")} at a neighbour${evenly(evenNear, " (")}${evenNear > 0 ? ")" : ""}`;
  return capital(`${lead} (half or more${evenly(evenRest, "; evenly ")}), ${neighbour}.`);
}

/** A head that looks at no place of those: how many words hold 90 % of a row; `even`: of an even one. */
function spreadWords(k90: number, even: number, noun: Noun, by: By): Pick<Sentence, "lead" | "share"> {
  const about = `${counted(Math.round(k90))} ${plural(noun, Math.round(k90))}`;
  const lead =
    by === "norm"
      ? `takes from about ${about} at a time`
      : Math.round(k90) === 1 || (k90 < FEW && !(MENTION_EVEN * k90 > even && even > 0))
        ? `picks about ${about} at a time`
        : `spreads over about ${about}`;
  return { lead, share: "" };
}
