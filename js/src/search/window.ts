// What is shown of a long passage: the words round what counts.
import type { Ground } from "./grounds";

export const WORDS = 40;

/** The rows of a text's words that are shown, the first and one past the last of `rows`: the WORDS in a row whose parts
 * sum to most. */
export function windowOf(rows: number[], grounds: (Ground | null)[]): [from: number, to: number] {
  if (rows.length <= WORDS) return [0, rows.length];
  const sizes = rows.map((row) => Math.abs(grounds[row]?.part ?? 0));
  let sum = sizes.slice(0, WORDS).reduce((a, b) => a + b, 0);
  let [best, at] = [sum, 0];
  for (let from = 1; from + WORDS <= rows.length; from++) {
    sum += sizes[from + WORDS - 1]! - sizes[from - 1]!;
    if (sum > best + 1e-12) [best, at] = [sum, from];
  }
  return [at, at + WORDS];
}

/** The median of the sizes of the parts of a text's words: only what is above it has a ground. */
export function medianOf(rows: number[], grounds: (Ground | null)[]): number {
  const sizes = rows.map((row) => Math.abs(grounds[row]?.part ?? 0)).sort((a, b) => a - b);
  const half = sizes.length >> 1;
  return sizes.length % 2 ? sizes[half]! : sizes.length ? (sizes[half - 1]! + sizes[half]!) / 2 : 0;
}
