// The line from the token whose answer is shown to the answer's bars: geometry alone, in pixels.
import type { Box } from "../state/frontstate";

const BEND = 8; // radius
const BELOW = 5; // the token, where the line turns
const CLEAR = 3; // of text on either side

/** Where it begins, and the line that the bars begin at. */
export interface Ends {
  x: number;
  y: number; // under the token
  zero: number;
  top: number; // of the bars with their heading
  bottom: number;
}

const crosses = (x0: number, x1: number, y0: number, y1: number, { left, right, top, bottom }: Box) =>
  Math.max(x0, x1) > left - CLEAR &&
  Math.min(x0, x1) < right + CLEAR &&
  Math.max(y0, y1) > top - CLEAR &&
  Math.min(y0, y1) < bottom + CLEAR;

/** Down, aside right under the token, down along the bars; null where it would cross text. */
export function threadPath({ x, y, zero, top, bottom }: Ends, texts: Box[]): string | null {
  const isStraight = Math.abs(zero - x) < 1;
  const turn = isStraight ? y : y + BELOW;
  const isFree = (...way: [number, number, number, number]) => !texts.some((text) => crosses(...way, text));
  if (turn > top || !isFree(x, x, y, turn) || !isFree(x, zero, turn, turn) || !isFree(zero, zero, turn, bottom))
    return null;
  if (isStraight) return `M${zero} ${y}V${bottom}`;
  const side = Math.sign(zero - x);
  const [first, second] = [Math.min(BEND, BELOW, Math.abs(zero - x) / 2), Math.min(BEND, Math.abs(zero - x) / 2)];
  return [
    `M${x} ${y}V${turn - first}q0 ${first} ${side * first} ${first}`,
    `H${zero - side * second}q${side * second} 0 ${side * second} ${second}V${bottom}`,
  ].join("");
}

/** How wide the bars' column is so that they begin at the token, from a third to 45 % of the row. */
export const columnWidth = (row: number, x: number, names: number): number =>
  Math.round(Math.max(0.33 * row, Math.min(0.45 * row, row - x + names)));
