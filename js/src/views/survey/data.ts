// The kernel's answer to "survey": what every head does over a corpus, and in the text at hand. Reading it, naming it.
import type { Kind } from "../../state/answers";
import type { CorpusChoice } from "../../state/page";
import { type HeadName, STATISTICS } from "../../vocabulary";
import type { Arrays, TypedArray } from "../../wire";

export type By = CorpusChoice["by"];

/** What the parts of the view share: the data, what of it is shown, and how to change that. */
export interface Choice extends CorpusChoice {
  data: Survey;
  put: (change: Partial<CorpusChoice>) => void;
  pick: (layer: number, head: number) => void;
}

export interface Relation {
  relation: string;
  direction: string;
  layer: number;
  head: number;
  accuracy: number;
  low?: number; // 95 % interval, where the table has one
  high?: number;
  offset_accuracy: number;
  n: number;
}

export interface Sentence {
  words: string[];
  heads: number[]; // index of each word's head, -1 for the root
  relations: string[];
}

interface Fields {
  names: string[]; // statistics, K
  by: By[];
  texts: number;
  tokens: number;
  about: string; // model and corpus
  gates: string[][]; // [layer][head] most frequent label
  shares: number[][]; // [layer][head] its share of the texts
  layers: Record<CorpusChoice["average"], Record<string, (number | null)[]>>; // quantities of whole layers
  relations: Relation[];
  sentence?: Sentence;
}

/** Statistics of every head; arrays are (K·L·H), bins (K·L·H·B). */
export interface Survey extends Fields {
  n_layers: number;
  n_heads: number;
  all: HeadName[];
  mean(name: string, by: By, average: CorpusChoice["average"], layer: number, head: number): number;
  spread(name: string, by: By, layer: number, head: number): number; // standard deviation from text to text
  inText(name: string, by: By, layer: number, head: number): number; // in the text shown
  /** How many texts have a value in each bin. */
  bins(name: string, by: By, layer: number, head: number): TypedArray;
  edges(name: string): TypedArray; // of the bins, B + 1
  headMap: Float32Array | null; // (L·H·2)
  guesses: Int32Array | null; // (2·L·H·W) word that a head predicts for each word, direction by direction
}

export function readSurvey(answer: { fields: Record<string, unknown>; arrays: Arrays }): Survey {
  const fields = answer.fields as unknown as Fields;
  const { arrays } = answer;
  const [L, H] = [fields.gates.length, fields.gates[0]!.length];
  const at = (name: string, l: number, h: number) => (fields.names.indexOf(name) * L + l) * H + h;
  const [, edgeCount] = arrays.edges!.shape as [number, number];
  const B = edgeCount - 1;
  return {
    ...fields,
    n_layers: L,
    n_heads: H,
    all: Array.from({ length: L * H }, (_, n) => [Math.floor(n / H), n % H]),
    mean: (name, by, average, l, h) => arrays[`${average}.${by}`]!.data[at(name, l, h)]!,
    spread: (name, by, l, h) => arrays[`spreads.${by}`]!.data[at(name, l, h)]!,
    inText: (name, by, l, h) => arrays[`sentence.${by}`]!.data[at(name, l, h)]!,
    bins: (name, by, l, h) => arrays[`bins.${by}`]!.data.subarray(at(name, l, h) * B, (at(name, l, h) + 1) * B),
    edges: (name) => {
      const k = fields.names.indexOf(name);
      return arrays.edges!.data.subarray(k * edgeCount, (k + 1) * edgeCount);
    },
    headMap: (arrays.map?.data as Float32Array) ?? null,
    guesses: (arrays.guesses?.data as Int32Array) ?? null,
  };
}

export const SURVEY: Kind<Survey, "survey"> = { op: "survey", read: readSurvey };

export const labelOf = (name: string): string => STATISTICS[name]?.label ?? name.replaceAll("_", " ");
export const aboutOf = (name: string): string => STATISTICS[name]?.about ?? "";

/** Where a value lies among bins, in bins from the left; values beyond the last edge lie in the last bin. */
export function binOf(value: number, edges: ArrayLike<number>): number {
  const last = edges.length - 2;
  let bin = 0;
  while (bin < last && value >= edges[bin + 1]!) bin++;
  const [from, to] = [edges[bin]!, edges[bin + 1]!];
  return bin + Math.max(0, Math.min(1, (value - from) / (to - from)));
}

/** The share of texts with a lower value, even within a bin; NaN without texts. */
export function rank(value: number, bins: ArrayLike<number>, edges: ArrayLike<number>): number {
  const at = binOf(value, edges);
  let [lower, all] = [0, 0];
  for (let b = 0; b < bins.length; b++) {
    all += bins[b]!;
    lower += bins[b]! * Math.max(0, Math.min(1, at - b));
  }
  return lower / all;
}

/** The largest size among numbers, those left out that are none. */
export const sizeOf = (values: number[]): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 1e-9);
