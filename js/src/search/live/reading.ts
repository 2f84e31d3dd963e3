// A text as the model in a page reads it: cut to what it reads, its words, and what each puts into its vector.
import type { Change } from "../../engine/changes";
import { run } from "../../engine/forward";
import type { Answered } from "../../engine/runs";
import type { createReader, Encoded, TokenizerFiles, Vocabulary } from "../../engine/tokenizer";
import type { Shape, Weights } from "../../engine/weights";
import { upTo } from "../../paint/format";
import { type Span, spansOf } from "./spans";

/** What a page carries of its model, and of how texts of a retrieval are read. */
export interface Model {
  shape: Shape;
  tokenizer: TokenizerFiles;
  vocabulary: Vocabulary;
  answer: Answered;
  search: { limit: number; side: string; prompts: { query: string; document: string } };
}

export interface Engine {
  model: Model;
  weights: Weights;
  encode: ReturnType<typeof createReader>["encode"];
}

export type Task = "query" | "document";

/** Rows: the words of a text, and each token of its template or prompt. */
export interface Reading {
  text: string;
  prompt: string;
  input: Pick<Encoded, "ids" | "types">;
  isCut: boolean;
  unknown: number; // tokens without an entry in the vocabulary
  names: string[];
  keys: string[]; // "" of what is no word of the text
  units: number[][]; // the tokens of each row
  vector: Float64Array;
  sums: Float64Array[] | null; // of each row, which sum to the vector; null where it is that of one token
  pieces: [text: string, row: number][];
  words: { key: string; span: Span }[]; // of all of the text, where they are found in it
}

const BLANK = "␣";

const CHEROKEE = /\p{Script=Cherokee}/u; // which is folded to its capitals

/** A letter, case folded as Unicode does: ſ is s, ﬁ is fi, ß and ẞ are ss; but ı is no i. */
const folded = (letter: string): string =>
  letter === "ı"
    ? letter
    : CHEROKEE.test(letter)
      ? letter.toUpperCase()
      : letter.toLowerCase().toUpperCase().toLowerCase().replaceAll("ς", "σ");

/** What two occurrences of a word have in common; "" of a mark: `key_of` of bertlens/search/text_words.py. */
export const keyOf = (name: string): string =>
  /[\p{L}\p{N}]/u.test(name)
    ? [...name]
        .map(folded)
        .join("")
        .replace(/^[▁Ġ␣ ]+|[▁Ġ␣ ]+$/g, "")
    : "";

/** The tokens of each word, of a template's each by itself. */
function grouped(words: number[]): number[][] {
  const units: number[][] = [];
  words.forEach((word, at) => {
    if (word >= 0 && words[at - 1] === word) units.at(-1)!.push(at);
    else units.push([at]);
  });
  return units;
}

/** The tokens that a model reads of a text that is too long, by place: its template, and one end of the text. */
function readOf({ special }: Encoded, limit: number, side: string): number[] {
  const places = upTo(special.length);
  const text = places.filter((at) => !special[at]);
  const dropped = special.length - limit;
  if (dropped <= 0) return places;
  const out = new Set(side === "left" ? text.slice(0, dropped) : text.slice(-dropped));
  return places.filter((at) => !out.has(at));
}

/** The mean of the tokens' vectors, or the first one; without some tokens. */
async function vectorOf(engine: Engine, input: Reading["input"], hidden: number[]) {
  const changes: Change[] = hidden.map((token) => ({ kind: "hide", token }));
  const pass = await run(engine.weights, input, changes);
  const [states, width] = [pass.stream.at(-1)!, engine.weights.shape.width];
  const row = (at: number) => Float64Array.from(states.subarray(at * width, (at + 1) * width));
  const rows = upTo(pass.tokens).flatMap((at) => (hidden.includes(at) ? [] : [row(at)]));
  if (engine.model.answer.pooling === "first") return { vector: rows[0]!, sums: null };
  for (const state of rows) for (let n = 0; n < width; n++) state[n]! /= rows.length;
  return { vector: sumOf(rows, width), sums: rows };
}

export function sumOf(rows: Float64Array[], width: number): Float64Array {
  const sum = new Float64Array(width);
  for (const row of rows) for (let n = 0; n < width; n++) sum[n]! += row[n]!;
  return sum;
}

