// What is said of examples and scores.
import * as phrases from "../../generated/phrases";
import { counted, number } from "../../paint/format";
import { visibleText } from "../../parts/token";
import {
  columnOf,
  type Examples,
  type Explained,
  type HeadsFound,
  isWrong,
  type Metric,
  type Part,
  rowAt,
  type Told,
  valueAt,
} from "./data";

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
  const [is, said] = [label, guess].map((column) => visibleText(String(valueAt(column, n))));
  const [chance, loss] = [of("probability"), of("loss")];
  const sure = chance === null ? "" : ` with probability ${number(chance, DIGITS)}`;
  const lost = loss === null ? "" : ` Its loss is ${number(loss)} nats.`;
  const [before, change] = ["before", "change"].map((name) => {
    const column = columnOf(examples, name);
    return column && visibleText(String(valueAt(column, n)));
  });
  const changed = before === undefined ? "" : ` The model before guessed ${before}: ${change}.`;
  return isWrong(examples, n)
    ? `${name} is ${is}, and was guessed to be ${said}${sure}.${lost}${changed}`
    : `${name} is ${is}, and was guessed so${sure}.${lost}${changed}`;
}

/** The interval of a number, or why there is none. */
export const betweenWords = ({ low, high, note }: Metric): string =>
  low === null || high === null ? note : `${number(low, DIGITS)} to ${number(high, DIGITS)}`;

/** The first score of all examples. */
export function firstScore({ metrics }: Told): string {
  const first = metrics.find(({ label }) => !label) ?? metrics[0];
  if (!first) return "";
  const between = first.low === null ? "" : ` (95 %: ${betweenWords(first)})`;
  return `${first.measure} ${number(first.value, DIGITS)}${between}`;
}

/** How many are listed, of how many; and what a saved page leaves out. */
export function countWords(shown: number, examples: Examples, told: Told): string {
  const of = shown === examples.n ? "" : `${counted(shown)} of `;
  if (examples.n === told.examples) return `${of}${counted(examples.n)} examples`;
  const chosen = columnOf(examples, "loss") ? phrases.LARGEST_LOSS : "that come first";
  return `${of}the ${counted(examples.n)} ${chosen}, of ${counted(told.examples)} examples`;
}

export const DIGITS_OF_EFFECTS = 4;

/** What an effect is of. */
export const unitOf = (measure: HeadsFound["measure"]) =>
  measure === "loss" ? "loss gained without it, nats" : "accuracy lost without it";

/** What a part matters. */
export function partWords({ part, effect, low, high, p_holm, estimate }: Part, measure: HeadsFound["measure"]): string {
  const digits = DIGITS_OF_EFFECTS;
  const estimated = `estimate ${number(estimate, digits)} nats`;
  if (effect === null) return `${part}: not switched off; ${estimated}`;
  const between = `95 %: ${number(low, digits)} to ${number(high, digits)}`;
  const chance = p_holm !== null && p_holm < 0.001 ? "p < .001" : `p = ${number(p_holm, DIGITS)}`;
  return `${part}: ${unitOf(measure)}, ${number(effect, digits)} (${between}; ${chance}, Holm); ${estimated}`;
}

/** What an answer rests on, and whether that is faithful. */
export function explainedWords({ words, comprehensiveness, random, beats }: Explained): string {
  if (!words && comprehensiveness === null) return "What its answer rests on could not be told.";
  if (!words) return "Without any one of its words the guess is no less ahead.";
  const rests = `Its answer rests on ${words}: what the guess is ahead by, in logits, without each.`;
  if (comprehensiveness === null) return rests;
  return `${rests} Without the words ranked first it loses ${number(comprehensiveness)}, without as many at random ${number(random)}; ${beats} of 20 random orders do worse.`;
}
