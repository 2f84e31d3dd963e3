// What is asked before a row is shown, and what is said once it is: one true sentence each, in the words of the measure.

import { visible } from "../../compute/attention";
import type { Unit } from "../../compute/grid";
import { capital, counted, plural, share, upTo } from "../../paint/format";
import { quotation } from "../../paint/quotes";
import { tokenQuote, tokenText, tokenWord } from "../../parts/token";
import { renormalized } from "../../state/headgrid";
import type { View } from "../../state/view";
import { unitNoun } from "../cellwords";
import { shadesOf } from "../running";
import type { Scale } from "../scale";

type Kind = "weight" | "norm" | "difference" | "map";

/** One row as the class meets it. */
export interface Row {
  kind: Kind;
  about: string; // of a layer's map
  at: number; // row of the grid
  name: string; // “it”
  units: Unit[]; // words that it may look at
  values: ArrayLike<number>;
  seen: number[]; // those that it sees
  best: number[]; // those with the largest number, more than one where they are alike; none where nothing is a number
  scale: Pick<Scale, "digits" | "text" | "signed">;
  noun: string;
  hides: boolean; // some words are not shown
  scaled: boolean; // and what is shown adds up to 1
}

const ALIKE = 1e-6; // of the largest: the rounding of float32

/** The row of the word that looks; null where no words are left to show. */
export function rowOf(view: View): Row | null {
  const { overview, shownHead, synced } = view;
  const shades = shadesOf(view, false);
  if (!shades) return null;
  const { at, unit, units, values, scale } = shades;
  const { layerMap, slice, measure } = shownHead;
  const sees = ({ pieces }: Unit) => unit.pieces.some((i) => pieces.some((j) => visible(slice, i, j)));
  const seen = upTo(units.length).filter((n) => layerMap !== null || sees(units[n]!));
  const kind = layerMap ? "map" : measure;
  const size = (n: number) => sizeOf(kind, values[n]!);
  const numbers = seen.filter((n) => !Number.isNaN(values[n]!));
  const top = numbers.reduce((most, n) => Math.max(most, size(n)), Number.NEGATIVE_INFINITY);
  return {
    kind,
    about: layerMap?.word.about ?? "",
    at,
    name: tokenQuote(unit.label),
    units,
    values,
    seen,
    best: numbers.filter((n) => top - size(n) <= ALIKE * Math.abs(top)),
    scale,
    noun: unitNoun(view),
    hides: units.reduce((sum, { pieces }) => sum + pieces.length, 0) < overview.keyside.tokens.length,
    scaled: renormalized(synced, shownHead),
  };
}

/** By which the words of a row are ordered: of differences the size. */
const sizeOf = (kind: Kind, value: number) => (kind === "difference" ? Math.abs(value) : value);

/** A word's text; where it stands there more than once, with its place. */
export function nameOf(units: { label: string }[], n: number): string {
  const { label } = units[n]!;
  const isRepeated = units.some((unit, at) => at !== n && unit.label === label);
  return isRepeated ? `${tokenWord(label)} (${n})` : tokenText(label);
}

/** The words with the largest numbers in order, and the guess wherever it stands. */
export function firstOf({ kind, values, seen }: Row, most: number, guess: number | null): number[] {
  const numbers = seen.filter((n) => !Number.isNaN(values[n]!));
  const ordered = numbers.sort((a, b) => sizeOf(kind, values[b]!) - sizeOf(kind, values[a]!) || a - b);
  const top = ordered.slice(0, most);
  return guess === null || top.includes(guess) ? top : [...top.slice(0, most - 1), guess];
}

/** A number of a row as all of Present prints it; one that is not 0 does not read 0. */
export function numberText({ scale: { text, digits } }: Pick<Row, "scale">, value: number, sign = true): string {
  const smallest = 10 ** -digits;
  if (value > 0 && value < smallest / 2) return `less than ${smallest.toFixed(digits)}`;
  return sign ? text(value) : share(value, digits);
}

const QUESTIONS: Record<Kind, (row: Row) => string> = {
  weight: ({ name, noun }) => `${name} looks for something. Which ${noun} will it find?`,
  norm: ({ name, noun }) => `${name} takes something from the ${plural(noun)} it looks at. From which one most of all?`,
  difference: ({ name, noun }) =>
    `${name} looks at some ${plural(noun)} more than it takes from them, at others less. Where do the two differ most?`,
  map: ({ name, noun, about }) => `${about} Which ${noun} has the largest number in the row of ${name}?`,
};

/** Of a row of zeros. */
const NOTHING: Record<Kind, (words: string) => string> = {
  weight: (words) => `nothing goes to any of the ${words} here`,
  norm: (words) => `nothing comes from any of the ${words} here`,
  difference: (words) => `looking and taking do not differ at any of the ${words} here`,
  map: (words) => `the numbers of the ${words} here are all 0`,
};

