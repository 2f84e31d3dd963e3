// What a similarity is a sum of, by pieces or words: units, what is drawn of them, what is left without a word.
import { largest } from "../../compute/largest";
import { sorted } from "../../compute/sorted";
import { signed, upTo } from "../../paint/format";
import { isNothing } from "../../paint/ranked";
import type { Matrix, Side, Similar } from "./twotexts";

/** A piece, a word, or the biases. */
export interface Unit {
  label: string;
  at: number[]; // its tokens
  own: boolean;
  word: number | null; // which of the text's own words it is, whole
}

/** Both texts in units, and a sum over pairs of them. */
export interface Split {
  a: Unit[];
  b: Unit[];
  cells: Float64Array | null; // (a, b)
}

/** A row or a column that is drawn: a unit, the units that are left out, or what is not the text's own. */
export interface Line {
  label: string;
  units: number[];
  kind: "unit" | "others" | "template";
}

export interface Folded {
  rows: Line[];
  cols: Line[];
  cells: number[][];
  rowSums: number[];
  colSums: number[];
}

/** The similarity with all words, without a's, b's, both; and what only both together make. */
export interface Tried {
  none: number;
  a: number;
  b: number;
  both: number;
  own: number;
}

export interface Pair {
  a: number; // units
  b: number;
  part: number | null; // null where the number is no sum
  tried: Tried | null; // null where a unit is no whole word, or it is not known yet
}

export interface Largest {
  pairs: Pair[];
  others: { count: number; sum: number }; // pairs of the texts' own units that are not among them
  template: number; // pairs with what is not the texts' own
}

const MOST = 24; // units a side that are drawn
const LISTED = 6; // pairs

/** The units of a text; `rows`: how many the matrix has, one more where there are biases. */
export function unitsOf({ tokens, words, names, own }: Side, byWords: boolean, rows = tokens.length): Unit[] {
  const isOwn = (at: number[]) => own[at.at(-1)!]!; // the prompt may end in a blank that is a piece of the first word
  const wordOf = new Map(words.filter(isOwn).map((at, n) => [String(at), n]));
  const units = (byWords ? words : tokens.map((_, n) => [n])).map(
    (at, n): Unit => ({
      label: byWords ? names[n]! : tokens[n]!,
      at,
      own: isOwn(at),
      word: wordOf.get(String(at)) ?? null,
    }),
  );
  return rows > tokens.length ? [...units, { label: "bias", at: [tokens.length], own: false, word: null }] : units;
}

export function splitOf({ sides, pairs }: Similar, byWords: boolean): Split {
  const [a, b] = sides.map((side, n) => unitsOf(side, byWords, pairs?.shape[n])) as [Unit[], Unit[]];
  if (!pairs) return { a, b, cells: null };
  const cells = new Float64Array(a.length * b.length);
  a.forEach((row, i) => {
    b.forEach((col, j) => {
      for (const p of row.at) for (const q of col.at) cells[i * b.length + j]! += pairs.data[p * pairs.shape[1]! + q]!;
    });
  });
  return { a, b, cells };
}

const sum = (values: Iterable<number>) => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};

const ownOf = (units: Unit[]) => upTo(units.length).filter((n) => units[n]!.own);

/** What is not the text's own, in a word or two. */
const templateLabel = (units: Unit[], special: boolean[]): string => {
  const names = units.map(({ label, at }) => (label === "bias" || special[at[0]!] ? label : "prompt"));
  const labels = [...new Set(names)];
  return labels.length > 3 ? "template" : labels.join(" ");
};

/**
 * The matrix as it is drawn: of each text at most `most` own units, those with the largest parts, in their order; the
 * others together, and all that is not the text's own. It sums to the same.
 */
export function foldedOf({ a, b, cells }: Split, sides: Similar["sides"], most = MOST): Folded | null {
  if (!cells) return null;
  const cell = (i: number, j: number) => cells[i * b.length + j]!;
  const [ownA, ownB] = [ownOf(a), ownOf(b)];
  const lines = (units: Unit[], own: number[], weight: (n: number) => number, special: boolean[]): Line[] => {
    const selection =
      own.length <= most
        ? own
        : sorted(own, weight, true)
            .slice(0, most)
            .sort((x, y) => x - y);
    const bundle = own.filter((n) => !selection.includes(n));
    const template = upTo(units.length).filter((n) => !units[n]!.own);
    const axis: Line[] = [
      ...selection.map((n): Line => ({ label: units[n]!.label, units: [n], kind: "unit" })),
      { label: `${bundle.length} others`, units: bundle, kind: "others" },
      {
        label: templateLabel(
          template.map((n) => units[n]!),
          special,
        ),
        units: template,
        kind: "template",
      },
    ];
    return axis.filter((line) => line.units.length > 0);
  };
  const rows = lines(a, ownA, (i) => sum(ownB.map((j) => Math.abs(cell(i, j)))), sides[0].special);
  const cols = lines(b, ownB, (j) => sum(ownA.map((i) => Math.abs(cell(i, j)))), sides[1].special);
  const folded = rows.map((row) => cols.map((col) => sum(row.units.flatMap((i) => col.units.map((j) => cell(i, j))))));
  return {
    rows,
    cols,
    cells: folded,
    rowSums: folded.map(sum),
    colSums: cols.map((_, c) => sum(folded.map((row) => row[c]!))),
  };
}

