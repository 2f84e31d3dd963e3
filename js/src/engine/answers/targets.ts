// The answer that is asked about in place of the model's first: a label, or a word at a mask. As bertlens/whatif/targets.py.

import * as phrases from "../../generated/phrases";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { isolate, quotation } from "../../paint/quotes";
import type { Answering, Engine, Run } from "../runs";
import { logitsAt, numbersOf, placesOf, WHOLE } from "./output";

/** An answer by its name and its number, in the vocabulary or among the classes; where, WHOLE of the whole text. */
export interface Target {
  name: string;
  number: number;
  position: number;
}

/** A word as it is shown at a place, a class as the model's config writes it. */
export const nameOf = (engine: Engine, shown: Run, number: number, place: number): string =>
  engine.carried.answer.kind === "words"
    ? engine.names.nameOf(number, isAfterBlank(engine, shown, place))
    : engine.carried.answer.names[number]!;

/** Whether white space stands before a mask, in the text as it was given. */
function isAfterBlank({ carried, names }: Engine, { encoded, texts }: Run, place: number): boolean {
  const { ids, segments } = encoded;
  const masks = ids.flatMap((id, at) => (id === ids[place] && segments[at] === segments[place] ? [at] : []));
  const before = texts[segments[place] as 0 | 1].split(carried.vocabulary.mask);
  const n = masks.indexOf(place);
  if (n === 0 && before[0] === "") return names.startsBlank;
  return n < before.length ? /\p{White_Space}$/u.test(before[n]!) : true;
}

/** `at`: -1 is the first mask, of a classifier of tokens the token that has the class most. */
export function targetOf(engine: Engine, shown: Run, name: string, at = -1): Target {
  const { kind, names } = engine.carried.answer;
  if (kind === "words") {
    const places = placesOf(engine, shown);
    if (at >= 0 && !places.includes(at))
      throw new Error(phrases.NOT_MASKED({ position: at, places: places.join(", ") }));
    const position = at < 0 ? places[0]! : at;
    const number = engine.names.numberOf(name, isAfterBlank(engine, shown, position));
    if (number === undefined) throw new Error(phrases.NO_SINGLE_TOKEN({ name: isolate(`'${name}'`) }));
    return { name: nameOf(engine, shown, number, position), number, position };
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

/** The name of the answer that somebody typed: a word as it is shown at the first mask, a label in either case. */
export const findTarget: Answering<"find_target"> = (engine, shown, question) => {
  const { carried, names } = engine;
  const text = question.text.trim().slice(0, 100);
  const { kind, names: labels } = carried.answer;
  if (kind === "words") {
    const place = placesOf(engine, shown)[0]!;
    const pieces = text ? names.pieces(` ${text}`) : [];
    const piece = pieces.length === 1 ? names.idOf(pieces[0]!) : undefined;
    const number =
      names.numberOf(text, isAfterBlank(engine, shown, place)) ??
      (piece === carried.vocabulary.unknown ? undefined : piece);
    if (number !== undefined) return { fields: { name: nameOf(engine, shown, number, place) } };
    const several = { count: pieces.length, pieces: isolate(pieces.slice(0, 6).map(names.shown).join(" ")) };
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
