// What changes of the run do: the answers of the model, and a number of every head.

import { sorted } from "../compute/sorted";
import type { ModelAnswer } from "../generated/answers";
import type { HeadName } from "../generated/vocabulary";
import { type Answer, type AnswerTo, fieldsAndArrays, type Kind } from "../kernel/answers";
import { headLabel, signed } from "../paint/format";
import { isNothing, ranked } from "../paint/ranked";
import type { HeadNumbers } from "./headvalue";
import type { View } from "./view";

export interface AnswerRow {
  position: number; // -1: of the whole text
  name: string;
  before: number;
  after: number;
}

/** The model's answer in the original run and in this one, and what heads can be swept for. */
export type Answers = Omit<ModelAnswer, "rows" | "metrics"> & {
  rows: AnswerRow[];
  metrics: { name: string; label: string; unit: string }[];
};

const answersFrom = (fields: ModelAnswer): Answers => ({
  ...fields,
  rows: fields.rows.map(([position, name, before, after]) => ({ position, name, before, after })),
  metrics: fields.metrics.map(([name, label, unit]) => ({ name, label, unit })),
});
const ANSWERS: Kind<Answers, "answers"> = { op: "answers", read: ({ fields }) => answersFrom(fields) };

/** The label or word that is asked about, as it is sent; nothing for the model's first answer. */
export type Target = { target?: string; target_at?: number };

const pageTarget = ({ page }: View): Target => {
  const [target, target_at] = [page.target.value, page.targetAt.value];
  return { ...(target ? { target } : {}), ...(target && target_at >= 0 ? { target_at } : {}) };
};

const ofTarget = (view: View) => view.answers.get(ANSWERS, view.overview, pageTarget(view));

/** The answers with one of a name at a place first; the name is of the vocabulary. */
export const answersWith = ({ answers, overview }: View, target: string, target_at: number): Answer<Answers> =>
  answers.get(ANSWERS, overview, { target, target_at });

/** What is asked about in the run shown: the model's first answer where it has not the one that was chosen. Null while
 * that is asked. */
export function targetOf(view: View): Target | null {
  if (!view.page.target.value) return {};
  const { state } = ofTarget(view);
  return state === "asking" ? null : state === "refused" ? {} : pageTarget(view);
}

/** Why the answer that was chosen cannot be asked about here; "" where it can. */
export function targetRefused(view: View): string {
  const answer = view.page.target.value ? ofTarget(view) : null;
  return answer?.state === "refused" ? answer.reason : "";
}

/** The answers of the run shown, the chosen one first; those of a changed run came with it. */
export function answersOf(view: View): Answer<Answers> {
  const { answers, overview, page } = view;
  const choice = page.target.value ? ofTarget(view) : null;
  if (choice && choice.state !== "refused") return choice;
  const { answers: fields } = overview;
  return answers.get(ANSWERS, overview, {}, fields && (() => answersFrom(fields)));
}

const movedOf = ({ answers, overview }: View): Answer<Float32Array> => {
  const { moved } = overview;
  return answers.get(MOVED, overview, {}, moved ? () => moved : undefined);
};

const MOVED: Kind<Float32Array, "moved"> = { op: "moved", read: ({ arrays }) => arrays.moved.data };
const ESTIMATED: Kind<Float32Array, "matters"> = { op: "matters", read: ({ arrays }) => arrays.values.data };
const EXACT: Kind<Float32Array, "matters_exact"> = { op: "matters_exact", read: ({ arrays }) => arrays.values.data };

/** What a saved page holds of every head and token: see each_matters of bertlens/widgets/answers/matter.py. */
export type Each = Required<AnswerTo<"each_matters">>;

export const EACH: Kind<Each, "each_matters"> = {
  op: "each_matters",
  needs: "whatif",
  read: (reply) => fieldsAndArrays(reply) as Each,
};

/** What a page that was saved holds of a sweep; null where it is none. */
function heldSweep(view: View, metric: string): Sweep | null {
  const { answers, overview, link } = view;
  if (!link.carries.value) return null;
  const singles = answers.get(EACH, overview, targetOf(view) ?? {});
  const at = singles.state === "answered" && !singles.value.why_not ? singles.value.metrics.indexOf(metric) : -1;
  if (singles.state !== "answered" || at < 0) return null;
  const exact = overview.n_layers * overview.n_heads;
  const values = singles.value.swept.subarray(at * exact, (at + 1) * exact);
  return { values, exact, count: exact, isExact: () => true, estimated: null, unasked: true, refused: "" };
}

/** The number of the answer that heads are swept for; null before it is known, or where there is none. */
export function metricOf(view: View) {
  const answer = answersOf(view);
  if (answer.state !== "answered") return null;
  const { metrics } = answer.value;
  return metrics.find(({ name }) => name === view.page.whatif.metric.value) ?? metrics[0] ?? null;
}

/** What switching off each head alone changes: estimated at first, exact layer by layer as it comes in. */
export interface Sweep {
  values: Float32Array; // (L·H)
  exact: number; // heads that are
  count: number; // heads that have a number, if estimated
  isExact(layer: number, head: number): boolean;
  estimated: Float32Array | null;
  unasked?: boolean; // whether there is an estimate is not known
  refused: string;
}

