// What the front asks of the run shown: the answer at nine strengths of a head, the heads that matter most, what a vector
// rests on; and the numbers between the nine.
import { type ComponentChildren, createContext, createElement } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { isSure } from "../compute/logodds";
import { type HeadName, LIMITS } from "../generated/vocabulary";
import { type Answer, type AnswerTo, fieldsAndArrays, type Kind } from "../kernel/answers";
import { type AnswerRow, type Answers, answersOf, answersWith, targetOf } from "./effects";
import { textsName } from "./frontstate";
import type { Overview } from "./overview";
import { useView, type View } from "./view";

/** The answer while a head's output is some factors as loud; values is (factors, rows), shares (factors, S). */
export type Loudness = AnswerTo<"loudness">;
/** What switching off a head alone changes: the largest of those that were run, the largest first. */
export type HeadsThatMatter = AnswerTo<"heads_that_matter">;
/** Each token's share of a text's vector. */
export type Shares = AnswerTo<"shares">;
/** How similar unrelated texts are: 5 % of the pairs of n are below `low`, 5 % above `high`. */
export type Unrelated = Required<AnswerTo<"unrelated">>;

const UNRELATED: Kind<Unrelated | null, "unrelated"> = {
  op: "unrelated",
  read: ({ fields }) => (fields.why_not ? null : (fields as Unrelated)),
};
const LOUDNESS: Kind<Loudness, "loudness"> = { op: "loudness", needs: "whatif", read: fieldsAndArrays };
const HEADS: Kind<HeadsThatMatter, "heads_that_matter"> = {
  op: "heads_that_matter",
  needs: "whatif",
  read: fieldsAndArrays,
};
const SHARES: Kind<Shares, "shares"> = { op: "shares", read: fieldsAndArrays };

const HEAD_PAUSE = 120; // ms that a head is shown before its curve is asked for: who passes by asks nothing
const TEXT_PAUSE = 1000; // ms of quiet before all heads are

/** Which two of the nine a factor lies between, and how far from the first; beyond the last it is the last. */
function place(factors: number[], factor: number): [n: number, way: number] {
  const end = factors.length - 1;
  const n = Math.max(
    0,
    Math.min(
      end - 1,
      factors.findLastIndex((one) => one <= factor),
    ),
  );
  return [n, Math.min(1, (factor - factors[n]!) / (factors[n + 1]! - factors[n]!))];
}

/** Numbers at a factor, on straight lines between the nine; `values` is (factors, width). */
export function between(factors: number[], values: Float32Array, factor: number): Float32Array {
  const width = values.length / factors.length;
  const [n, way] = place(factors, factor);
  const row = (at: number) => values.subarray(at * width, (at + 1) * width);
  if (way === 0) return row(n).slice();
  if (way === 1) return row(n + 1).slice();
  return row(n).map((value, at) => value + way * (row(n + 1)[at]! - value));
}

/** Whether a factor is one of the nine, which were run. */
export const isExact = ({ factors }: Pick<Loudness, "factors">, factor: number): boolean =>
  factors.some((one) => Math.abs(one - factor) < 1e-9);

/** The number of one row at every factor: of a vector how far it turns, 1 − cosine. Null where it has not that row. */
export function curveOf(loudness: Loudness, { position, name }: Pick<AnswerRow, "position" | "name">): number[] | null {
  const { rows, factors, values, kind } = loudness;
  const at = rows.findIndex((row) => row[0] === position && row[1] === name);
  if (at < 0) return null;
  const numbers = factors.map((_, n) => values[n * rows.length + at]!);
  return kind === "embedding" ? numbers.map((cosine) => 1 - cosine) : numbers;
}

/** The number of a curve at a factor. */
export const curveAt = (factors: number[], curve: number[], factor: number): number =>
  between(factors, Float32Array.from(curve), factor)[0]!;

/** Whether a change of the run says how loud a head is: a slider's, or that it is off. */
export const isOfHead = ({ off, scale }: Overview["changes"][number], layer: number, head: number): boolean =>
  [off, scale].some((of) => of && of[0] === layer && of[1] === head);

