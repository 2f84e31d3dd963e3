// The sentences between the head and the answer, from numbers that are on the screen: pieces of text, so that words,
// heads and numbers can look like what they are.
import { logOdds } from "../compute/logodds";
import { LITTLE } from "../generated/vocabulary";
import { headLabel, plural, signed } from "../paint/format";
import { isMuch, type Neighbour } from "../parts/phrasing";

export type Piece = string | { word: string } | { mark: string } | { head: string } | { number: string; strong?: true };

export const plain = (pieces: Piece[]): string =>
  pieces.map((piece) => (typeof piece === "string" ? piece : Object.values(piece)[0])).join("");

/** A number as bars and sentences have it: two decimals. */
export const brief = (value: number): string => (value > 0 && value < 0.005 ? "less than 0.01" : signed(value, 2));

/** The same where there is little room. */
export const short = (value: number): string => brief(value).replace("less than ", "<\u2009");

/** The difference of two numbers as they are shown, so that what is read adds up. */
export const shownDifference = (from: number, to: number): number =>
  (Math.round(100 * to) - Math.round(100 * from)) / 100;

/** A word of the text as it stands in a sentence. */
export interface Name {
  text: string;
  special: boolean; // a token of the template
}

export const named = ({ text, special }: Name): Piece =>
  special || /^[[<].+[\]>]$/.test(text) ? { mark: text } : { word: text };

/** One row of a head's weights: what it gives most to, or to what is pinned. */
export interface Look {
  head: string;
  hovered: boolean; // of the word under the pointer
  query: Name;
  key: Name;
  value: number;
  even: number; // what an even row gives the key
  noun: string;
  itself: boolean; // the key is the query
}

/** Where a head looks. */
export function lookPieces(look: Look): Piece[] {
  const { hovered, value, even, noun, itself } = look;
  const head: Piece = { head: look.head };
  const [query, key] = [named(look.query), named(look.key)];
  const at: Piece[] = [" (", { number: brief(value) }, ")."];
  if (Number.isNaN(value)) return ["In ", head, ", the weights of ", query, " are no numbers."];
  if (!isMuch(value, even)) return ["In ", head, ", ", query, ` looks at no ${noun} much; at `, key, " most", ...at];
  const [does, rests] = hovered ? [" looks at ", " rests on "] : [" look at ", " rest on "];
  const target: Piece[] = itself ? [does, "itself"] : [look.key.special ? rests : does, key];
  return hovered ? ["In ", head, ", ", query, ...target, ...at] : [head, " lets ", query, ...target, ...at];
}

/** What a head does over a whole text: the neighbour that it gives half of its weight or more, mean over all rows. */
export function habitPieces(neighbour: Neighbour | null, noun: string): Piece[] {
  if (!neighbour) return [];
  const share: Piece = { number: brief(neighbour.share) };
  return [`In general: ${plural(noun)} look at the ${neighbour.side} ${noun} (mean `, share, ")."];
}

/** What the answer does when the head is louder or quieter. */
export interface Effect {
  head: string; // or "these three"
  kind: string;
  lone: boolean; // the answer is one number without a name
  name: string;
  where: string; // " at 6", of several masks or tokens
  from: number; // with the head as it is
  peak?: number; // the best guess of the model, where words are guessed
  to: number; // at the factor, or without it where that is 1
  factor: number;
  about: boolean; // it lies between two runs
  changeCount: number; // other changes of the run
  carrier: { word: string; share: number } | null; // the word that holds most of a vector
  best: Best | null;
  sure: boolean; // a probability near to 1, whose log-odds are told
}

/** Of the heads that were switched off, the one that does most; `to`: the number without it. */
export interface Best {
  head: string;
  tried: number;
  change: number;
  least: number; // the number without any of them is at least this
}

const UNSURE = 0.1; // a best guess below it is none to speak of

/** What the numbers are of. */
function subjectOf({ kind, lone, name, where }: Effect): Piece[] {
  if (kind === "similarity") return ["the similarity"];
  if (kind === "embedding") return ["the vector’s turn"];
  if (lone) return ["the score"];
  return [{ word: name }, where];
}

/** Whether two numbers are the same as they are shown. */
export const isAlike = (from: number, to: number): boolean => signed(from, 2) === signed(to, 2);

/** "falls from 0.66 to 0.27". */
function moves(subject: Piece[], { from, to, about }: Pick<Effect, "from" | "to" | "about">, areMany = false): Piece[] {
  const s = areMany ? "" : "s";
  const [start, end] = [brief(from), brief(to)];
  const guess = about ? "≈ " : "";
  if (Number.isNaN(from) || Number.isNaN(to)) return [...subject, areMany ? " are no numbers" : " is not a number"];
  if (isAlike(from, to)) {
    const bound = [start, end].find((text) => text.startsWith("less"));
    return bound
      ? [...subject, ` stay${s} below `, { number: bound.replace("less than ", "") }]
      : [...subject, ` stay${s} at ${guess}`, { number: start }];
  }
  return [
    ...subject,
    to < from ? ` fall${s} from ` : ` rise${s} from `,
    { number: start },
    ` to ${guess}`,
    { number: end, strong: true },
  ];
}

