// State of the sentence and its answer, of this page alone: see front/front.tsx.
import { type Signal, signal } from "@preact/signals";
import type { HeadName } from "../generated/vocabulary";

/** Where a word stands. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Preview {
  layer: number;
  head: number;
  row: number; // the token that asks, -1: the one that asks now
}

/** A word that the reader hid: what stood there before. */
export interface Hidden {
  texts: string[]; // both
  word: string;
  pieces: string[]; // as the vocabulary has them
  letters: string[]; // of each
  at: number; // the first slot
}

/** By which texts are known again. */
export const textsName = (a: string, b: string) => JSON.stringify([a, b]);

let count = 0; // of views in the document

export interface FrontState {
  claimId: string; // of the sentence that says what is shown: words and slider are described by it
  factor: Signal<number | null>; // how loud the shown head is while its slider is dragged; null: as in the run shown
  partners: Signal<HeadName[]>; // heads that are as loud as the one shown: its slider is theirs too
  setSize: Signal<{ of: string; size: number }>; // how many heads were taken together, in a text
  word: Signal<number[] | null>; // tokens of the word under the pointer or the focus; null: of the one that is pinned
  boxes: Signal<(Box | null)[]>; // where the sentence's words stand, in its stage
  preview: Signal<Preview | null>; // a head whose chip is under the pointer or the focus
  sought: Signal<string>; // the long text whose heads that matter are looked for on request
  soughtOfAll: Signal<string>; // the text whose heads are all run on request
  toHide: Signal<number | null>; // the first token of a word that was chosen to be hidden, outside of the sentence
  hidden: Signal<Record<string, Hidden>>; // by the texts that have a slot in its place
  differs: Signal<ReadonlySet<number>>; // words, by their number, that the sentence beside this one has not
  secondText: Signal<boolean>; // a field for a second text of the same run is open, with nothing in it yet
  entering: Signal<boolean>; // a sentence that comes below is to have the keys
  curves: Signal<string[]>; // heads of long texts whose curves were asked for, by their keys
}

export const createFront = (): FrontState => ({
  claimId: `bl-claim-${++count}`,
  factor: signal(null),
  partners: signal([]),
  setSize: signal({ of: "", size: 0 }),
  word: signal(null),
  boxes: signal([]),
  preview: signal(null),
  sought: signal(""),
  soughtOfAll: signal(""),
  toHide: signal(null),
  hidden: signal({}),
  differs: signal(new Set()),
  secondText: signal(false),
  entering: signal(false),
  curves: signal([]),
});