/** How loud a head is in the run shown, of a whole layer's changes too: 1 as the model has it. */
export const factorOf = ({ changes }: Overview, layer: number, head: number): number =>
  changes.reduce((factor, { off, scale }) => {
    const [l, h] = off ?? scale ?? [];
    return l === layer && (h ?? head) === head ? factor * (scale?.[2] ?? 0) : factor;
  }, 1);

/** The heads whose loudness the slider is: the one shown, and those that were taken with it. */
export const headsInHand = ({ page, shownHead: { layer, head } }: View): HeadName[] => [
  [layer, head],
  ...page.front.partners.value,
];

/** How loud the head shown is: as it is dragged, else as in the run shown. */
export const loudnessOf = ({ page, overview, shownHead: { layer, head } }: View): number =>
  page.front.factor.value ?? factorOf(overview, layer, head);

/** Whether it has a strength of its own: neither of a layer's map nor where its whole layer is louder or off. */
const isAlone = (view: View): boolean =>
  !view.shownHead.layerMap &&
  !view.overview.changes.some(({ off, scale }) => {
    const [l, h] = off ?? scale ?? [];
    return h === null && headsInHand(view).some(([layer]) => layer === l);
  });

/** The changes of the run shown but for how loud these heads are. */
export const otherChanges = ({ changes }: Overview, heads: HeadName[]) =>
  changes.filter((one) => !heads.some(([layer, head]) => isOfHead(one, layer, head)));

/** Whether a key has stayed the same for a while. */
function useQuiet(key: string, pause: number): boolean {
  const [quiet, setQuiet] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(key), pause);
    return () => clearTimeout(timer);
  }, [key, pause]);
  return quiet === key;
}

/** What is known of the run shown and that run; while more is coming, what was whole of the last run of this text. */
function useLatest<T>(state: T, isComing: boolean): { run: Overview; state: T } {
  const run = useView().overview;
  const memo = useRef<{ run: Overview; state: T; isComing: boolean } | null>(null);
  if (!isComing || !memo.current || memo.current.isComing || memo.current.run.subject !== run.subject)
    memo.current = { run, state, isComing };
  return memo.current;
}

const contentOf = <T>(answer: Answer<T>): T | null => (answer.state === "answered" ? answer.value : null);

/** The answers of the run shown, the last ones of this text while the next are on their way. */
export function useAnswers(): Answers | null {
  const answer = answersOf(useView());
  return contentOf(useLatest(answer, answer.state === "asking").state);
}

/** A question that has one answer for each key, whichever run is shown: once it is here it is not asked again, nor while
 * `similar` is the key of what is here. */
export function useOnce<T, Op extends "loudness" | "heads_that_matter" | "head_sets">(
  kind: Kind<T, Op>,
  args: Record<string, unknown> | null,
  key: string,
  pause: number,
  similar = key,
): Answer<T> {
  const { answers, overview, link } = useView();
  const memo = useRef<{ key: string; answer: Answer<T> } | null>(null);
  const quiet = useQuiet(key, link.kernel.value ? pause : 0);
  const reason = kind.needs && overview.offers[kind.needs];
  if (reason) return { state: "refused", reason };
  if (memo.current && [key, similar].includes(memo.current.key)) return memo.current.answer;
  if (!args || !quiet) return { state: "asking" };
  const answer = answers.get(kind as Kind<T>, overview, args);
  if (answer.state === "answered") memo.current = { key, answer };
  return answer;
}

/** What makes the run another one than that of a slider alone. */
const baseKey = ({ subject, map }: Overview, changes: Overview["changes"]) =>
  [subject, map, ...changes.map(({ label }) => label)].join("\n");

/** What is asked about, where the model gives an answer: null before that is known, or where it gives none. */
export function useTarget() {
  const view = useView();
  const answer = answersOf(view);
  const target = answer.state === "answered" && !answer.value.why_not ? targetOf(view) : null;
  return useLatest(target, answer.state === "asking").state;
}

/** The answer at every strength of the head shown; `ask` where it is asked for on request: nine runs of a long text keep
 * a kernel busy while other heads are looked at. */
