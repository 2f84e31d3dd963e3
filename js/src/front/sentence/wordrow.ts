// What the sentence shows of a head: its words, which of them asks, and the row of that word.
import { type Grid, grid, type TokenSide, type Unit, units } from "../../compute/grid";
import { type Cells, isLong } from "../../compute/windows";
import { written } from "../../head/running";
import { headsInHand } from "../../state/frontanswers";
import type { Overview } from "../../state/overview";
import { rowsOf, unitValues } from "../../state/rows";
import type { View } from "../../state/view";
import { type Place, placesOf } from "./wordplaces";

/** One line of the picture: a text, and which words stand where in it. */
export interface TextLine {
  text: string;
  places: (Place | null)[]; // of all words of the picture
  before: number[]; // tokens that are not in the text: chips beside it
  after: number[];
}

export interface Words {
  units: Unit[]; // of all lines
  lines: TextLine[];
  rows: Unit[]; // words that ask, and words that are looked at, each a part of `units`
  cols: Unit[];
  markers: boolean[]; // of the units: tokens that stand in no text
}

/** A text of tokens, where nothing else is known of it. */
function spelt(side: TokenSide, list: Unit[]): { text: string; places: (Place | null)[] } {
  let text = "";
  const places = list.map((unit) => {
    if (unit.special) return null;
    const word = written(side, unit);
    if (text && word.hasBlank) text += " ";
    const start = text.length;
    text += word.text;
    return { start, end: text.length };
  });
  return { text, places };
}

function lineOf(side: TokenSide, list: Unit[], text: string): TextLine {
  const typed = { text, places: placesOf(text, list) };
  const count = list.filter(({ special }) => !special).length;
  const isOf = typed.places.filter(Boolean).length >= count / 2 && text !== "";
  const { places, text: line } = isOf ? typed : spelt(side, list);
  const [start, end] = [places.findIndex(Boolean), places.findLastIndex(Boolean)];
  const outside = (test: (n: number) => boolean) => list.flatMap((_, n) => (places[n] || !test(n) ? [] : [n]));
  return {
    text: line,
    places,
    before: outside((n) => n < start || start < 0),
    after: outside((n) => n > end && start >= 0),
  };
}

/** The line of units that begin at number `from` of all. */
const shifted = ({ text, places, before, after }: TextLine, from: number, count: number): TextLine => {
  const move = (n: number) => n + from;
  const padded = Array.from({ length: count }, (_, n) => places[n - from] ?? null);
  return { text, places: padded, before: before.map(move), after: after.map(move) };
};

const memo = new WeakMap<TokenSide, Words>();

/** The words of an overview, in its one or two lines. */
export function wordsOf({ queries, keys, text, text_pair, pair }: Overview): Words {
  const memory = memo.get(queries);
  if (memory) return memory;
  const rows = units(queries, true);
  const cols = keys ? units(keys, true) : rows;
  const list = keys ? [...rows, ...cols] : rows;
  const second = keys ? rows.length : pair ? rows.findIndex(({ segment }) => segment === 1) : -1;
  const lines =
    second < 0
      ? [lineOf(queries, rows, text)]
      : [
          shifted(lineOf(queries, list.slice(0, second), text), 0, list.length),
          shifted(lineOf(keys ?? queries, list.slice(second), text_pair), second, list.length),
        ];
  const markers = list.map((_, n) => lines.every(({ places }) => !places[n]));
  const words = { units: list, lines, rows, cols, markers };
  memo.set(queries, words);
  return words;
}

export const MASK = /^[[<]mask[\]>]$/i;

const LETTER = /[\p{L}\p{N}]/u;

/** Whether a unit is a word, neither punctuation nor a token of the template nor a slot. */
export const isLettered = ({ label, special }: Unit): boolean => !special && LETTER.test(label) && !MASK.test(label);

/** The word that asks, by its number: under the pointer or the focus, pinned, the mask, or that which looks clearest. */
export function askerOf(view: View, words: Words, pointed = view.page.front.word.value): number {
  const { focus, overview, page } = view;
  const { rows, markers } = words;
  const masks = overview.queries.tokens.flatMap((token, n) => (MASK.test(token) ? [n] : []));
  const mask = masks.find((n) => n === page.targetAt.value) ?? masks[0] ?? -1; // that whose answer is shown
  const piece = pointed?.[0] ?? (focus.pinnedQuery || mask < 0 ? focus.query : mask);
  const word = rows.findIndex(({ pieces }) => pieces.includes(piece));
  const isChosen = pointed || focus.pinnedQuery || !markers[word];
  return Math.max(0, isChosen ? word : markers.indexOf(false));
}

const grids = new WeakMap<Cells, Grid>();

/** The weights of a head between words: summed over the pieces that are looked at, the mean over those that ask. */
export function wordWeights(weights: Cells, { rows, cols }: Words): Grid {
  const memory = grids.get(weights);
  if (memory?.rows === rows) return memory;
  const now = grid(weights, rows, cols);
  grids.set(weights, now);
  return now;
}

/** A row of a head that is not the one shown. */
export interface PreviewRow {
  layer: number;
  head: number;
  asker: number; // its word
  weights: Float32Array; // over the columns
}

/** The head whose chip is pointed at, from the rows that the page has of all heads; null for the one shown, and until
 * they are here. */
export function previewOf(view: View, words: Words): PreviewRow | null {
  const { page, overview, shownHead } = view;
  const preview = page.front.preview.value;
  if (!preview || shownHead.layerMap) return null;
  const { layer, head, row } = preview;
  if (layer === shownHead.layer && head === shownHead.head) return null;
  const asker = row < 0 ? askerOf(view, words, null) : words.rows.findIndex(({ pieces }) => pieces.includes(row));
  const rows = words.rows[asker] && rowsOf(view, overview, words.rows[asker]);
  if (rows?.state !== "answered") return null;
  const K = overview.keyside.tokens.length;
  const at = (layer * overview.n_heads + head) * K;
  const weights = unitValues(rows.value.weight.subarray(at, at + K), words.cols, false);
  return weights.some(Number.isNaN) ? null : { layer, head, asker, weights };
}

/** The mean row of the heads that were taken together, of the word that asks; null where the arcs are of one head, and
 * until the rows are here. */
export function meanRowOf(view: View, words: Words): Float32Array | null {
  const { overview, page } = view;
  const heads = headsInHand(view);
  const query = words.rows[askerOf(view, words)];
  if (heads.length < 2 || page.front.word.value || !query) return null;
  const rows = rowsOf(view, overview, query);
  if (rows?.state !== "answered") return null;
  const K = overview.keyside.tokens.length;
  const mean = new Float32Array(K);
  for (const [layer, head] of heads)
    rows.value.weight
      .subarray((layer * overview.n_heads + head) * K, (layer * overview.n_heads + head + 1) * K)
      .forEach((weight, n) => {
        mean[n]! += weight / heads.length;
      });
  return mean.some(Number.isNaN) ? null : unitValues(mean, words.cols, false);
}

/** The row of a word over all units of the picture. */
export function rowOf(row: Float32Array, { units: list, rows, cols }: Words): Float32Array {
  if (rows === cols) return row;
  const wide = new Float32Array(list.length);
  wide.set(row, rows.length);
  return wide;
}

/** Too long for a picture of all of its words' rows. */
export const isLongText = ({ rows, cols }: Cells) => isLong(rows, cols) || cols > 512;