/** The experiment on a pair; null where a unit is no whole word. */
export function triedOf(without: Matrix, a: Unit, b: Unit): Tried | null {
  if (a.word === null || b.word === null) return null;
  const at = (i: number, j: number) => without.data[i * without.shape[1]! + j]!;
  const [none, withoutA, withoutB, withoutBoth] = [
    at(0, 0),
    at(a.word + 1, 0),
    at(0, b.word + 1),
    at(a.word + 1, b.word + 1),
  ];
  return { none, a: withoutA, b: withoutB, both: withoutBoth, own: none - withoutA - withoutB + withoutBoth };
}

/** The pairs with the largest parts, or, where there are none, the largest own effects, beyond rounding; what others have. */
export function largestOf({ a, b, cells }: Split, without: Matrix | null, most = LISTED): Largest {
  const [ownA, ownB] = [ownOf(a), ownOf(b)];
  const places = ownA.flatMap((i) => ownB.map((j) => [i, j] as const));
  const partOf = (i: number, j: number) => cells && cells[i * b.length + j]!;
  const tried = (i: number, j: number) => without && triedOf(without, a[i]!, b[j]!);
  const by = places.map(([i, j]) => partOf(i, j) ?? tried(i, j)?.own ?? Number.NaN);
  const top = largest(by, most).positions.flatMap((n) => (isNothing(by[n]!) ? [] : [places[n]!]));
  const pairs = top.map(([i, j]) => ({ a: i, b: j, part: partOf(i, j), tried: tried(i, j) }));
  const ownSum = sum(places.map(([i, j]) => partOf(i, j) ?? 0));
  return {
    pairs,
    others: { count: places.length - pairs.length, sum: ownSum - sum(pairs.map((pair) => pair.part ?? 0)) },
    template: sum(cells ?? []) - ownSum,
  };
}

/** The units that hold two tokens; null where one is of none. */
export function pairAt({ a, b }: Split, [p, q]: number[]): { a: number; b: number } | null {
  const [i, j] = [a.findIndex(({ at }) => at.includes(p!)), b.findIndex(({ at }) => at.includes(q!))];
  return i < 0 || j < 0 ? null : { a: i, b: j };
}

/** Digits behind the point for numbers of this size. */
export const digitsFor = (size: number): number => (Math.abs(size) >= 100 ? 1 : Math.abs(size) >= 10 ? 2 : 3);

/** As many as give the largest part two. */
export function digitsOfParts({ pairs }: Largest): number {
  const peak = Math.abs(pairs[0]?.part ?? 0);
  return peak > 0 ? Math.min(6, 1 - Math.floor(Math.log10(peak))) : 0;
}

export const exponent = (value: number) =>
  value === 0 ? "0" : value.toExponential(0).replace("-", "−").replace("e-", "e−");

/** Whether the parts add up to the model's own number, and of what they are the parts. */
export function gapWords({ terms, gap, value, pairs }: Similar): string {
  if (!terms || gap === undefined || !pairs) return "";
  const digits = digitsFor(value) + 1;
  const total = gap + (terms.length > 1 ? -(value ** 2) : value);
  const modelText = signed(value, digits);
  if (terms.length > 1) {
    const names = terms.map(([name]) => name).join(" ");
    const numbers = terms.map(([, term], n) => (n ? signed(term, digits).replace("−", "− ") : signed(term, digits)));
    return `The parts add up to ${terms[0]![0]}. −d² = ${names.replaceAll(" −", " − ")} = ${numbers.join(" ")} = ${signed(total, digits)}; the model’s own number is −d, ${modelText} (gap ${exponent(gap)}).`;
  }
  const sumText = signed(total, digits);
  return sumText === modelText
    ? `The parts add up to the model’s own ${modelText}, gap ${exponent(gap)}.`
    : `The parts add up to ${sumText}, the model’s own number is ${modelText}: gap ${exponent(gap)}.`;
}