function useLoudness(): { answer: Answer<Loudness>; ask: (() => void) | null } {
  const view = useView();
  const { overview, link, page } = view;
  const { layer, head } = view.shownHead;
  const { curves } = page.front;
  const target = useTarget();
  const [, ...partners] = headsInHand(view);
  const base = baseKey(overview, otherChanges(overview, headsInHand(view)));
  const together = partners.length > 0 ? { partners } : {};
  const args = target && isAlone(view) ? { layer, head, ...together, ...target } : null;
  const key = JSON.stringify([base, args, layer, head]);
  const isLong = overview.queries.tokens.length > LIMITS.effects && link.kernel.value;
  const isOnRequest = args !== null && isLong && !curves.value.includes(key);
  const answer = useOnce(LOUDNESS, isOnRequest ? null : args, key, HEAD_PAUSE);
  const isOpen = isOnRequest && answer.state === "asking";
  return { answer, ask: isOpen ? () => (curves.value = [...curves.value, key]) : null };
}

/** Heads that are still to be run. */
export interface HeadsToCome {
  isComing: boolean;
  done: number; // the share of them that is run
  limit: string; // why they are run on request; "" where none is missing
  ask: (() => void) | null; // runs all
  stop: (() => void) | null;
}
const NONE_TO_COME: HeadsToCome = { isComing: false, done: 0, limit: "", ask: null, stop: null };

/** How many heads a page is set to run, of so many. */
const mostOf = (setting: string, count: number): number =>
  setting === "all" ? count : Math.min(count, Math.floor(Number(setting)) || 0);

/** The heads that matter most to the answer, of some by an estimate and then of all; a slider that moves later changes
 * them not. Of a long text on request. */
function useHeadsThatMatter(): [Answer<HeadsThatMatter>, HeadsToCome] {
  const view = useView();
  const { overview, page, link } = view;
  const { sought, soughtOfAll } = page.front;
  const target = useTarget();
  const long = sought.value === overview.subject ? { long: true } : {};
  const plain = overview.changes.filter(({ scale }) => !scale);
  const keysOf = (args: object) =>
    [overview.changes, plain].map((of) => JSON.stringify([baseKey(overview, of), target, args])) as [string, string];
  const ask = (args: object | null, pause: number) => {
    const [key, similar] = keysOf(args ?? {});
    return [target && args && { ...target, ...args }, key, pause, similar] as const;
  };
  const first = useOnce(HEADS, ...ask(long, TEXT_PAUSE));
  const some = first.state === "answered" && !first.value.why_not && !first.value.limit ? first.value : null;
  const count = overview.n_layers * overview.n_heads;
  const isAsked = soughtOfAll.value === overview.subject;
  const most = isAsked ? count : some?.limit_of_all ? 0 : mostOf(page.headsRun.value, count);
  const isPartial = some !== null && some.tried < count && link.kernel.value;
  const isComing = isPartial && some.tried < most;
  const all = useOnce(HEADS, ...ask(isComing ? { ...long, ...(isAsked ? { long: true } : {}), most } : null, 0));
  if (!isPartial) return [first, NONE_TO_COME];
  const runAll = () => {
    soughtOfAll.value = overview.subject;
  };
  if (!isComing) return [first, { ...NONE_TO_COME, limit: some.limit_of_all ?? "", ask: runAll }];
  if (all.state === "asking") {
    const stop = () => {
      [page.headsRun.value, soughtOfAll.value] = ["estimate", ""];
    };
    return [first, { ...NONE_TO_COME, isComing, done: all.done ?? 0, stop }];
  }
  if (all.state === "refused" || all.value.why_not) return [first, NONE_TO_COME];
  return [all, all.value.tried < count ? { ...NONE_TO_COME, ask: runAll } : NONE_TO_COME];
}

/** Whether the answer is one number without a name of its own: a regression's. */
export const isLone = ({ kind, rows }: Answers): boolean => kind === "labels" && rows.length === 1;

/** Whether the answer is a probability so near to 1 that of one head its log-odds are told. */
export const isSureOf = ({ answers, loudness, curve, isTogether }: FrontAnswer): boolean =>
  !isTogether && !isLone(answers) && curve !== null && isSure(answers.unit, curveAt(loudness!.factors, curve, 1));

