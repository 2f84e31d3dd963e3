// What the Why tab is asked by its switches, how the reader came to the cell, and which picture is large.
import { type Signal, signal } from "@preact/signals";
import type { ScorePart as Part, ScoreSum, WhyFields, Cell as WhyPlace } from "../generated/answers";

export type { Part, ScoreSum as Sum, WhyPlace };

/** Whose stream is opened, what the score is against (a key's index), and whether MLPs are opened. */
export interface WhyChoice {
  side: "query" | "key" | "both";
  against: "others" | number | null;
  opened: boolean;
}

/** The answer to "why": see bertlens/widgets/answers/why.py. */
export type Split = Omit<WhyFields, "side" | "against"> &
  Record<"heads" | "mlps", Float32Array | null> & { side: "query" | "key"; against: "others" | number | null };

export interface WhyState {
  choice: Signal<WhyChoice>;
  trail: Signal<{ trace: string; places: WhyPlace[] }>; // the cells that led to the last one, for this text
  picture: Signal<number | null>; // of a score as a sum of them: the one shown large
}

export const createWhy = (): WhyState => ({
  choice: signal<WhyChoice>({ side: "query", against: "others", opened: false }),
  trail: signal({ trace: "", places: [] as WhyPlace[] }),
  picture: signal<number | null>(null),
});
