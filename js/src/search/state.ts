// What a view of a retrieval shows: the question that is open, what is taken out, what is rewritten, and Python's answers.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { Again, SearchCase, SearchOverview, SearchSchema, SheetTables } from "../generated/answers";
import type { SearchQuestions } from "../generated/vocabulary";
import type { Answer, Answers, Kind } from "../kernel/answers";
import type { Reply } from "../kernel/kernel";
import { nameCase } from "../parts/cases/link";
import type { Side, Sides } from "./shapes";

type AnswerOf<Op extends keyof SearchSchema> = Exclude<SearchSchema[Op]["fields"], Again>;
type Get = <Op extends keyof SearchSchema>(op: Op, fields: SearchQuestions[Op]) => Answer<AnswerOf<Op>>;

export type Fields = Record<string, unknown>;
export type Texts = Sides<string | null>; // null: the collection's

/** What is taken out of a case. */
export type Experiment =
  | { kind: "word"; side: Side; key: string; name: string; how: "hidden" | "deleted" }
  | { kind: "head"; name: string };

/** A word that the pointer or the keys are on. */
export interface Spot {
  side: Side;
  row: number;
}

export const OWN: Texts = { query: null, wrong: null, right: null };

export type TabName = "questions" | "kinds" | "sizes" | keyof SheetTables;

export interface Search {
  overview: SearchOverview;
  dark: boolean;
  address: Location | null; // of a page that is all ours
  kernel: ReadonlySignal<boolean>; // Python answers, or the model in the page: texts can be rewritten
  isLive: boolean; // there is one of the two, or there will be
  query: Signal<string>;
  typed: Signal<string | null>; // in place of the question; null: that is open
  passages: Signal<{ wrong: string | null; right: string | null }>; // null: those of the question
  texts: Signal<Texts>;
  experiment: Signal<Experiment | null>;
  spot: Signal<Spot | null>;
  announcement: Signal<string>;
  tab: Signal<TabName>;
  starts: Signal<Record<string, number>>; // work by its name: how often it was begun
  needs: ReadonlySignal<string>; // why nothing can be asked of the model
  late: ReadonlySignal<string>; // Python has been asked, and says nothing
  get: Get;
  ask<Op extends keyof SearchSchema>(op: Op, fields: SearchQuestions[Op]): Promise<Reply>; // anew each time
}

export const SearchContext = createContext<Search | null>(null);
export const useSearch = (): Search => useContext(SearchContext)!;

/** Asks each question once. */
export const answering =
  (answers: Answers): Get =>
  <Op extends keyof SearchSchema>(op: Op, fields: SearchQuestions[Op]) => {
    const kind: Kind<AnswerOf<Op>> = { op, spoken: true, read: (reply) => reply.fields as unknown as AnswerOf<Op> };
    return answers.get(kind, {}, fields);
  };

/** The case that is open, as questions name it. */
export function caseOf({ query, typed, passages, texts }: Search, rewritten = true): SearchQuestions["search_case"] {
  const { wrong, right } = passages.value;
  const versions = rewritten ? texts.value : OWN;
  if (typed.value !== null)
    return { query: null, wrong, right, texts: [versions.query ?? typed.value, versions.wrong, versions.right] };
  const isOwn = Object.values(versions).every((text) => text === null);
  return { query: query.value, wrong, right, texts: isOwn ? null : [versions.query, versions.wrong, versions.right] };
}

/** The question that is open, as it is asked. */
export const questionOf = ({ overview, query, typed }: Search): string =>
  typed.value ?? overview.questions.text[overview.questions.query.indexOf(query.value)] ?? "";

/** What a file of a case is called by. */
export const nameOfCase = ({ query, typed }: Search): string => (typed.value === null ? query.value : "typed");

/** Open a question: what was taken out or rewritten is of another one. `typed` is in no list. */
export function open(search: Search, query: string, typed: string | null = null): void {
  search.passages.value = { wrong: null, right: null };
  search.texts.value = OWN;
  search.experiment.value = null;
  search.spot.value = null;
  search.typed.value = typed;
  search.query.value = query;
  if (typed === null) nameCase(search.address, query);
}

/** The last answer stays while another one is on its way, unless it is of another subject. */
export function useLatest<T>(answer: Answer<T>, subject: string): { value: T | null; reason: string; waits: boolean } {
  const { late } = useSearch();
  const latest = useRef<{ subject: string; value: T } | null>(null);
  if (answer.state === "answered") latest.current = { subject, value: answer.value };
  const standing = latest.current?.subject === subject ? latest.current.value : null;
  if (answer.state === "refused") return { value: standing, reason: answer.reason, waits: false };
  const reason = answer.state === "asking" ? late.value : "";
  return { value: answer.state === "answered" ? answer.value : standing, reason, waits: answer.state === "asking" };
}

/** A text of a case as it is written. */
export const textOf = (of: SearchCase, side: Side): string => of.texts[side].pieces.map(([text]) => text).join("");
