// What both sentences answer: each side is a view with what the front asked of its run.
import { evenOf } from "../../head/cellwords";
import { isMuch } from "../../parts/phrasing";
import { tokenWord, wordName } from "../../parts/token";
import { isPlain } from "../../state/cloze";
import { type AnswerRow, answersOf, answersWith } from "../../state/effects";
import {
  curveAt,
  type FrontAnswer,
  type HeadsThatMatter,
  isLone,
  useFront,
  useHeads,
  useHeadsToCome,
} from "../../state/frontanswers";
import { rowsOf, unitValues } from "../../state/rows";
import { useView, type View } from "../../state/view";
import { barRows } from "../answerbars";
import { askerOf, previewOf, type Words, wordsOf, wordWeights } from "../sentence/wordrow";
import { type BarPair, type Guess, type HeadPair, headPairs, inOrder, pairNames } from "./barpairs";
import type { Looked } from "./sentences";

export interface Side {
  view: View;
  words: Words;
  front: FrontAnswer | null;
  heads: HeadsThatMatter | null;
  waits: boolean; // the answer is on its way
  isComing: boolean; // heads are still being run
}

/** Of the view around it. */
export function useSide(): Side {
  const view = useView();
  const heads = useHeads();
  return {
    view,
    words: wordsOf(view.overview),
    front: useFront(),
    waits: answersOf(view).state === "asking",
    heads: heads.state === "answered" && !heads.value.why_not && heads.value.heads.length > 0 ? heads.value : null,
    isComing: useHeadsToCome().isComing || heads.state === "asking",
  };
}

export type Sides = readonly [above: Side, below: Side];

export const bothPlain = (sides: Sides): boolean => sides.every(({ view }) => isPlain(view));

/** Of every head what its absence changes, (L·H), NaN where that is not known. */
function changesOf({ heads, view }: Side): Float32Array {
  const { n_layers, n_heads } = view.overview;
  if (heads?.changes) return heads.changes;
  const changes = new Float32Array(n_layers * n_heads).fill(Number.NaN);
  for (const [layer, head, change] of heads?.heads ?? []) changes[layer * n_heads + head] = change;
  return changes;
}

export const headsOf = ([above, below]: Sides): HeadPair[] =>
  headPairs(changesOf(above), changesOf(below), above.view.overview.n_heads);

export const areAllRun = (sides: Sides): boolean =>
  sides.every(({ heads, view }) => heads !== null && heads.tried >= view.overview.n_layers * view.overview.n_heads);

/** The head that is told of: the one that is pointed at, else the one shown. */
export function toldHead({ view }: Side): { layer: number; head: number } {
  return view.page.front.preview.value ?? view.shownHead;
}

/** The number of a side without a head: as it was run, or by the curve of the one shown; null where it is not known. */
export function without(side: Side, { layer, head }: { layer: number; head: number }): number | null {
  const { front, heads, view } = side;
  const { n_layers, n_heads } = view.overview;
  const change = heads?.heads.find(([l, h]) => l === layer && h === head)?.[2];
  if (heads && change !== undefined) return heads.before + change;
  const all = heads && heads.tried >= n_layers * n_heads ? heads.changes?.[layer * n_heads + head] : undefined;
  if (heads && all !== undefined) return heads.before + all;
  const isShown = front?.loudness?.layer === layer && front.loudness.head === head;
  return isShown && front.curve ? curveAt(front.loudness!.factors, front.curve, 0) : null;
}

/** The word that asks, whatever word is pointed at. */
export const askerIn = ({ view, words }: Side): number => askerOf(view, words, null);

/** Where a head looks from the word that asks. */
export function lookedAt(side: Side): Looked {
  const { view, words } = side;
  const preview = previewOf(view, words);
  const { shownHead, overview } = view;
  const at = preview?.asker ?? askerIn(side);
  const row = preview?.weights ?? wordWeights(shownHead.weights, words).values.row(at);
  const to = row.reduce((best, value, n) => (value > row[best]! ? n : best), 0);
  const key = words.cols[to];
  if (!key || !(row[to]! >= 0) || !isMuch(row[to]!, evenOf(shownHead, words.rows[at]!, key))) return null;
  return { text: wordName(key), special: key.special, itself: overview.square && at === to };
}

/** The same of any head, from the rows that the page has of all; null until they are here too. */
export function lookedAtBy(side: Side, { layer, head }: { layer: number; head: number }): Looked {
  const { view, words } = side;
  const { overview } = view;
  const at = askerIn(side);
  const unit = words.rows[at];
  const rows = unit && rowsOf(view, overview, unit);
  if (rows?.state !== "answered") return null;
  const K = overview.keyside.tokens.length;
  const from = (layer * overview.n_heads + head) * K;
  const row = unitValues(rows.value.weight.subarray(from, from + K), words.cols, false);
  const to = row.reduce((best, value, n) => (value > row[best]! ? n : best), 0);
  const key = words.cols[to]!;
  if (!isMuch(row[to]!, key.pieces.length / K)) return null;
  return { text: wordName(key), special: key.special, itself: at === to };
}

/** The best guess of a side, with what it is without a head: null where its answer has no name. */
export function guessOf(side: Side, head: { layer: number; head: number } | null): Guess | null {
  const { front } = side;
  if (!front || front.answers.kind === "embedding" || isLone(front.answers)) return null;
  const rows = front.answers.rows.filter(({ position }) => position === front.lead.position);
  const best = rows.reduce((a, b) => (b.after > a.after ? b : a), rows[0]!);
  const isLead = best === front.lead; // whose heads were run
  return { name: tokenWord(best.name), now: best.after, without: head && isLead ? without(side, head) : null };
}

/** The names of both answers with both numbers. */
export function answerPairs([above, below]: Sides): BarPair[] {
  const rowsIn = ({ front }: Side) => (front ? barRows(front).map(({ name, after }) => ({ name, value: after })) : []);
  const isOrdered = (below.front ?? above.front)?.answers.kind === "tags";
  const pairs = pairNames(rowsIn(above), rowsIn(below), isOrdered).map((name) => ({
    name,
    above: numberOf(above, name),
    below: numberOf(below, name),
  }));
  return isOrdered ? pairs : inOrder(pairs);
}

/** What a side gives a name: of a word that is not among its best it is asked. */
function numberOf({ view, front }: Side, name: string): number | null {
  if (!front) return null;
  const { answers, lead } = front;
  const isIt = (row: AnswerRow) => row.name === name && (answers.kind === "labels" || row.position === lead.position);
  const row = answers.rows.find(isIt);
  if (row || answers.kind !== "words") return row?.after ?? null;
  const answer = answersWith(view, name, lead.position);
  return answer.state === "answered" ? (answer.value.rows[0]?.after ?? null) : null;
}
