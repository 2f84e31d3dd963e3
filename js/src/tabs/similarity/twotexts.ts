// Two texts as the kernel tells of them (bertlens/widgets/panels/similarity.py), and how it is asked.
import { LIMITS } from "../../generated/vocabulary";
import type { Answer, Kind, Read } from "../../kernel/answers";
import type { View } from "../../state/view";

export interface Side {
  text: string;
  read: string; // with its prompt
  tokens: string[];
  words: number[][]; // their tokens; a template token is one of its own
  names: string[]; // of words
  special: boolean[];
  own: boolean[]; // tokens of the text, not of its template or prompt
}

/** What is not the text's own: of a template, of a prompt, or put behind a query by the model. */
export type TokenKind = "" | "template" | "prompt" | "added";

/** As bertlens/widgets/panels/maxsim.py tells of it. Numbers are of the n tokens of the query that are scored. */
export interface Late {
  scored: [number[], number[]]; // places of the tokens that are scored, n and m
  kinds: [TokenKind[], TokenKind[]]; // of all tokens
  best: number[]; // which of the m
  cosines: number[];
  parts: number[]; // they sum to the number
  normal: boolean; // products are cosines
}

/** Of a sparse encoder, as bertlens/widgets/panels/vocabulary_words.py tells of it. */
export interface Vocabulary {
  said: string;
  words: SharedWord[]; // the largest parts first
}

/** A word that both vectors have; pairs are of text a and text b. */
export interface SharedWord {
  word: string;
  part: number;
  weights: [number, number];
  at: [number, number]; // the tokens that made the weights, or most of them
  expansion: [boolean, boolean]; // whether the text does not contain it
}

export interface Matrix {
  shape: number[];
  data: ArrayLike<number>;
}

/** By vectors of the last layer, or by tokens that went in. */
export type SplitName = "output" | "input";

export interface Similar {
  sides: [Side, Side];
  tasks: [string, string];
  function: string;
  value: number;
  why_not: string; // why it is no sum of pairs
  splits: SplitName[]; // that there are
  notes: string[];
  runs: number; // that taking each word out costs
  removable: string; // why no word can be taken out, "" where they can
  terms?: [name: string, value: number][]; // the first is the sum of `pairs`
  gap?: number;
  pairs: Matrix | null; // (tokens of a, tokens of b), with biases last where there are any
  vocabulary?: Vocabulary; // of a sparse encoder
  late?: Late; // of late interaction: pairs are the products of the tokens that are scored
}

export const SPLITS: Record<SplitName, string> = { output: "vectors of the last layer", input: "tokens that went in" };

const FUNCTIONS: Record<string, string> = {
  dot: "dot product",
  euclidean: "Euclidean distance × −1",
  manhattan: "Manhattan distance × −1",
};

/** What the model's number is called. */
export const functionWords = ({ function: name }: Similar): string => FUNCTIONS[name] ?? name;

const readSimilar = ({ fields, arrays }: Read): Similar =>
  ({ ...fields, pairs: arrays.pairs ?? null }) as unknown as Similar;
const SIMILAR: Kind<Similar, "similar"> = { op: "similar", read: readSimilar };
const WITHOUT: Kind<Matrix, "similar_without"> = {
  op: "similar_without",
  read: ({ arrays }) => arrays.without as unknown as Matrix,
};

/** The texts that were typed; none: the view's own. */
export function typedOf({ page }: View): string[] | null {
  const { a, b, task_a, task_b } = page.similarTo.value;
  return a && b ? [a, b, task_a, task_b] : null;
}

export const questionOf = (view: View) => {
  const texts = typedOf(view);
  return (texts ? { texts } : {}) as { texts: string[] };
};

/** The two texts that are shown; null where there is one only. */
export function similarOf(view: View): Answer<Similar> | null {
  const { overview, answers } = view;
  if (typedOf(view)) return answers.get(SIMILAR, overview, questionOf(view));
  const fields = overview.similar;
  if (!fields) return null;
  const pairs = overview.arrays["similar.pairs"];
  return { state: "answered", value: readSimilar({ fields, arrays: pairs ? { pairs } : {} }) };
}

const INPUT: Kind<Pick<Similar, "pairs" | "gap">, "similar_input"> = {
  op: "similar_input",
  read: ({ fields, arrays }) => ({ pairs: arrays.pairs!, gap: fields.gap as number }),
};

/** Which split is shown; null where none is, or one that takes work is not asked for. */
export function splitNameOf({ page }: View, data: Similar): SplitName | null {
  const choice = page.similarOf.value;
  if (data.splits.includes(choice as SplitName)) return choice as SplitName;
  if (data.splits.includes("output")) return "output";
  return data.splits.includes("input") && choice !== "none" && isCheap(data) ? "input" : null;
}

/** The two texts with the split that is shown. */
export function withSplit(view: View, data: Similar): Answer<Similar> {
  const name = splitNameOf(view, data);
  if (name !== "input") return { state: "answered", value: name ? data : { ...data, pairs: null } };
  const answer = view.answers.get(INPUT, view.overview, questionOf(view));
  return answer.state === "answered" ? { ...answer, value: { ...data, ...answer.value, why_not: "" } } : answer;
}

/** What each layer put into the number, of either text's vector, read by the other's. */
export interface ByLayer {
  names: string[];
  a: number[];
  b: number[];
}
const LAYERS: Kind<ByLayer, "similar_layers"> = {
  op: "similar_layers",
  read: ({ fields }) => fields as unknown as ByLayer,
};
export const layersOf = (view: View): Answer<ByLayer> => view.answers.get(LAYERS, view.overview, questionOf(view));

/** What is left of the number without each word. */
export const withoutOf = (view: View): Answer<Matrix> => view.answers.get(WITHOUT, view.overview, questionOf(view));

/** Whether each word is taken out unasked: it is a run for each. */
export const isCheap = ({ sides }: Similar): boolean => sides.every(({ tokens }) => tokens.length <= LIMITS.attributed);

/** Similarities of unrelated texts: bertlens.sentences.baseline.Baseline. */
interface Baseline {
  n: number;
  pairs: number;
  low: number;
  median: number;
  high: number;
}

const BASELINE: Kind<Baseline, "similar_baseline"> = {
  op: "similar_baseline",
  read: ({ fields }) => fields as unknown as Baseline,
};

export const baselineOf = (view: View): Answer<Baseline> => view.answers.get(BASELINE, view.overview, questionOf(view));
