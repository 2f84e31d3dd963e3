// What is said of two sentences, from numbers that are on the screen.
import { brief, isAlike, type Name, named, type Piece } from "../claims";
import { type Fault, faultOf, type Guess, MOVES } from "./barpairs";

/** Where a head looks from the word that asks: null where nowhere much. */
export type Looked = (Name & { itself: boolean }) | null;

const word = (text: string): Piece => ({ word: text });
const number = (value: number, strong = false): Piece => ({ number: brief(value), ...(strong ? { strong } : {}) });

const COUNTS = ["No word", "One word", "Two words", "Three words"];

/** "One word turns milk into cat", or that this is no story, and why. `differing`: words that the other has not, of the
 * sentence that has more of them. */
export function storyPieces(above: Guess, below: Guess, differing: number): Piece[] {
  const fault: Fault = faultOf(above, below);
  const pair = [" (", number(above.now), " above, ", number(below.now), " below)"];
  if (differing === 0) return ["Both say the same: change a word in one."];
  const turn = differing === 1 ? "turns" : "turn";
  const count = COUNTS[differing] ?? `${differing} words`;
  const story: Piece[] = [`${count} ${turn} `, word(above.name), " into ", word(below.name)];
  if (fault === "" || fault === "unknown") return [...story, "."];
  if (fault === "same") return ["The best guess stays ", word(above.name), ...pair, ": no story here."];
  if (fault === "unsure")
    return [
      "No story here: the model is not sure of ",
      word(above.name),
      " (",
      number(above.now),
      ") or ",
      word(below.name),
      " (",
      number(below.now),
      ").",
    ];
  return [...story, `, but no head alone moves either by more than ${MOVES.toFixed(2)}.`];
}

const where = (looked: Looked): Piece[] =>
  looked === null
    ? ["nowhere much"]
    : looked.itself
      ? ["at itself"]
      : looked.special
        ? ["on ", named(looked)]
        : ["at ", named(looked)];

/** "L5·H7 looks at milk above, at cat below." */
export function lookPairPieces(head: string, above: Looked, below: Looked): Piece[] {
  const [a, b] = [where(above), where(below)];
  const verb = (looked: Looked) => (looked?.special && !looked.itself ? " rests " : " looks ");
  const isSame = JSON.stringify(a) === JSON.stringify(b);
  if (isSame) return [{ head }, verb(above), ...a, " in both."];
  const join = verb(above) === verb(below) ? [" above, "] : [" above,", verb(below)];
  return [{ head }, verb(above), ...a, ...join, ...b, " below."];
}

/** A number with and without the head. */
export interface Move {
  name: string; // of the answer, "" for a vector's turn
  isScore?: boolean;
  from: number;
  to: number;
}

function movePieces({ name, isScore, from, to }: Move): Piece[] {
  const subject = isScore ? ["the score"] : name ? [word(name)] : ["the vector"];
  if (!name) return [...subject, " turns by ", number(to, true)];
  if (isAlike(from, to)) return [...subject, " stays at ", number(from)];
  return [...subject, to < from ? " falls from " : " rises from ", number(from), " to ", number(to, true)];
}

/** "Without it, milk falls from 0.32 to 0.13 above, cat from 0.66 to 0.27 below." */
export function effectPairPieces(above: Move, below: Move): Piece[] {
  const [a, b] = [movePieces(above), movePieces(below)];
  if (JSON.stringify(a) === JSON.stringify(b)) return ["Without it, ", ...a, " in both."];
  const second = below.name || above.name ? b : ["by ", number(below.to, true)];
  return ["Without it, ", ...a, " above, ", ...second, " below."];
}

/** Of two scores. */
export const scorePieces = (above: number, below: number): Piece[] =>
  isAlike(above, below)
    ? ["The score is ", number(above), " in both."]
    : ["The score is ", number(above), " above, ", number(below), " below."];

/** Of two vectors. */
export const alikePieces = (cosine: number): Piece[] => ["The two vectors are alike by ", number(cosine), " (cosine)."];