/** What the front shows of the answer, for bars, sentence and slider alike. */
export interface FrontAnswer {
  run: Overview; // the one that all this is of
  answers: Answers;
  shares: Answer<Shares> | null; // what a vector of one text rests on
  lead: AnswerRow; // the row that is asked about
  own: AnswerRow | null; // of the word that the reader hid
  score: number; // its number: of a vector how far it turned, 1 − cosine
  loudness: Loudness | null;
  curve: number[] | null; // of the lead at each factor
  factor: number; // as shown now
  runFactor: number; // of the run
  isTogether: boolean; // several heads are
  isDragged: boolean;
  changeCount: number; // other changes of the run than how loud this head is
  waits: boolean;
  ask: (() => void) | null; // for the curve, of a long text
  refused: string; // why there is no curve
}

/** What the model gives the word that the reader hid; null where there is none, or it is of several tokens. */
function ownRow(view: View): AnswerRow | null {
  const { text, text_pair } = view.overview;
  const { pieces, at } = view.page.front.hidden.value[textsName(text, text_pair)] ?? { pieces: [], at: -1 };
  if (pieces.length !== 1) return null;
  const answer = answersWith(view, pieces[0]!, at);
  return answer.state === "answered" ? (answer.value.rows[0] ?? null) : null;
}

/** Null before there is an answer, or where there is none. */
function useFrontAnswer(): FrontAnswer | null {
  const view = useView();
  const { layer, head } = view.shownHead;
  const now = answersOf(view);
  const sharesNow = contentOf(now)?.kind === "embedding" ? view.answers.get(SHARES, view.overview, {}) : null;
  const isComing = now.state === "asking" || sharesNow?.state === "asking";
  const { run, state } = useLatest({ answers: contentOf(now), shares: sharesNow }, isComing);
  const { answer, ask } = useLoudness();
  const { answers, shares } = state;
  const lead = answers?.rows[0];
  if (!answers || answers.why_not || !lead) return null;
  const alone = isAlone(view);
  const own = ownRow(view);
  const loudness = alone && answer.state === "answered" && !answer.value.why_not ? answer.value : null;
  const curve = loudness && curveOf(loudness, lead);
  const runFactor = factorOf(run, layer, head);
  const isDragged = curve !== null && view.page.front.factor.value !== null;
  const factor = isDragged ? loudnessOf(view) : runFactor;
  const changeCount = otherChanges(run, headsInHand(view)).length;
  const refused = answer.state === "refused" ? answer.reason : answer.state === "answered" ? answer.value.why_not : "";
  const waits = !curve && !refused && alone && !ask;
  const score = answers.kind === "embedding" ? 1 - lead.after : lead.after;
  return {
    run,
    answers,
    shares,
    lead,
    own,
    score,
    loudness,
    curve,
    factor,
    runFactor,
    isTogether: headsInHand(view).length > 1,
    isDragged,
    changeCount,
    waits,
    ask,
    refused,
  };
}

/** Beside the similarity of two texts those of unrelated ones, where they are here or cheap; else null. */
export function useUnrelated(kind: string): Unrelated | null {
  const { answers, overview, link } = useView();
  const isQuiet = useQuiet(overview.subject, TEXT_PAUSE) || !link.kernel.value;
  const isAsked = kind === "similarity" && isQuiet;
  const answer: Answer<Unrelated | null> = isAsked ? answers.get(UNRELATED, overview, {}) : { state: "asking" };
  return contentOf(useLatest(answer, answer.state === "asking").state);
}

const FrontContext = createContext<FrontAnswer | null>(null);
const HeadsContext = createContext<[Answer<HeadsThatMatter>, HeadsToCome]>([{ state: "asking" }, NONE_TO_COME]);
export const useFront = () => useContext(FrontContext);
export const useHeads = () => useContext(HeadsContext)[0];
export const useHeadsToCome = () => useContext(HeadsContext)[1];

/** Asks once what several parts of the front show. */
export const FrontAnswers = ({ children }: { children: ComponentChildren }) =>
  createElement(HeadsContext.Provider, {
    value: useHeadsThatMatter(),
    children: createElement(FrontContext.Provider, { value: useFrontAnswer(), children }),
  });
