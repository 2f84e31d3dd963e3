// Whether a lesson's check is fulfilled by what a view shows: the tree that bertlens/lessons/language.py made of its
// text, read the same way as there.

import * as phrases from "../generated/phrases";
import { TOLERANCE } from "../generated/vocabulary";
import { share } from "../paint/format";
import { quotation } from "../paint/quotes";

type OfCells = "weight" | "taken";
export type NumberTree = number | string | [name: OfCells] | [name: OfCells, query: string, key: string];
export type Tree = [name: string, ...parts: unknown[]];
type Word = [label: string, pieces: number[]];

/** What a view shows, as checks read it; of the same names as in Python. */
export interface Facts {
  statistics: Record<string, number | null>;
  queries: Word[];
  keys: Word[];
  special: boolean[]; // of the keys
  weight(query: number, key: number): number;
  query: number | null;
  key: number | null;
  answer: string | null;
  before: string | null;
  head: string;
  taken: ((query: number, key: number) => number) | null; // null while the picture shows weights
}

/** truth: 1 fulfilled, 0.5 within the tolerance, 0 not, null where it cannot be told; why: then, one sentence. */
export interface Verdict {
  truth: number | null;
  why: string;
}

export const holds = ({ truth }: Verdict): boolean => truth !== null && truth > 0;

class Unknown extends Error {}

export const verdict = (tree: Tree, facts: Facts): Verdict =>
  told<Verdict>(
    () => ({ truth: truthOf(tree, facts), why: "" }),
    (why) => ({ truth: null, why }),
  );

/** A number alone, null where it cannot be told. */
export const numberOf = (tree: NumberTree, facts: Facts): number | null =>
  told<number | null>(
    () => numberIn(tree, facts),
    () => null,
  );

function told<T>(tell: () => T, untold: (why: string) => T): T {
  try {
    return tell();
  } catch (error) {
    if (error instanceof Unknown) return untold(error.message);
    throw error;
  }
}

function truthOf([name, ...parts]: Tree, facts: Facts): number {
  const truths = () => parts.map((part) => truthOf(part as Tree, facts));
  const word = parts[0] as string;
  switch (name) {
    case "or":
      return Math.max(...truths());
    case "and":
      return Math.min(...truths());
    case "not":
      return 1 - truths()[0]!;
    case ">":
    case "<": {
      const [left, right] = parts.map((part) => numberIn(part as NumberTree, facts)) as [number, number];
      return above(name === ">" ? left - right : right - left);
    }
    case "key is":
      return isIn(chosenKey(facts), facts.keys, word);
    case "query is":
      return isIn(chosenQuery(facts), facts.queries, word);
    case "head is":
      return Number(isSameWord(facts.head.replaceAll("·", ""), word.replaceAll("·", "")));
    case "key":
      return largest(facts, word === "words");
  }
  if (facts.answer === null) throw new Unknown(phrases.NO_ANSWER);
  return Number(name === "answer" ? isSameWord(facts.answer, word) : facts.answer !== facts.before);
}

/** The numbers of a comparison, each with the name that tells it from the other: ": trophy 0.05, suitcase 0.16". */
export function numbersIn([sign, ...sides]: Tree, facts: Facts): string {
  if (sign !== ">" && sign !== "<") return "";
  const trees = sides.filter((side): side is Exclude<NumberTree, number> => typeof side !== "number");
  const queries = new Set(trees.map((tree) => (typeof tree === "string" ? "" : tree[1])));
  const nameOf = (tree: Exclude<NumberTree, number>) => {
    if (typeof tree === "string") return tree.replaceAll("_", " ");
    if (tree.length === 1) return tree[0];
    return trees.length > 1 && queries.size === 1 ? tree[2] : `${tree[1]} → ${tree[2]}`;
  };
  const words = trees.map((tree) => `${nameOf(tree)} ${share(numberOf(tree, facts) ?? Number.NaN, 2)}`);
  return words.length > 0 ? `: ${words.join(", ")}` : "";
}

const above = (gap: number) => (gap > TOLERANCE ? 1 : gap < -TOLERANCE ? 0 : 0.5);

const isIn = (place: number, words: Word[], word: string) => Number(named(words, word).flat().includes(place));

function largest(facts: Facts, words: boolean): number {
  const [query, key] = [chosenQuery(facts), chosenKey(facts)];
  if (words && facts.special[key]) return 0;
  const rivals = facts.special.flatMap((special, j) =>
    (words && special) || j === key ? [] : [facts.weight(query, j)],
  );
  const gap = facts.weight(query, key) - Math.max(...rivals);
  return gap >= 0 ? 1 : gap >= -TOLERANCE ? 0.5 : 0;
}

function chosenQuery({ query }: Facts): number {
  if (query === null) throw new Unknown(phrases.NO_QUERY);
  return query;
}

function chosenKey({ key }: Facts): number {
  if (key === null) throw new Unknown(phrases.NO_CHOSEN_KEY);
  return key;
}

export const isSameWord = (label: string, word: string): boolean =>
  label.trim().toLowerCase() === word.trim().toLowerCase();

function named(words: Word[], word: string): number[][] {
  const matches = words.flatMap(([label, pieces]) => (isSameWord(label, word) ? [pieces] : []));
  if (matches.length === 0) throw new Unknown(phrases.NO_SUCH_WORD({ word: quotation(word) }));
  return matches;
}

function numberIn(tree: NumberTree, facts: Facts): number {
  if (typeof tree === "number") return tree;
  if (typeof tree === "string") {
    const value = facts.statistics[tree] ?? Number.NaN;
    if (Number.isNaN(value)) throw new Unknown(phrases.NO_NUMBER({ name: tree }));
    return value;
  }
  const of = facts[tree[0]];
  if (!of) throw new Unknown(phrases.NO_NORMS);
  if (tree.length === 1) return of(chosenQuery(facts), chosenKey(facts));
  const [rows, columns] = [named(facts.queries, tree[1]), named(facts.keys, tree[2])];
  const sum = (row: number[], column: number[]) =>
    row.reduce((all, i) => column.reduce((part, j) => part + of(i, j), all), 0);
  return Math.max(...rows.flatMap((row) => columns.map((column) => sum(row, column) / row.length)));
}
