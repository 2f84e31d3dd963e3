// What the front asks of the run shown: the answer at nine strengths of a head, the heads that matter most, what a vector
// rests on; and the numbers between the nine.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, fieldsAndArrays, type Kind } from "../kernel/answers";
import { type AnswerRow, type Answers, answersOf, targetOf } from "./effects";
import type { Overview } from "./overview";
import { useView, type View } from "./view";

/** The answer while a head's output is some factors as loud: see bertlens/widgets/answers. */
export interface Loudness {
  layer: number;
  head: number;
  factors: number[];
  kind: string;
  unit: string;
  rows: [position: number, name: string][]; // as `answers` has them
  why_not: string;
  values: Float32Array; // (factors, rows)
  shares?: Float32Array; // (factors, S) of a vector, see Shares
}

/** What switching off a head alone changes: the largest of those that were run, the largest first. */
export interface HeadsThatMatter {
  heads: [layer: number, head: number, change: number][];
  name: string;
  unit: string;
  before: number;
  rows: number[]; // of each the token whose row there moves the number most, -1 where that is not known
  limit: string; // why they are looked for on request only
  why_not: string;
}

/** Each token's share of a text's vector. */
export interface Shares {
  how: "pooling" | "gradient";
  said: string;
  why_not: string;
  shares: Float32Array | Float64Array; // (S)
}

const LOUDNESS: Kind<Loudness, "loudness"> = { op: "loudness", needs: "whatif", read: fieldsAndArrays };
const HEADS: Kind<HeadsThatMatter, "heads_that_matter"> = {
  op: "heads_that_matter",
  needs: "whatif",
  read: fieldsAndArrays,
};
const SHARES: Kind<Shares, "shares"> = { op: "shares", read: fieldsAndArrays };

const HEAD_PAUSE = 120; // ms that a head is shown before its curve is asked for: who passes by asks nothing
const TEXT_PAUSE = 1000; // ms of quiet before all heads are

/** Which two of the nine a factor lies between, and how far from the first. */
function place(factors: number[], factor: number): [n: number, way: number] {
  const end = factors.length - 1;
  const n = Math.max(
    0,
    Math.min(
      end - 1,
      factors.findLastIndex((one) => one <= factor),
    ),
  );
  return [n, (factor - factors[n]!) / (factors[n + 1]! - factors[n]!)];
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

/** How loud a head is in the run shown: 1 as the model has it. */
export function factorOf({ changes }: Overview, layer: number, head: number): number {
  const change = changes.findLast((one) => isOfHead(one, layer, head));
  return change ? (change.scale?.[2] ?? 0) : 1;
}

/** The changes of the run shown but for how loud this head is. */
export const otherChanges = ({ changes }: Overview, layer: number, head: number) =>
  changes.filter((one) => !isOfHead(one, layer, head));

/** Whether a key has stayed the same for a while. */
function useQuiet(key: string, pause: number): boolean {
  const [quiet, setQuiet] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(key), pause);
    return () => clearTimeout(timer);
  }, [key, pause]);
  return quiet === key;
}

/** The answers of the run shown, the last ones of this text while the next are on their way. */
export function useAnswers(): Answers | null {
  const view = useView();
  const memo = useRef<{ subject: string; value: Answers } | null>(null);
  const answer = answersOf(view);
  const { subject } = view.overview;
  if (answer.state === "answered") memo.current = { subject, value: answer.value };
  return memo.current?.subject === subject ? memo.current.value : null;
}

/** A question that has one answer for each key, whichever run is shown: once it is here it is not asked again. */
function useOnce<T, Op extends "loudness" | "heads_that_matter">(
  kind: Kind<T, Op>,
  args: Record<string, unknown> | null,
  key: string,
  pause: number,
): Answer<T> {
  const { answers, overview, link } = useView();
  const memo = useRef<{ key: string; answer: Answer<T> } | null>(null);
  const quiet = useQuiet(key, link.kernel.value ? pause : 0);
  const reason = kind.needs && overview.offers[kind.needs];
  if (reason) return { state: "refused", reason };
  if (memo.current?.key === key) return memo.current.answer;
  if (!args || !quiet) return { state: "asking" };
  const answer = answers.get(kind as Kind<T>, overview, args);
  if (answer.state === "answered") memo.current = { key, answer };
  return answer;
}

