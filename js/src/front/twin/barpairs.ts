// Two answers as pairs of bars, heads by what they do to either, and whether one head carries the difference: pure.

/** One name's number above and below; null: not known, or no such name there. */
export interface BarPair {
  name: string;
  above: number | null;
  below: number | null;
}

interface Row {
  name: string;
  value: number;
}

const ROWS = 5;

/** The names to show: the best of either are among them, else the largest number in either; in the order of the lower's
 * numbers, then of the upper's. `isOrdered`: names have an order of their own, as tags have. */
export function pairNames(above: Row[], below: Row[], isOrdered = false, most = ROWS): string[] {
  const numbers = new Map<string, [above: number, below: number]>();
  for (const { name, value } of below) numbers.set(name, [0, value]);
  for (const { name, value } of above) numbers.set(name, [value, numbers.get(name)?.[1] ?? 0]);
  const names = [...numbers.keys()];
  const best = (side: 0 | 1) =>
    names.reduce((a, b) => (numbers.get(b)![side] > numbers.get(a)![side] ? b : a), names[0]!);
  const needed = new Set(names.length > 0 ? [best(0), best(1)] : []);
  const size = (name: string) => Math.max(...numbers.get(name)!);
  const candidates = names.filter((name) => !needed.has(name)).sort((a, b) => size(b) - size(a));
  const list = [...needed, ...candidates.slice(0, most - needed.size)];
  if (isOrdered) return names.filter((name) => list.includes(name));
  const [a, b] = [(name: string) => numbers.get(name)![0], (name: string) => numbers.get(name)![1]];
  return list.sort((x, y) => b(y) - b(x) || a(y) - a(x));
}

/** In the order of the lower's numbers, then of the upper's. */
export const inOrder = (pairs: BarPair[]): BarPair[] =>
  pairs.toSorted((x, y) => (y.below ?? 0) - (x.below ?? 0) || (y.above ?? 0) - (x.above ?? 0));

/** What a head's absence changes above and below. */
export interface HeadPair {
  layer: number;
  head: number;
  above: number;
  below: number;
}

/** All heads that have a number in either, the largest change of either first. */
export function headPairs(above: ArrayLike<number>, below: ArrayLike<number>, n_heads: number): HeadPair[] {
  const size = (one: HeadPair) => Math.max(Math.abs(one.above), Math.abs(one.below));
  return Array.from(above, (value, n): HeadPair => {
    const head = n % n_heads;
    return { layer: (n - head) / n_heads, head, above: value, below: below[n]! };
  })
    .filter(({ above, below }) => !Number.isNaN(above) && !Number.isNaN(below))
    .sort((a, b) => size(b) - size(a));
}

export const SURE = 0.1; // a best guess below it is none to speak of
export const MOVES = 0.1; // of an answer, more than which a head must move it to carry a story

/** A run's best guess, and what it is without the head. */
export interface Guess {
  name: string;
  now: number;
  without: number | null; // null: not known
}

/** Why two sentences tell no story of one head: "" where they do. */
export type Fault = "" | "same" | "unsure" | "no head" | "unknown";

/** Both best guesses differ, both are 0.10 or more, and the head moves one by more than 0.10. */
export function faultOf(above: Guess, below: Guess): Fault {
  if (above.name === below.name) return "same";
  if (Math.min(above.now, below.now) < SURE) return "unsure";
  const moved = [above, below].map(({ now, without }) => (without === null ? Number.NaN : Math.abs(without - now)));
  if (moved.some((one) => one > MOVES)) return "";
  return moved.some(Number.isNaN) ? "unknown" : "no head";
}