/** Of a row in which all are alike. */
const ALL: Record<Kind, (words: string) => string> = {
  weight: (words) => `the same goes to ${words}`,
  norm: (words) => `the same comes from ${words}`,
  difference: (words) => `the two differ by the same at ${words}`,
  map: (words) => `the numbers are the same for ${words}`,
};

/** Why there is nothing to guess, "" where there is. */
function noChoice({ name, units, values, seen, best, noun }: Row): string {
  if (seen.length === 0) return `${name} sees none of the ${counted(units.length)} ${plural(noun, units.length)} shown`;
  if (best.length === 0) return `The row of ${name} holds no numbers (NaN)`;
  if (seen.some((n) => Number.isNaN(values[n]!))) return "";
  if (units.length === 1) return `One ${noun} is shown`;
  if (seen.length === 1) return `Of the ${counted(units.length)} ${plural(noun)} shown, ${name} sees one`;
  return "";
}

export function questionText(row: Row): string {
  const { seen, units, noun } = row;
  const why = noChoice(row);
  if (why) return `${why}: there is nothing to guess.`;
  const scope = `It sees ${counted(seen.length)} of the ${counted(units.length)} ${plural(noun)} shown.`;
  return `${QUESTIONS[row.kind](row)}${seen.length < units.length ? ` ${scope}` : ""}`;
}

interface Saying {
  ofGuess: (number: string) => string; // of the guess
  ofBest: (name: string) => string; // of the word with the largest number
  right: string; // where that is the guess
}

const SAYS: Record<Kind, Saying> = {
  weight: {
    ofGuess: (n) => `it gets ${n}`,
    ofBest: (name) => `the most goes to ${name}`,
    right: "the most goes there",
  },
  norm: {
    ofGuess: (n) => `${n} comes from it`,
    ofBest: (name) => `the most comes from ${name}`,
    right: "the most comes from there",
  },
  difference: {
    ofGuess: (n) => `the two differ by ${n} there`,
    ofBest: (name) => `the two differ most at ${name}`,
    right: "the two differ most there",
  },
  map: {
    ofGuess: (n) => `its number is ${n}`,
    ofBest: (name) => `the largest is that of ${name}`,
    right: "its number is the largest",
  },
};

/** What the row turned out to be, and how the guess did. */
export function answerText(row: Row, guess: number | null): string {
  const { kind, name, units, values, seen, best, noun } = row;
  const text = (n: number) => numberText(row, kind === "difference" ? Math.abs(values[n]!) : values[n]!, false);
  const quoted = (n: number) => quotation(nameOf(units, n));
  const count = `${counted(seen.length)} ${plural(noun, seen.length)}`;
  const why = noChoice(row);
  const note = noteOf(row);
  const leader = best[0];
  if (leader === undefined) return `${why}.`;
  if (why) return `${why}, ${quoted(leader)}: ${text(leader)}.${note}`;
  const guessed = guess === null ? "" : `You guessed ${quoted(guess)}`;
  const but = (rest: string) => `${guessed ? `${guessed}, but ${rest}` : capital(rest)}.${note}`;
  if (best.every((n) => values[n] === 0)) return but(NOTHING[kind](count));
  const group = `${seen.length === 2 ? "both" : "all"} ${seen.length === 2 ? plural(noun) : count} that ${name} sees`;
  if (best.length === seen.length) return but(`${ALL[kind](group)}: ${text(leader)} each`);
  const { ofGuess, ofBest, right } = SAYS[kind];
  const ties = best.length - 1;
  const top = `${ofBest(quoted(leader))}${ties ? ` and ${ties} more` : ""}: ${text(leader)}${ties ? " each" : wayOf(row, leader)}`;
  if (guess === null) return `${capital(top)}.${note}`;
  if (best.includes(guess)) {
    const tieWords = ties ? ` ${ties} more ${ties === 1 ? "has" : "have"} the same.` : "";
    return `${guessed}, and ${right}: ${text(guess)}${ties ? "" : wayOf(row, guess)}.${tieWords}${note}`;
  }
  if (!seen.includes(guess)) return `${guessed}, which ${name} cannot see; ${top}.${note}`;
  const isClose = text(guess) === text(leader);
  return `${guessed}: ${ofGuess(text(guess))}; ${isClose ? `${ofBest(quoted(leader))}, a little more` : top}.${note}`;
}

/** Which way looking and taking differ. */
const wayOf = ({ kind, values }: Row, n: number): string =>
  kind !== "difference"
    ? ""
    : values[n]! > 0
      ? ", where it looks more than it takes"
      : ", where it takes more than it looks";

/** What the numbers leave out. */
function noteOf({ hides, scaled, noun }: Row): string {
  if (scaled && hides) return ` These are parts of what goes to the ${plural(noun)} shown.`;
  return hides ? ` The ${plural(noun)} that are hidden do not count.` : "";
}
