// What was asked of changes on this page: which changes are on their way, how the atlas shows what they do.
import { type Signal, signal } from "@preact/signals";
import type { CellMatters as Matter, MatterRow, ScorePart as Part } from "../generated/answers";
import type { Split } from "./whystate";

/** A change as it is asked for: its number, where it is known, or what is done and to which part. */
export type Asked = number | (string | number | null)[];

/** Something that can be done to the run: in words, and as it is asked for. */
export interface Doing {
  label: string;
  asked: Asked[];
  key?: string; // that does it too
}

/** A part of a score that was switched off to see whether the split was right. */
export interface Tried {
  subject: string;
  split: Split; // of the model's own run
  part: Part; // of it
  after: number | null; // the score without it, once that run was seen
}

export type { Matter, MatterRow };

/** An answer, one of whose changes was made; the changes that were there before. */
export interface MadeOf {
  subject: string;
  changes: number[];
  matter: Matter;
}

export interface WhatIfState {
  menu: Signal<{ x: number; y: number; doings: Doing[] } | null>; // at the pointer
  pending: Signal<number[] | null>; // changes that history asked for, until they are there
  colour: Signal<"" | "moved" | "matters">; // of the atlas
  metric: Signal<string>; // what heads are swept for, "" is the first
  past: Signal<{ subject: string; lists: number[][] }>; // the changes before each step
  patching: Signal<boolean>; // something from another text is being asked for
  tried: Signal<Tried[]>;
  madeOf: Signal<MadeOf | null>;
  words: Signal<{ open: boolean; method: string; run: string }>; // which words the answer rests on: method, long text that is run
  turn: Promise<unknown>; // of the request that is made next: when the last one is done
}

export const createWhatIf = (): WhatIfState => ({
  pending: signal<number[] | null>(null),
  colour: signal<"" | "moved" | "matters">("moved"),
  metric: signal(""),
  past: signal({ subject: "", lists: [] as number[][] }),
  patching: signal(false),
  tried: signal([]),
  madeOf: signal(null),
  words: signal({ open: false, method: "occlusion", run: "" }),
  menu: signal(null),
  turn: Promise.resolve(),
});
