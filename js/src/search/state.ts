// What a view of a retrieval shows: the question that is open, what is taken out, what is rewritten, and Python's answers.
import type { AnyModel } from "@anywidget/types";
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { Answer } from "../kernel/answers";
import { ask } from "../kernel/kernel";
import { nameCase } from "../parts/cases/link";
import type { Case, Overview, Side, Sides, Tables } from "./answers";

const SLOW = 8000; // ms
const NO_ANSWER = "Python has not answered yet: wait until its cells have run, or run this one again.";
const HELD = 200; // answers

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

export type TabName = "questions" | "kinds" | "sizes" | keyof Tables;

export interface Search {
  overview: Overview;
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
  get<T>(op: string, fields?: Fields): Answer<T>;
  ask<T>(op: string, fields: Fields): Promise<T>; // anew each time
}

export const SearchContext = createContext<Search | null>(null);
export const useSearch = (): Search => useContext(SearchContext)!;

/** Asks each question once; answers of what was looked at longest ago go. */
export function answering(model: AnyModel, life: AbortSignal): Search["get"] {
  const answers = new Map<string, Signal<Answer<unknown>>>();
  return <T>(op: string, fields: Fields = {}): Answer<T> => {
    const name = JSON.stringify([op, fields]);
    let answer = answers.get(name);
    if (!answer) {
      const forget = () => {
        // nobody looks at a refusal any more: asked again the next time
        if (entry.peek().state === "refused") answers.delete(name);
      };
      const entry: Signal<Answer<unknown>> = signal<Answer<unknown>>({ state: "asking" }, { unwatched: forget });
      answer = entry;
      answers.set(name, entry);
      for (const key of [...answers.keys()].slice(0, -HELD)) answers.delete(key);
      const refuse = (reason: string) => {
        entry.value = { state: "refused", reason };
      };
      const late = setTimeout(() => {
        entry.value = { state: "asking", told: { said: NO_ANSWER } };
      }, SLOW);
      ask(model, op, fields, life)
        .then(
          ({ fields: value }) => {
            entry.value = { state: "answered", value };
          },
          (error: Error) => refuse(error.message),
        )
        .finally(() => clearTimeout(late));
    }
    return answer.value as Answer<T>;
  };
}

/** The case that is open, as questions name it. */
export function caseOf({ query, typed, passages, texts }: Search, rewritten = true): Fields {
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
  const latest = useRef<{ subject: string; value: T } | null>(null);
  if (answer.state === "answered") latest.current = { subject, value: answer.value };
  const standing = latest.current?.subject === subject ? latest.current.value : null;
  if (answer.state === "refused") return { value: standing, reason: answer.reason, waits: false };
  const reason = answer.state === "asking" ? String(answer.told?.said ?? "") : "";
  return { value: answer.state === "answered" ? answer.value : standing, reason, waits: answer.state === "asking" };
}

/** A text of a case as it is written. */
export const textOf = (of: Case, side: Side): string => of.texts[side].pieces.map(([text]) => text).join("");
