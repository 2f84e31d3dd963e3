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

/** One part of a score; layer and head where there is one, token where an earlier head fetched most of it. */
export interface Part {
  kind: string;
  layer: number | null;
  head: number | null;
  value: number;
  token: number | null;
  fetched: number | null;
}

export interface Sum extends WhyPlace {
  total: number;
  model: number;
  gap: number;
  notes: string[];
}

/** The answer to "why": see bertlens/widgets/answers/why.py. */
export interface Split extends Sum {
  side: "query" | "key";
  against: "others" | number | null;
  through_mlps: boolean;
  weight: number;
  other_weight: number | null;
  seen: number;
  ratio: number | null;
  spread: number | null;
  absolute: number;
  kinds: [kind: string, value: number][];
  largest: Part[];
  others: { count: number; value: number };
  heads: Float32Array | null; // (layer·H)
  mlps: Float32Array | null; // (layer); null also where they are opened
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