/** Each layer is asked for when the one before is here: what the reader asks meanwhile goes in between. */
export function sweep(view: View, metric: string): Sweep {
  const { answers, overview } = view;
  const { n_layers, n_heads } = overview;
  const values = new Float32Array(n_layers * n_heads).fill(Number.NaN);
  const target = targetOf(view) ?? {};
  const estimate = answers.get(ESTIMATED, overview, { metric, ...target });
  if (estimate.state === "answered") values.set(estimate.value);
  const estimated = estimate.state === "answered" && !estimate.value.every(Number.isNaN) ? estimate.value : null;
  let layers = 0;
  let next: Answer<Float32Array> | null = null;
  while (estimate.state !== "asking" && layers < n_layers) {
    next = answers.get(EXACT, overview, { metric, layer: layers, ...target });
    if (next.state !== "answered") break;
    values.set(next.value, layers++ * n_heads);
  }
  const singles = next?.state === "refused" ? heldSweep(view, metric) : null;
  if (singles) return singles;
  const refused = next?.state === "refused" ? next.reason : estimate.state === "refused" ? estimate.reason : "";
  const exact = layers * n_heads;
  const count = values.filter((value) => !Number.isNaN(value)).length;
  return { values, exact, count: count, isExact: (l) => l < layers, estimated, refused };
}

/** "moved" or "matters" of every head, for the atlas. */
export function changeValues(view: View, name: string): HeadNumbers | null {
  const { overview } = view;
  const at = (l: number, h: number) => l * overview.n_heads + h;
  if (name === "moved") {
    if (overview.changes.length === 0) return { of: () => Number.NaN, unit: "", label: "looks elsewhere", text: nats };
    const answer = movedOf(view);
    if (answer.state === "asking") return null;
    const values = answer.state === "answered" ? answer.value : null;
    return {
      of: (l, h) => values?.[at(l, h)] ?? Number.NaN,
      unit: "",
      label: "looks elsewhere now, nats",
      signed: false,
      text: nats,
    };
  }
  const metric = metricOf(view);
  if (!metric) return null;
  const { values, count, isExact, refused } = sweep(view, metric.name);
  const state = refused ? "not computed" : "being computed";
  return {
    of: (l, h) => values[at(l, h)]!,
    unit: "",
    label: `${metric.label} without the head, change${count < values.length ? ` (${state})` : ""}`,
    signed: true,
    absent: count === 0,
    text: (value) => (Number.isNaN(value) && !refused ? "…" : effect(value)),
    mark: (l, h) => (isExact(l, h) ? "●" : "○"),
  };
}

const nats = (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(3));

/** The change of an answer: three decimals, with its sign. */
export const effect = (value: number): string =>
  Number.isNaN(value) ? "–" : `${value >= 0.0005 ? "+" : ""}${signed(value, 3)}`;

/** The heads with the largest values of one sign, at most five; none whose value is but rounding. */
export function strongest(values: Float32Array, n_heads: number, sign: 1 | -1): { name: HeadName; value: number }[] {
  const heads = Array.from(values, (value, n) => ({
    name: [Math.floor(n / n_heads), n % n_heads] as HeadName,
    value,
  })).filter(({ value }) => sign * value > 0 && !isNothing(value));
  return sorted(heads, ({ value }) => Math.abs(value), true).slice(0, 5);
}

/** Rank correlation; equal values share their mean rank. NaN where either is constant. */
export function spearman(a: Float32Array, b: Float32Array): number {
  const [x, y] = [ranks(a), ranks(b)];
  const mean = (a.length - 1) / 2;
  const sum = (f: (n: number) => number) => x.reduce((total, _, n) => total + f(n), 0);
  const product = (p: number[], q: number[]) => sum((n) => (p[n]! - mean) * (q[n]! - mean));
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}

function ranks(values: Float32Array): number[] {
  const order = Array.from(values, (_, n) => n).sort((m, n) => values[m]! - values[n]!);
  const ranksOf = new Array<number>(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let n = from; n <= to; n++) ranksOf[order[n]!] = (from + to) / 2;
    from = to + 1;
  }
  return ranksOf;
}

/** Whether heads come after a change, which may look elsewhere; true before it is known. */
export function hasLaterHeads(view: View): boolean {
  const answer = movedOf(view);
  return answer.state !== "answered" || answer.value.some((value) => !Number.isNaN(value));
}

/** The heads that look elsewhere most, in words; "" before it is known. */
export function movedMost(view: View): string {
  const { overview } = view;
  const answer = movedOf(view);
  if (answer.state !== "answered") return answer.state === "refused" ? answer.reason : "";
  const can = Array.from(answer.value).flatMap((value, n) =>
    Number.isNaN(value) ? [] : [Math.floor(n / overview.n_heads)],
  );
  const top = strongest(answer.value, overview.n_heads, 1);
  const later = can.length < answer.value.length ? ` ${laterWords([...new Set(can)])}` : "";
  if (can.length === 0) return "No head comes later, so no picture changes.";
  if (top.length === 0) return `No head looks elsewhere.${later}`;
  const texts = ranked(top.map(({ value }) => value));
  const heads = top.map(({ name: [l, h] }, n) => `${headLabel(l, h)} ${texts[n]}`).join(", ");
  return `Heads that now look elsewhere: ${heads} (0 = the same, ${nats(Math.LN2)} = nowhere the same).${later}`;
}

/** Where heads run after a change, and so can look elsewhere. */
const laterWords = (layers: number[]): string =>
  layers.length === 1
    ? `Only layer ${layers[0]} can differ.`
    : `Only layers ${layers[0]} to ${layers.at(-1)} can differ.`;
