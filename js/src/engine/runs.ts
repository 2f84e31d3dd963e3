// What a page's questions are answered from: its model, and a run of a text with or without changes.
import type { Again, Schema } from "../generated/answers";
import * as phrases from "../generated/phrases";
import type { Questions } from "../generated/vocabulary";
import type { FieldsOf } from "../kernel/answers";
import { upTo } from "../paint/format";
import { quotation } from "../paint/quotes";
import { baseOf, type Change, firstLayer } from "./changes";
import type { Fields } from "./chips";
import { type Pass, run } from "./forward";
import { pack, type Shaped } from "./pack";
import { type Pictures, picturesOf, rolesOf } from "./pictures";
import type { Encode, Encoded, Names, TokenizerFiles, Vocabulary } from "./tokenizer";
import type { Shape, Weights } from "./weights";

/** What a model answers: see bertlens/export/page_heads.py. */
export interface Answered {
  kind: "words" | "labels" | "tags" | "vectors" | ""; // "": nothing that is computed here
  why_not?: string; // of kind ""; "": it needs Python
  pooling: "first" | "mean" | "each"; // of the last states: what the head reads, or the vector
  unit: string;
  said: string; // beside the number
  chance: "softmax" | "sigmoid" | ""; // what makes numbers of logits
  one: boolean; // the numbers are one distribution
  names: string[]; // of classes
}

/** What a page carries of its model beside the weights. */
export interface Carried {
  shape: Shape;
  tokenizer: TokenizerFiles;
  vocabulary: Vocabulary;
  answer: Answered;
  digits: string; // how far this is from the model itself, in words
  decimals: [tokens: number, decimals: number][]; // of a weight in texts of up to so many tokens, the shortest first
  partial?: boolean; // of some pieces it has no vector
  header: Fields; // of the overview that the page opens on
  texts: Fields[]; // that the page carries: their trace, subject, text, text_pair
}

/** The model as it is loaded. */
export interface Engine {
  carried: Carried;
  weights: Weights;
  encode: Encode;
  names: Names;
}

export interface Run {
  texts: [string, string];
  encoded: Encoded;
  original: Pass; // the same text without changes
  pass: Pass;
  pictures: Pictures;
}

/** A run that a page shows. */
export interface Shown extends Run {
  id: string;
  subject: string;
}

/** What an answer leaves: fields and bytes; `show`: the page is to show this run, or the one of this name that it carries. */
export interface Answer<Op = string> {
  fields: FieldsOf<Op> | Again;
  data?: DataView;
  show?: { header: Fields; data: DataView; text: string; text_pair: string } | string;
}

/** Answers a question about a run; rejects with one sentence. */
export type Answering<Op extends keyof Questions> = (
  engine: Engine,
  shown: Shown,
  question: Questions[Op],
  signal: AbortSignal,
) => Answer<Op> | Promise<Answer<Op>>;

type ShapedOf<Arrays> = { [Name in keyof Arrays]: Shaped<Exclude<Arrays[Name], undefined>> };

export function answerOf<Op extends keyof Schema>(
  fields: FieldsOf<Op>,
  arrays: ShapedOf<Schema[Op]["arrays"]>,
): Answer<Op> {
  const { index, data } = pack(arrays as Record<string, Shaped>);
  return { fields: { ...fields, arrays: index }, data };
}

export const perHead = ({ shape }: Carried): [layers: number, heads: number] => [shape.layers, shape.heads];

/** Which layers a question is about: one, or all. */
export const layersOf = ({ shape }: Carried, layer?: number): number[] =>
  layer == null ? upTo(shape.layers) : [layer];

/** What belongs to a key of an object, made once and as long as the object is there. */
export function memo<K extends object, T>(store: WeakMap<K, Map<number, T>>, of: K, key: number, make: () => T): T {
  if (!store.has(of)) store.set(of, new Map());
  const values = store.get(of)!;
  if (!values.has(key)) values.set(key, make());
  return values.get(key)!;
}

/** Of a text with changes; `before`: another run of the same text; `begins` hears how many tokens it has. */
export async function runOf(
  { carried, weights, encode }: Engine,
  texts: [string, string],
  changes: Change[],
  before: Run | null,
  signal?: AbortSignal,
  begins: (tokens: number) => void = () => undefined,
): Promise<Run> {
  const { shape, vocabulary, header } = carried;
  const encoded = before?.encoded ?? encode(texts[0], texts[1] || undefined);
  const lacking = carried.partial ? encoded.ids.findIndex((id) => weights.words.isEmpty(id)) : -1;
  if (lacking >= 0) throw new Error(phrases.NOT_CARRIED({ piece: quotation(encoded.tokens[lacking]!) }));
  begins(encoded.ids.length);
  const roles = rolesOf(encoded, vocabulary.separator, texts[1] !== "");
  const { pictures, look } = picturesOf(weights.product, shape, encoded.ids.length, roles, header.stats as string[]);
  const pass = await run(weights, encoded, changes, signal, look);
  return { texts, encoded, original: before?.original ?? pass, pass, pictures };
}

/** A run with one more change; the layers before it are those of the run. `at`: see Start. */
export const onTop = (
  weights: Weights,
  encoded: Pick<Encoded, "ids" | "types">,
  pass: Pass,
  change: Change | Change[],
  signal?: AbortSignal,
  at?: number,
): Promise<Pass> => {
  const changes = [change].flat();
  const start = { pass, layer: Math.min(...changes.map(firstLayer)), at };
  return run(weights, encoded, [...pass.changes, ...changes], signal, undefined, start);
};

/** A run without a change, and with it. */
export interface RunPair {
  base: Pass;
  variant: Pass;
}

/** On top of the run shown, or of what that is without what covers the change. `at`: see Start, of the variant. */
export async function runsOf(
  { weights }: Engine,
  { encoded, pass }: Shown,
  change: Change,
  signal: AbortSignal,
  at?: number,
): Promise<RunPair> {
  const changes = baseOf(pass.changes, change);
  const isShown = changes.length === pass.changes.length;
  const base = isShown ? pass : await run(weights, encoded, changes, signal);
  return { base, variant: await onTop(weights, encoded, base, change, signal, at) };
}