/** "the vector turns by 0.08", from none. */
function turns(effect: Effect): Piece[] {
  if (Number.isNaN(effect.to) || (!isAlike(effect.from, 0) && effect.from > 0)) return moves(subjectOf(effect), effect);
  return [`the vector turns by ${effect.about ? "≈ " : ""}`, { number: brief(effect.to), strong: true }];
}

const FAR = 0.9; // a probability that falls below it is seen to fall

/** "; its log-odds fall from 5.20 to 4.12", where two decimals of a probability near to 1 say little. */
function oddsClause({ sure, from, to, about }: Effect): Piece[] {
  if (!sure || to < FAR) return [];
  const [start, end] = [from, to].map(logOdds) as [number, number];
  return moves(["; its log-odds"], { from: start, to: end, about }, true);
}

const verbPhrase = (effect: Effect): Piece[] =>
  effect.kind === "embedding" ? turns(effect) : [...moves(subjectOf(effect), effect), ...oddsClause(effect)];

const carrierClause = ({ carrier }: Effect): Piece[] =>
  carrier && carrier.share > 0
    ? [" ", { word: carrier.word }, " carries ", { number: brief(carrier.share) }, " of it."]
    : [];

/** That no head matters here, by those that were run; null where one does. */
export function nonePieces(effect: Effect): Piece[] | null {
  const { from, to, best, kind } = effect;
  if (!best || Number.isNaN(to - from) || Math.abs(best.change) >= LITTLE || Math.abs(to - from) >= LITTLE) return null;
  const heads: Piece[] = ["; of ", { number: String(best.tried) }, ` ${plural("head", best.tried)} tried, `];
  const end = brief(from + best.change);
  const peak: Piece[] =
    end === brief(from)
      ? [...heads, "none moves it by ", { number: "0.01" }, "."]
      : [...heads, { head: best.head }, " moves it most, to ", { number: end }, "."];
  if (from < UNSURE && (effect.peak ?? from) >= UNSURE)
    return [...subjectOf(effect), " is a rare guess (", { number: brief(from) }, ")", ...peak];
  if (["words", "span"].includes(kind) && from < UNSURE)
    return ["The model is unsure: ", ...subjectOf(effect), " has ", { number: brief(from) }, ...peak];
  if (effect.sure) {
    const bound = (Math.ceil(100 * Math.min(best.least, from)) - 1) / 100;
    const without: Piece[] = ["without any of the ", { number: String(best.tried) }, " tried, "];
    return [
      "No single head matters here: ",
      ...without,
      ...subjectOf(effect),
      " stays above ",
      { number: brief(bound) },
      ".",
    ];
  }
  return [
    "No single head matters here: ",
    ...subjectOf(effect),
    kind === "similarity" || effect.lone ? " is " : " has ",
    { number: brief(from) },
    ...peak,
  ];
}

/** What happens without the head. */
export function withoutPieces(effect: Effect): Piece[] {
  const none = effect.changeCount === 0 && effect.kind !== "embedding" ? nonePieces(effect) : null;
  if (none) return none;
  const lead = effect.changeCount > 0 ? "In this changed run, without it, " : "Without it, ";
  return [lead, ...verbPhrase(effect), ".", ...carrierClause(effect)];
}

/** Of heads that are taken together. */
export const COUNTS = ["", "one", "two", "three", "four", "five", "six"];

/** "L1·H9 + L2·H11". */
export const joined = (heads: readonly (readonly [layer: number, head: number, ...number[]])[]): Piece[] =>
  heads.flatMap(([layer, head], n): Piece[] => [...(n > 0 ? [" + "] : []), { head: headLabel(layer, head) }]);

/** What a head that is louder or quieter does: first the answer, then that it looks all the same. */
export function louderPieces(effect: Effect, look: Look | null): [Piece[], Piece[]] {
  const { factor, changeCount } = effect;
  const run = changeCount > 0 ? "In this changed run, with " : "With ";
  const silent = brief(factor) === "0.00" || brief(factor).startsWith("less");
  const lead: Piece[] = silent
    ? [run, { head: effect.head }, " silent, "]
    : [run, { head: effect.head }, " at ", { number: factor.toFixed(2) }, ", "];
  const answer = [...lead, ...verbPhrase(effect), "."];
  const much = isAlike(factor, 1) ? "about what" : factor < 1 ? "less than" : "more than";
  if (!silent) return [answer, [`It passes on ${much} the model lets it.`]];
  const still: Piece[] =
    look && isMuch(look.value, look.even) && !look.itself
      ? ["It still ", look.key.special ? "rests on " : "looks at ", named(look.key), ", but passes nothing on."]
      : ["It still looks, but passes nothing on."];
  return [answer, still];
}
