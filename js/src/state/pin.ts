// The cell that is meant. What a reader pinned stays; where the key is not pinned, it is the word that the query's row gives
// most, and so follows head and text. A question quotes its weight only where that is on the screen and says something.
import { strongestKey } from "../compute/attention";
import { type Grid, type TokenSide, type Unit, units } from "../compute/grid";
import type { Synced } from "../kernel/synced";
import type { Overview } from "./overview";

const LETTER = /[\p{L}\p{N}]/u;
const wordsBySide = new WeakMap<TokenSide, number[][]>();

/** The tokens of each word that has a letter or a digit; none of the template's. */
function letteredWords(side: TokenSide): number[][] {
  if (!wordsBySide.has(side)) {
    const words = units(side, true).filter(
      ({ pieces, special }) => !special && pieces.some((n) => LETTER.test(side.tokens[n]!)),
    );
    wordsBySide.set(
      side,
      words.map(({ pieces }) => pieces),
    );
  }
  return wordsBySide.get(side)!;
}

/** More than an even share of a row, and not by its last bits. */
export const isAboveEven = (weight: number, keys: number): boolean => weight > 1.000001 / keys;

/** As strongest_word of bertlens/measures/words.py: the strongest piece of the word that a row gives most; null where it has no
 * more than an even share. `own`: the query among the keys, whose word is not meant. */
export function strongestWord(row: Float32Array, side: TokenSide, own: number | null): number | null {
  let [best, peak] = [[] as number[], Number.NEGATIVE_INFINITY];
  for (const pieces of letteredWords(side)) {
    if (own !== null && pieces.includes(own)) continue;
    const weight = pieces.reduce((sum, n) => sum + row[n]!, 0);
    if (weight > peak) [best, peak] = [pieces, weight];
  }
  if (best.length === 0) return null;
  const key = best.reduce((a, b) => (row[b]! > row[a]! ? b : a));
  return isAboveEven(row[key]!, row.length) ? key : null;
}

export interface Focus {
  query: number;
  key: number;
  pinnedQuery: boolean;
  pinnedKey: boolean;
}

const within = (piece: number | null, count: number) => piece !== null && piece >= 0 && piece < count;

/** `clearest`: the query where none is pinned. */
export function focusOf(
  { query, key }: Pick<Synced, "query" | "key">,
  { queries, keyside, square }: Pick<Overview, "queries" | "keyside" | "square">,
  clearest: () => number,
  rowOf: (query: number) => Float32Array,
): Focus {
  const pinnedQuery = within(query.value, queries.tokens.length);
  const pinnedKey = within(key.value, keyside.tokens.length);
  const at = pinnedQuery ? query.value! : clearest();
  if (pinnedKey) return { query: at, key: key.value!, pinnedQuery, pinnedKey };
  const row = rowOf(at);
  return {
    query: at,
    key: strongestWord(row, keyside, square ? at : null) ?? strongestKey(row),
    pinnedQuery,
    pinnedKey,
  };
}

/** What the picture shows. */
export interface Picture {
  focus: Focus;
  weights: { row(query: number): Float32Array };
  grid: Pick<Grid, "rows" | "cols" | "values">;
  isOfWeights: boolean; // and not of norms, or a map of the layer
  digits: number; // of a weight as it is written
}

/** How many of a row are listed beside its picture at least, beside what is pinned: the largest. */
export const LISTED = 6;

/** The weight that a question about the meant cell quotes; null where no query is pinned, the list does not say it, the cell is
 * not in the picture or is another number there, or the weight, as it is written too, is no more than an even share of its row. */
export function quotedWeight({ focus, weights, grid, isOfWeights, digits }: Picture): number | null {
  const { query, key, pinnedQuery, pinnedKey } = focus;
  if (!pinnedQuery) return null; // no row is listed
  const row = weights.row(query);
  const weight = row[key] ?? 0;
  const place = (side: Unit[], piece: number) => side.findIndex(({ pieces }) => pieces.includes(piece));
  const [r, c] = [place(grid.rows, query), place(grid.cols, key)];
  const isAbove = [weight, Number(weight.toFixed(digits))].every((one) => isAboveEven(one, row.length));
  if (r < 0 || c < 0 || !isAbove) return null;
  if (!isOfWeights) return weight;
  const numbers = grid.values.row(r);
  const own = numbers[c]!;
  const rank = numbers.filter((other, n) => other > own || (other === own && n < c)).length;
  return Math.abs(own - weight) < 5e-7 && (pinnedKey || rank < LISTED) ? weight : null;
}