/** The last word of a prompt, −1 without one. A blank at its end may be a piece: that is of the text's first word. */
export const promptEnd = (encode: (text: string) => { words: number[] }, prompt: string): number =>
  prompt ? Math.max(-1, ...encode(prompt.trimEnd()).words) : -1;

export async function read(engine: Engine, text: string, task: Task): Promise<Reading> {
  const { tokenizer, vocabulary, search } = engine.model;
  const prompt = search.prompts[task];
  const encoded = engine.encode(prompt + text);
  const ofPrompt = promptEnd(engine.encode, prompt);
  const continuation = tokenizer.spelling[2];
  const nameOf = (unit: number[]) => {
    const name = unit
      .map((at, n) =>
        n && continuation && encoded.tokens[at]!.startsWith(continuation)
          ? encoded.tokens[at]!.slice(continuation.length) || encoded.tokens[at]!
          : encoded.tokens[at]!,
      )
      .join("");
    return name.startsWith(BLANK) ? name.slice(BLANK.length) || name : name;
  };
  const places = readOf(encoded, search.limit, search.side);
  const words = places.map((at) => encoded.words[at]!);
  const input = { ids: places.map((at) => encoded.ids[at]!), types: places.map((at) => encoded.types[at]!) };
  const units = grouped(words);
  const names = units.map((unit) => nameOf(unit.map((at) => places[at]!)));
  const keys = units.map(([at], row) => (words[at!]! > ofPrompt ? keyOf(names[row]!) : ""));
  const { vector, sums } = await vectorOf(engine, input, []);
  const textUnits = grouped(encoded.words).filter(([at]) => encoded.words[at!]! > ofPrompt);
  const unitNames = textUnits.map(nameOf);
  const spans = spansOf(text, unitNames);
  const spanOf = new Map(textUnits.map(([at], n) => [encoded.words[at!]!, spans[n]!]));
  return {
    ...{ text, prompt, input, names, keys, units, vector },
    isCut: places.length < encoded.ids.length,
    unknown: input.ids.filter((id, at) => id === vocabulary.unknown && words[at]! >= 0).length,
    sums:
      sums &&
      units.map((unit) =>
        sumOf(
          unit.map((at) => sums[at]!),
          vector.length,
        ),
      ),
    pieces: piecesOf(
      text,
      keys,
      units.map(([at]) => spanOf.get(words[at!]!) ?? null),
    ),
    words: unitNames.flatMap((name, n) => (spans[n] && keyOf(name) ? [{ key: keyOf(name), span: spans[n] }] : [])),
  };
}

/** A text in pieces, each with its row, −1 of what has none: `pieces_of` of bertlens/search/view/case_texts.py. */
function piecesOf(text: string, keys: string[], spans: (Span | null)[]): Reading["pieces"] {
  const [top, bottom] = [keys.findIndex(Boolean), keys.findLastIndex(Boolean)];
  const pieces: Reading["pieces"] = [];
  let end = 0;
  spans.forEach((span, row) => {
    if (!span || row < top || row > bottom || span.start < end) return;
    if (span.start > end) pieces.push([text.slice(end, span.start), -1]);
    pieces.push([text.slice(span.start, span.end), row]);
    end = span.end;
  });
  if (end < text.length) pieces.push([text.slice(end), -1]);
  return pieces;
}

/** The vector with each of some tokens seen by no head and left out of the pooling. */
export const hiddenVector = async (engine: Engine, { input }: Reading, tokens: number[]): Promise<Float64Array> =>
  (await vectorOf(engine, input, tokens)).vector;

/** The tokens of a word, wherever it stands. */
export const tokensOf = ({ keys, units }: Reading, key: string): number[] =>
  units.flatMap((unit, row) => (keys[row] === key ? unit : []));

/** The text without each occurrence of a word, blanks put together. */
export function deletedFrom({ text, words }: Reading, key: string): string {
  let [shorter, end] = ["", 0];
  for (const { key: other, span } of words) {
    if (other !== key) continue;
    shorter += text.slice(end, span.start);
    end = span.end;
  }
  return (shorter + text.slice(end)).split(/\s+/).filter(Boolean).join(" ");
}
