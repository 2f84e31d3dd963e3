// What is said of examples and scores.

import * as phrases from "../../generated/phrases";
import { counted, number } from "../../paint/format";
import { isolate, visibleText } from "../../paint/quotes";
import {
  columnOf,
  type EffectOf,
  type ErrorNote,
  type Examples,
  isWrong,
  type Metric,
  type PartEffect,
  rowAt,
  type Task,
  valueAt,
} from "./examples";

const DIGITS = 3;

/** What came of an example, in a sentence or two. */
export function exampleWords(examples: Examples, n: number): string {
  const [label, guess] = ["label", "guess"].map((name) => columnOf(examples, name));
  const of = (name: string) => {
    const column = columnOf(examples, name);
    return column?.kind === "number" ? Number(valueAt(column, n)) : null;
  };
  const name = `Example ${counted(rowAt(examples, n))}`;
  if (!label || !guess) return `${name}.`;
  const [labelWord, guessWord] = [label, guess].map((column) => isolate(visibleText(String(valueAt(column, n)))));
  const [chance, loss] = [of("probability"), of("loss")];
  const sure = chance === null ? "" : ` with probability ${number(chance, DIGITS)}`;
  const lost = loss === null ? "" : ` Its loss is ${number(loss)} nats.`;
  const [earlier, change] = ["before", "change"].map((name) => {
    const column = columnOf(examples, name);
    return column && isolate(visibleText(String(valueAt(column, n))));
  });
  const changed = earlier === undefined ? "" : ` The model before guessed ${earlier}: ${change}.`;
  return isWrong(examples, n)
    ? `${name} is ${labelWord}, and was guessed to be ${guessWord}${sure}.${lost}${changed}`
    : `${name} is ${labelWord}, and was guessed so${sure}.${lost}${changed}`;
}

/** The interval of a number, or why there is none. */
export const betweenWords = ({ low, high, note }: Metric): string =>
  low === null || high === null ? note : `${number(low, DIGITS)} to ${number(high, DIGITS)}`;

/** The first score of all examples. */
export function firstScore({ metrics }: Task): string {
  const score = metrics.find(({ label }) => !label) ?? metrics[0];
  if (!score) return "";
  const between = score.low === null ? "" : ` (95 %: ${betweenWords(score)})`;
  return `${score.measure} ${number(score.value, DIGITS)}${between}`;
}

/** How many are listed, of how many; and what a saved page leaves out. */
export function countWords(count: number, examples: Examples, task: Task): string {
  const of = count === examples.n ? "" : `${counted(count)} of `;
  if (examples.n === task.examples) return `${of}${counted(examples.n)} examples`;
  const order = columnOf(examples, "loss") ? phrases.LARGEST_LOSS : "that come first";
  return `${of}the ${counted(examples.n)} ${order}, of ${counted(task.examples)} examples`;
}

export const DIGITS_OF_EFFECTS = 4;

/** What an effect is of. */
export const unitOf = (measure: EffectOf) =>
  measure === "loss" ? "loss gained without it, nats" : "accuracy lost without it";

/** What a part matters. */
export function partWords({ part, effect, low, high, p_holm, estimate }: PartEffect, measure: EffectOf): string {
  const digits = DIGITS_OF_EFFECTS;
  const estimated = `estimate ${number(estimate, digits)} nats`;
  if (effect === null) return `${part}: not switched off; ${estimated}`;
  const between = `95 %: ${number(low, digits)} to ${number(high, digits)}`;
  const chance = p_holm !== null && p_holm < 0.001 ? "p < .001" : `p = ${number(p_holm, DIGITS)}`;
  return `${part}: ${unitOf(measure)}, ${number(effect, digits)} (${between}; ${chance}, Holm); ${estimated}`;
}

/** What an answer rests on, and whether that is faithful. */
export function explainedWords({ words, comprehensiveness, random, beats }: ErrorNote): string {
  if (!words && comprehensiveness === null) return "What its answer rests on could not be told.";
  if (!words) return "Without any one of its words the guess is no less ahead.";
  const named = words.replace(/(^|, )(.*?)(?= \()/gu, (_, comma: string, word: string) => comma + isolate(word));
  const rests = `Its answer rests on ${named}: what the guess is ahead by, in logits, without each.`;
  if (comprehensiveness === null) return rests;
  return `${rests} Without the words ranked first it loses ${number(comprehensiveness)}, without as many at random ${number(random)}; ${beats} of 20 random orders ${beats === 1 ? "does" : "do"} worse.`;
}
