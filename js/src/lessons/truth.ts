// What a guess is held against: the truth in this view, and how the guess did.

import type { Unit } from "../compute/grid";
import { units } from "../compute/grid";
import * as phrases from "../generated/phrases";
import { TOLERANCE } from "../generated/vocabulary";
import { headLabel, share } from "../paint/format";
import { quotation } from "../paint/quotes";
import type { Step } from "../state/lesson";
import type { View } from "../state/view";
import { factsOf } from "./facts";
import { isSameWord, type NumberTree, numberOf } from "./verdict";

/** The truth in words, whether the guess was right, and what is to be said of a wrong one. */
export interface Outcome {
  truth: string;
  right: boolean;
  instead: string;
  head?: { layer: number; head: number }; // that is the answer
}

/** The words that can be looked at: without special tokens, unless they count. */
export const choicesIn = ({ overview }: View, step: Step): Unit[] =>
  units(overview.keyside, true).filter(({ special }) => !special || step.of === "argmax");

/** The guess beside the truth; a sentence where there is none. `guess` null: nobody guessed. */
export function outcomeOf(view: View, step: Step, guess: string | null): Outcome | string {
  if (step.predict === "key") return ofKey(view, step, guess);
  if (step.predict === "head") return ofHead(view, step, guess);
  const facts = factsOf(view);
  if (step.predict === "number") {
    const value = numberOf(step.tree?.[1] as NumberTree, facts);
    if (value === null) return `this text has no ${step.of}`;
    const gap = Math.abs(Number(guess) - value);
    return { truth: share(value, 2), right: gap <= (step.within ?? 0.1) + TOLERANCE, instead: `Your guess: ${guess}.` };
  }
  if (facts.answer === null) return phrases.NO_ANSWER;
  return {
    truth: quotation(facts.answer),
    right: isSameWord(facts.answer, guess ?? ""),
    instead: `Your guess: ${quotation(guess ?? "")}.`,
  };
}

function ofKey(view: View, step: Step, guess: string | null): Outcome | string {
  const { query, weight } = factsOf(view);
  if (query === null) return phrases.NO_QUERY;
  const choices = choicesIn(view, step);
  const strongest = ({ pieces }: Unit) => Math.max(...pieces.map((piece) => weight(query, piece)));
  const best = choices.reduce((most, one) => (strongest(one) > strongest(most) ? one : most));
  const guessed = choices.find(({ pieces }) => String(pieces[0]) === guess) ?? best;
  const [peak, got] = [strongest(best), strongest(guessed)];
  return {
    truth: `${quotation(best.label)}, ${share(peak, 2)}`,
    right: got >= peak - TOLERANCE,
    instead: `${quotation(guessed.label)} got ${share(got, 2)}.`,
  };
}

function ofHead({ overview }: View, step: Step, guess: string | null): Outcome | string {
  const { n_layers, n_heads } = overview;
  const name = step.tree?.[1] as string;
  const value = (n: number) => overview.statistic(Math.floor(n / n_heads), n % n_heads, name);
  const heads = Array.from({ length: n_layers * n_heads }, (_, n) => n).filter((n) => !Number.isNaN(value(n)));
  if (heads.length === 0) return phrases.NO_NUMBER({ name });
  const best = heads.reduce((most, n) => (value(n) > value(most) ? n : most));
  const label = (n: number) => headLabel(Math.floor(n / n_heads), n % n_heads);
  const guessed = heads.find((n) => label(n) === guess) ?? best;
  return {
    head: { layer: Math.floor(best / n_heads), head: best % n_heads },
    truth: `${label(best)}, ${share(value(best), 2)}`,
    right: value(guessed) >= value(best) - TOLERANCE,
    instead: `${label(guessed)} has ${share(value(guessed), 2)}.`,
  };
}
