// How surely the model finds each word again where it is hidden: as bertlens/whatif/cloze.py.
import * as phrases from "../../generated/phrases";
import { LIMITS } from "../../generated/vocabulary";
import { type Pass, run } from "../forward";
import type { Answering } from "../runs";
import { best, headInput, logitsFrom, softmax, TOGETHER } from "./output";

const PATIENCE = 100; // ms that a question may take before the others have their turn
const LETTER = /[\p{L}\p{N}]/u;

type Word = [pieces: number[], probability: number, guess: string, guessProbability: number];

/** Of a run: words that were hidden, what the model's head is yet to read of them, those that have their numbers. */
interface Progress {
  tried: number;
  inputs: Float32Array[]; // of each piece
  answers: Word[];
}
const progressOf = new WeakMap<Pass, Progress>();

export const cloze: Answering<"cloze"> = async (engine, shown, _question, signal) => {
  const { carried, weights, names } = engine;
  const { encoded, pass } = shown;
  const { answer, header, vocabulary } = carried;
  const refused = (why_not: string) => ({ fields: { words: [], why_not } });
  const model = String(header.model);
  if (answer.kind !== "words") return refused(phrases.NO_WORDS({ model }));
  const mask = vocabulary.mask ? names.idOf(vocabulary.mask) : undefined;
  if (mask === undefined) return refused(phrases.NO_MASK_TOKEN({ model }));
  const words: number[][] = [];
  for (const [at, word] of encoded.words.entries()) {
    if (word < 0) continue;
    if (word === encoded.words[at - 1]) words.at(-1)!.push(at);
    else words.push([at]);
  }
  const unnamed: (number | null)[] = [mask, vocabulary.unknown];
  const list = words.filter(
    (pieces) =>
      pieces.some((at) => LETTER.test(encoded.tokens[at]!)) &&
      pieces.every((at) => !unnamed.includes(encoded.ids[at]!)),
  );
  if (list.length === 0) return refused(phrases.NO_WORD_TO_HIDE);
  if (encoded.ids.length > LIMITS.typed) return refused(phrases.WORDS_LONG({ words: list.length }));
  const progress = progressOf.get(pass) ?? { tried: 0, inputs: [], answers: [] };
  progressOf.set(pass, progress);
  const { answers, inputs } = progress;
  const flush = () => {
    const chances = logitsFrom(engine, inputs.splice(0)).map(softmax);
    for (const pieces of list.slice(answers.length, progress.tried)) {
      const pieceChances = chances.splice(0, pieces.length);
      const [guess] = best(pieceChances[0]!, 1) as [number];
      const name = names.nameOf(guess, names.isAfterBlank(encoded.pieces[pieces[0]!]!));
      answers.push([
        pieces,
        pieces.reduce((all, at, n) => all * pieceChances[n]![encoded.ids[at]!]!, 1),
        name,
        pieceChances[0]![guess]!,
      ]);
    }
  };
  const begin = performance.now();
  while (progress.tried < list.length && performance.now() - begin < PATIENCE) {
    const pieces = list[progress.tried]!;
    const ids = encoded.ids.map((id, at) => (pieces.includes(at) ? mask : id));
    const hidden = await run(weights, { ids, types: encoded.types }, pass.changes, signal);
    progress.tried++;
    inputs.push(...pieces.map((at) => headInput(engine, hidden, at)));
    if (inputs.length >= TOGETHER || progress.tried === list.length) flush();
  }
  if (progress.tried < list.length) return { fields: { again: true, done: progress.tried / list.length } };
  return { fields: { words: answers, why_not: "" } };
};
