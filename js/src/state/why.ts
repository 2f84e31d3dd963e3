// What the Why tab is asked by its switches, how the reader came to the cell, and which picture is large.
import { type Signal, signal } from "@preact/signals";

/** One cell of one head. */
export interface WhyPlace {
  layer: number;
  head: number;
  query: number;
  key: number;
}

/** Whose stream is opened, what the score is against (a key's index), and whether MLPs are opened. */
export interface WhyChoice {
  side: "query" | "key" | "both";
  against: "others" | number | null;
  opened: boolean;
}

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
