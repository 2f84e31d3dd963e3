// A lesson beside a view: its steps as the kernel sent them, which one is shown, and what was done in them.
import { type Signal, signal } from "@preact/signals";
import type { Traits } from "../generated/vocabulary";
import type { Synced } from "../kernel/synced";

/** A step: see bertlens/lessons/lesson.py. What is not named is as there. */
export interface Step {
  title: string;
  text: string;
  act?: "predict" | "find" | "change" | "write"; // none: read
  state?: Record<string, unknown>;
  predict?: "key" | "head" | "number" | "word";
  of?: string;
  within?: number;
  check?: string;
  tree?: [name: string, ...parts: unknown[]]; // of the check, or ["number", …] of what is predicted
  model?: string;
  after?: string;
  hints?: string[];
  show?: Record<string, unknown>;
  table?: Table;
  notes?: string; // for the teacher; a saved page has none
}

export interface Table {
  columns: string[];
  rows: string[][]; // each as long as columns
}

export interface Lesson {
  title: string;
  lang: string;
  model: string;
  embedded?: boolean; // a kernel can run it
  steps: Step[];
}

export type Done = Traits["lesson_done"][number];

export interface LessonState {
  at: Signal<number>; // the step shown
  busy: Signal<boolean>; // its state is on the way
  refused: Signal<string>; // why its state cannot be shown
  entered: Signal<string | null>; // what was selected when it began, null before that is shown
  hints: Signal<number[]>; // seen, of each step
  turn: number; // of the way that was asked for last
}

export const createLessonState = (): LessonState => ({
  at: signal(0),
  busy: signal(false),
  refused: signal(""),
  entered: signal(null),
  hints: signal([]),
  turn: 0,
});

/** The lesson beside a view, null where there is none. */
export function lessonOf({ lesson }: Pick<Synced, "lesson">): Lesson | null {
  const trait = lesson.value as Partial<Lesson> | undefined;
  return trait?.steps?.length ? (trait as Lesson) : null;
}

const isOfAnswer = (tree: unknown): boolean =>
  Array.isArray(tree) && (["answer", "changed"].includes(tree[0]) || tree.slice(1).some(isOfAnswer));

const asksAnswer = ({ act, predict, tree }: Step): boolean =>
  act === "change" || predict === "word" || isOfAnswer(tree);

/** Whether the model's answer belongs beside a step: it asks about it, or nothing is to be found in it and the text has
 * an answer that other steps ask about. */
export const isAboutAnswer = ({ steps }: Lesson, n: number, hasAnswer: boolean): boolean => {
  const step = steps[n];
  if (!step || asksAnswer(step)) return true;
  return (!step.act || step.act === "write") && hasAnswer && steps.some(asksAnswer);
};

export const doneIn = ({ lesson_done }: Pick<Synced, "lesson_done">, step: number): Done | undefined =>
  (lesson_done.value ?? []).find((one) => one.step === step + 1);
