// How surely a masked model finds each word of a text again: asked where nothing is hidden, for no answer is there.
import type { Answer, Kind } from "../kernel/answers";
import type { View } from "./view";

/** A word, hidden in a run of its own: see bertlens/whatif/cloze.py. */
export interface ClozeWord {
  pieces: number[];
  probability: number; // of the word, where it is hidden
  guess: string; // the likeliest there
  guessProbability: number;
}

interface Cloze {
  words: ClozeWord[];
  why_not: string;
}

const CLOZE: Kind<Cloze, "cloze"> = {
  op: "cloze",
  read: ({ fields: { words, why_not } }) => ({
    words: words.map(([pieces, probability, guess, guessProbability]) => ({
      ...{ pieces, probability, guess, guessProbability },
    })),
    why_not,
  }),
};

/** Whether the model names hidden words, and none of this text is hidden or otherwise changed. */
export const isPlain = ({ overview: { mask, changes, queries } }: View): boolean =>
  Boolean(mask) && changes.length === 0 && !queries.tokens.includes(mask!);

/** Null where a word is hidden, or the model names none. */
export const clozeOf = (view: View): Answer<Cloze> | null =>
  isPlain(view) ? view.answers.get(CLOZE, view.overview, {}) : null;
