// What the Why tab asks about one cell, how it is read, and what is said of it in words.
import { visible } from "../../compute/attention";
import * as phrases from "../../generated/phrases";
import { SCORE_TERMS, SOURCES } from "../../generated/vocabulary";
import { type AnswerTo, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { counted, headLabel, signed } from "../../paint/format";
import { ranked } from "../../paint/ranked";
import { tokenQuote } from "../../parts/token";
import type { View } from "../../state/view";
import type { Part, Split, WhyPlace } from "../../state/whystate";

/** The answer to "why_pairs": kinds of the query down, of the key across. */
export type Pairs = AnswerTo<"why_pairs">;

export const WHY: Kind<Split, "why"> = {
  op: "why",
  ofOriginal: true,
  read: (reply) => ({ heads: null, mlps: null, ...fieldsAndArrays(reply) }) as Split,
};

export const PAIRS: Kind<Pairs, "why_pairs"> = { op: "why_pairs", ofOriginal: true, read: fieldsAndArrays };

/** The cell that the tab is about: the pinned one, or the clearest of the head. */
export const placeOf = ({ shownHead, focus }: View): WhyPlace => ({
  layer: shownHead.layer,
  head: shownHead.head,
  query: focus.query,
  key: focus.key,
});

/** The other keys that the query in focus sees. */
export function otherKeys({ shownHead, focus }: View): number[] {
  const keys = Array.from({ length: shownHead.slice.K }, (_, j) => j);
  return keys.filter((j) => j !== focus.key && visible(shownHead.slice, focus.query, j));
}

/** The question as the switches ask it. A key that this query does not see, or the pinned one, is nothing to be against. */
export function asked(view: View) {
  const { side, against, opened } = view.page.why.choice.value;
  const rivals = otherKeys(view);
  const usual = rivals.length > 0 ? "others" : null;
  return {
    ...placeOf(view),
    side: side === "both" ? "query" : side,
    against: against === null ? null : typeof against === "number" && rivals.includes(against) ? against : usual,
    through_mlps: opened,
  };
}

/** Whether a kind is what a family adds to q·k, which no vector of the query or the key alone makes. */
export const isTerm = (kind: string): boolean => (SCORE_TERMS as readonly string[]).includes(kind);

/** A part by its name. */
export const partName = ({ kind, layer, head }: Pick<Part, "kind" | "layer" | "head">): string =>
  kind === "head" ? headLabel(layer!, head!) : kind === "mlp" ? `MLP of layer ${layer}` : SOURCES[kind]!.label;

/** A factor with three digits, "" where that many say nothing any more. */
export const times = (ratio: number): string =>
  ratio < 1e-4 || ratio > 1e5 ? "" : ratio.toLocaleString("en", { maximumSignificantDigits: 3 });

/** Four decimals and the unit, as every number has it on hover. */
export const nats = (value: number) => `${signed(value, 4)} nats`;

/** A difference that rounding leaves. */
export const difference = (gap: number) => (gap === 0 ? "0" : gap.toExponential(0).replaceAll("-", "−"));

const tokens = ({ overview }: View, n: number) => tokenQuote(overview.keyside.tokens[n]!);

/** What a cell's weights are compared with, in words. */
export function otherWords(view: View, { against, seen }: Split): string {
  if (typeof against === "number") return `its weight on ${tokens(view, against)}`;
  const sees = view.shownHead.slice.mask.kind === "full" ? "" : " that it sees";
  if (seen === 2) return `its weight on the other token${sees}`;
  return `the geometric mean of its weights on the other ${counted(seen - 1)} tokens${sees}`;
}

/** The weights themselves: that of the cell, and what it is compared with. */
export function weightWords(view: View, { weight, against, other_weight, seen }: Split): string {
  if (other_weight === null) return `weight ${ranked([weight])}`;
  const [cellText, rivalText] = ranked([weight, other_weight]);
  if (typeof against === "number") return `weight ${cellText}; on ${tokens(view, against)} ${rivalText}`;
  return `weight ${cellText}; plain mean of the other ${counted(seen - 1)}: ${rivalText}`;
}

/** The cell, for the caption of a file. */
export const placeWords = (view: View, { layer, head, query, key }: WhyPlace): string =>
  `${headLabel(layer, head)}, ${tokens(view, query)} (${query}) at ${tokens(view, key)} (${key})`;

/** The cell and what its score is compared with. */
export function cellWords(view: View, split: Split): string {
  const compared = split.against === null ? "nothing subtracted" : `against ${foilWords(view, split.against)}`;
  const mlps = split.through_mlps ? "MLPs opened" : "MLPs as sources";
  return `${phrases.BY_SOURCES({ cell: placeWords(view, split), side: split.side })}, ${compared}, ${mlps}`;
}

const foilWords = (view: View, against: "others" | number) =>
  against === "others" ? "the mean of the other keys" : `${tokens(view, against)} (${against})`;

/** Where an earlier head's part was read: at the query, or at the key. */
export const readAt = ({ side, query, key }: Split): number => (side === "query" ? query : key);

export const samePlace = (a: WhyPlace | undefined, b: WhyPlace): boolean =>
  a !== undefined && a.layer === b.layer && a.head === b.head && a.query === b.query && a.key === b.key;