/** What makes the run another one than that of a slider alone. */
const baseKey = ({ subject, map, changes }: Overview, without: (change: Overview["changes"][number]) => boolean) =>
  [subject, map, ...changes.filter((one) => !without(one)).map(({ label }) => label)].join("\n");

/** What is asked about, where the model gives an answer: null while that is not known, or where it gives none. */
function targetOfAnswer(view: View) {
  const answer = answersOf(view);
  return answer.state === "answered" && !answer.value.why_not ? targetOf(view) : null;
}

/** The answer at every strength of the head shown. */
export function useLoudness(): Answer<Loudness> {
  const view = useView();
  const { layer, head, layerMap } = view.shownHead;
  const target = targetOfAnswer(view);
  const base = baseKey(view.overview, (one) => isOfHead(one, layer, head));
  const args = target && !layerMap ? { layer, head, ...target } : null;
  return useOnce(LOUDNESS, args, JSON.stringify([base, layer, head, target, Boolean(layerMap)]), HEAD_PAUSE);
}

/** The heads that matter most to the answer, in the run without what sliders changed; of a long text on request. */
export function useHeadsThatMatter(): Answer<HeadsThatMatter> {
  const view = useView();
  const { overview, page } = view;
  const target = targetOfAnswer(view);
  const long = page.front.sought.value === overview.subject ? { long: true } : {};
  const base = baseKey(overview, ({ scale }) => Boolean(scale));
  return useOnce(HEADS, target && { ...target, ...long }, JSON.stringify([base, target, long]), TEXT_PAUSE);
}

/** What the vector of one text rests on, in the run shown. */
export function useShares(kind: string): Answer<Shares> | null {
  const { answers, overview } = useView();
  return kind === "embedding" ? answers.get(SHARES, overview, {}) : null;
}

/** Whether the answer is one number without a name of its own: a regression's. */
export const isLone = ({ kind, rows }: Answers): boolean => kind === "labels" && rows.length === 1;

/** What the front shows of the answer, for bars, sentence and slider alike. */
export interface FrontAnswer {
  answers: Answers;
  lead: AnswerRow; // the row that is asked about
  loudness: Loudness | null;
  curve: number[] | null; // of the lead at each factor
  factor: number; // as shown now
  runFactor: number; // of the run shown
  isDragged: boolean;
  changeCount: number; // other changes of the run than how loud this head is
  waits: boolean;
  refused: string; // why there is no curve
}

/** Null before there is an answer, or where there is none. */
export function useFrontAnswer(): FrontAnswer | null {
  const { overview, shownHead, page } = useView();
  const answers = useAnswers();
  const answer = useLoudness();
  const { layer, head, layerMap } = shownHead;
  const lead = answers?.rows[0];
  if (!answers || answers.why_not || !lead) return null;
  const loudness = answer.state === "answered" && !answer.value.why_not ? answer.value : null;
  const curve = loudness && curveOf(loudness, lead);
  const runFactor = factorOf(overview, layer, head);
  const dragged = curve && page.front.factor.value; // along the curve; without it, of another head
  const changeCount = otherChanges(overview, layer, head).length;
  const refused = answer.state === "refused" ? answer.reason : answer.state === "answered" ? answer.value.why_not : "";
  const waits = !curve && !refused && !layerMap;
  return {
    ...{ answers, lead, loudness, curve, runFactor, changeCount, waits },
    ...{ factor: dragged ?? runFactor, isDragged: dragged !== null },
    refused,
  };
}
