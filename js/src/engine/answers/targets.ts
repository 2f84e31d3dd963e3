// The answer that is asked about in place of the model's first: a label, or a word at a mask. As bertlens/whatif/targets.py.

import * as phrases from "../../generated/phrases";
import { isolate, quotation } from "../../paint/quotes";
import { NEEDS_PYTHON } from "../chips";
import type { Answering, Engine, Run } from "../runs";
import { logitsAt, numbersOf, placesOf, WHOLE } from "./output";

/** An answer by its name and its number, in the vocabulary or among the classes; where, WHOLE of the whole text. */
export interface Target {
  name: string;
  number: number;
  position: number;
}

/** As the tokenizer writes the word, as the model's config writes the class. */
export const nameOf = ({ carried, names }: Engine, number: number): string =>
  carried.answer.kind === "words" ? names.nameOf(number) : carried.answer.names[number]!;

/** `at`: -1 is the first mask, of a classifier of tokens the token that has the class most. */
export function targetOf(engine: Engine, shown: Run, name: string, at = -1): Target {
  const { kind, names } = engine.carried.answer;
  if (kind === "words") {
    const places = placesOf(engine, shown);
    if (at >= 0 && !places.includes(at))
      throw new Error(phrases.NOT_MASKED({ position: at, places: places.join(", ") }));
    const number = engine.names.idOf(name);
    if (number === undefined) throw new Error(phrases.NO_SINGLE_TOKEN({ name: isolate(`'${name}'`) }));
    return { name, number, position: at < 0 ? places[0]! : at };
  }
  if (kind !== "labels" && kind !== "tags") throw new Error(NEEDS_PYTHON);
  const number = names.indexOf(name);
  if (number < 0)
    throw new Error(
      phrases.NO_SUCH_LABEL({
        name: isolate(`'${name.slice(0, 40)}'`),
        labels: names.slice(0, 20).map(isolate).join(", "),
      }),
    );
  if (kind === "labels") return { name, number, position: WHOLE };
  if (at >= 0) return { name, number, position: at };
  const score = (place: number) => numbersOf(engine, logitsAt(engine, shown.original, place))[number]!;
  const position = placesOf(engine, shown).reduce((a, b) => (score(b) > score(a) ? b : a));
  return { name, number, position };
}

/** The name of the answer that somebody typed: a word as the tokenizer writes it, a label in either case. */
export const findTarget: Answering<"find_target"> = ({ carried, names }, _, question) => {
  const text = question.text.trim().slice(0, 100);
  const { kind, names: labels } = carried.answer;
  if (kind === "words") {
    const pieces = text ? names.pieces(` ${text}`) : [];
    if (pieces.length === 1 && names.isKnown(pieces[0]!)) return { fields: { name: pieces[0] } };
    if (names.isKnown(text)) return { fields: { name: text } };
    const several = { count: pieces.length, pieces: isolate(pieces.slice(0, 6).join(" ")) };
    const why = pieces.length > 1 ? phrases.SEVERAL_TOKENS(several) : phrases.NO_TOKEN;
    throw new Error(phrases.NO_WORD({ text: quotation(text.slice(0, 40)), why }));
  }
  if (kind !== "labels" && kind !== "tags") throw new Error(NEEDS_PYTHON);
  const name = labels.find((one) => one === text) ?? labels.find((one) => one.toLowerCase() === text.toLowerCase());
  if (name !== undefined) return { fields: { name } };
  throw new Error(
    phrases.NO_LABEL({ text: quotation(text.slice(0, 40)) }) +
      phrases.NEAR({ names: labels.slice(0, 4).map(isolate).join(", ") }),
  );
};
