// What Python answers a view of a retrieval: bertlens/widgets/retrieval/.

export type Side = "query" | "wrong" | "right";
export type Sides<T> = Record<Side, T>;
export type Pair = [wrong: number, right: number];

/** Questions in columns, in the order of the list. */
export interface Questions {
  query: string[];
  text: string[];
  rank: (number | null)[]; // of the first right document; null: not in the list
  gap: (number | null)[]; // of failures
  failed: boolean[];
  kinds: number[][]; // places in `rules`
  depth: number; // of the lists
}

export type Row = Record<string, string | number | boolean | null>;

export interface Overview {
  model: string;
  versions: Record<string, string>;
  date: string;
  questions: Questions;
  passages: number;
  documents: number;
  notes: string[];
  rules: [name: string, label: string, rule: string][];
  said: string;
  kinds: Row[];
}

/** A text as it is written: each piece with its row of the split, −1 of what has none. */
export interface CaseText {
  pieces: [text: string, row: number][];
  names: string[];
  keys: string[]; // "" of what is no word
  parts: number[] | null; // of the difference of the scores
}

export type Arc = [row: number, at: number, part: number];

export interface Case {
  scores: Pair;
  said: string;
  why_not: string;
  crosses: boolean; // question and passage are read as one input
  notes: string[];
  texts: Sides<CaseText>;
  arcs: Partial<Record<"wrong" | "right", Arc[]>>;
  named: string; // the key of a word of the wrong passage
  gap?: number;
  passages: { passage: string; rank: number | null; relevant: boolean }[];
  wrong: string;
  right: string;
  judged: boolean;
}

/** How a question that was typed ranks the passages: the first ones. */
export interface Typed {
  rows: { passage: string; score: number; text: string }[];
  passages: number; // in all
  ms?: number;
  notes: string[];
}

export interface Without {
  before: Pair;
  after: Pair;
  turned: boolean;
  said: string;
}

export interface StripRow {
  name: string;
  key?: string; // of a word
  side?: Side;
  after: Pair;
  turned: boolean;
  said: string;
}

export interface Strip {
  before: Pair;
  rows: StripRow[];
  heads?: number; // of the model
}

export interface SheetTable<R = Row> {
  said: string;
  about: string;
  rows: R[];
}

export interface Tables {
  quality: SheetTable | null;
  before: SheetTable | null;
  slices: SheetTable | null;
  hubs: SheetTable;
}
