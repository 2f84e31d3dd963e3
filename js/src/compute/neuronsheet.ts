// The numbers of the neuron view for one query and one key in focus: what the view paints and an export prints.

import { CELLS, maskAt, needQueryKey, rowWeights, type Slice, scores, visible } from "./attention";
import { largestSize } from "./largest";
import { type Draws, n80Chance, type SetWeights, setWeights } from "./neuronchance";
import { type ContrastSet, contrast, contrastSet, products } from "./neurons";
import { termAt } from "./scoreterms";

export type NeuronOrder = "contribution" | "index" | "query";
export type KeyOrder = "position" | "attention" | "score";

export const FIRST_KEYS = 10; // listed at first, the most attended ones

/** What depends on the cell alone. */
export interface CellFacts {
  query: number;
  key: number;
  q: Float32Array; // (d) the query vector
  scores: Float64Array; // (K)
  alpha: Float64Array; // (K)
  terms: Float64Array; // (d) each neuron's share of the contrast
  carriers: ContrastSet;
  weights: SetWeights | null; // of the cell by its set; null where there is no set
  chance: () => Draws | null; // neurons that random vectors need, drawn when asked for; null where there is no set
  keyCount: number; // keys
  rank: number; // of this key among them by q·k, 1 the first
}

/** What depends on the chosen orders too: strips in the order shown. */
export interface NeuronSheet extends CellFacts {
  neurons: number[]; // (d) column -> neuron
  marked: boolean[]; // (d) column is in the set that carries 80 %
  keys: number[]; // row -> key
  hidden: number; // keys left out
  qShown: Float32Array; // (d)
  kShown: Float32Array; // (keys·d)
  productsShown: Float32Array; // (keys·d)
  vectorScale: number;
  productScale: number;
  scoreScale: number;
}

const factsCache = new WeakMap<Slice, Map<string, CellFacts>>(); // heads and cells are gone back to

export function cellFacts(slice: Slice, query: number, key: number): CellFacts {
  const cells = factsCache.get(slice) ?? new Map<string, CellFacts>();
  factsCache.set(slice, cells);
  const name = `${query} ${key}`;
  const facts = cells.get(name) ?? factsOf(slice, query, key);
  cells.delete(name);
  cells.set(name, facts); // the last one again
  for (const oldest of cells.keys()) if (oldest !== name && cells.size * bytesOf(facts) > CELLS) cells.delete(oldest);
  return facts;
}

/** What a cell takes; about the same for each of a head's. */
const bytesOf = ({ scores, alpha, terms }: CellFacts): number =>
  scores.byteLength + alpha.byteLength + terms.byteLength;

function factsOf(slice: Slice, query: number, key: number): CellFacts {
  const terms = contrast(slice, query, key);
  const row = scores(slice, query);
  const carriers = contrastSet(terms);
  const keyCount = row.filter((s) => s > Number.NEGATIVE_INFINITY).length;
  const byProduct = row.map((s, j) => (s > Number.NEGATIVE_INFINITY ? s - termsAt(slice, query, j) : s));
  const rank = 1 + byProduct.filter((s) => s > byProduct[key]!).length;
  return {
    query,
    key,
    q: slice.q!.subarray(query * slice.d, (query + 1) * slice.d),
    scores: row,
    alpha: rowWeights(slice, query),
    terms,
    carriers,
    weights: carriers.set.length > 0 ? setWeights(slice, query, key, carriers.set) : null,
    chance: () => (carriers.n80 > 0 ? n80Chance(slice.d, keyCount, rank - 1) : null),
    keyCount,
    rank,
  };
}

/** What all terms beside q·k add to a score. */
function termsAt(slice: Slice, query: number, key: number): number {
  const vectors = needQueryKey(slice);
  return slice.terms.reduce((sum, term) => sum + termAt(term, vectors, query, key), 0);
}

/** What a score has beside q·k, by name: the terms of its family, and what a mask adds that is more than yes or no. */
export interface Added {
  name: string;
  value: number;
}

export function addedAt(slice: Slice, query: number, key: number): Added[] {
  const vectors = needQueryKey(slice);
  const ofMask = maskAt(slice, query, key);
  if (ofMask === Number.NEGATIVE_INFINITY) return [];
  return [
    ...slice.terms.map((term) => ({ name: term.name, value: termAt(term, vectors, query, key) })),
    ...(ofMask === 0 ? [] : [{ name: "mask", value: ofMask }]),
  ];
}

/** Of each term, what it adds to a score, and on average to those of the other keys that the query sees. */
export function termContrasts(slice: Slice, query: number, key: number): (Added & { others: number })[] {
  const vectors = needQueryKey(slice);
  const keys = Array.from({ length: slice.K }, (_, j) => j).filter((j) => j !== key && visible(slice, query, j));
  return slice.terms.map((term) => {
    const at = (j: number) => termAt(term, vectors, query, j);
    return { name: term.name, value: at(key), others: keys.reduce((sum, j) => sum + at(j), 0) / keys.length };
  });
}

export function neuronSheet(
  slice: Slice,
  facts: CellFacts,
  choice: { neurons: NeuronOrder; keys: KeyOrder; all: boolean; left: number[] },
): NeuronSheet {
  const { d, k } = slice;
  const neurons = orderNeurons(choice.neurons, facts);
  const { keys, hidden } = orderKeys(choice, facts);
  const kShown = new Float32Array(keys.length * d);
  const productsShown = new Float32Array(keys.length * d);
  keys.forEach((j, row) => {
    const product = products(slice, facts.query, j);
    neurons.forEach((n, column) => {
      kShown[row * d + column] = k![j * d + n]!;
      productsShown[row * d + column] = product[n]!;
    });
  });
  const qShown = Float32Array.from(neurons, (n) => facts.q[n]!);
  const set = new Set(facts.carriers.set);
  return {
    ...facts,
    neurons,
    marked: neurons.map((n) => set.has(n)),
    keys,
    hidden,
    qShown,
    kShown,
    productsShown,
    vectorScale: Math.max(largestSize(qShown), largestSize(kShown)) || 1,
    productScale: largestSize(productsShown) || 1,
    scoreScale: largestSize(keys.map((j) => facts.scores[j]!).filter(Number.isFinite)) || 1,
  };
}

function orderNeurons(order: NeuronOrder, { terms, q }: CellFacts): number[] {
  const neurons = Array.from(q.keys());
  if (order === "contribution") neurons.sort((a, b) => terms[b]! - terms[a]! || a - b);
  if (order === "query") neurons.sort((a, b) => Math.abs(q[b]!) - Math.abs(q[a]!) || a - b);
  return neurons;
}

/** The keys that the filters leave, the most attended ones first in line; the one in focus always. */
function orderKeys(
  { keys: order, all, left }: { keys: KeyOrder; all: boolean; left: number[] },
  { key, alpha, scores }: CellFacts,
): { keys: number[]; hidden: number } {
  const candidates = left.includes(key) ? left : [...left, key];
  const by = (values: Float64Array) => (a: number, b: number) => values[b]! - values[a]! || a - b;
  const selection = new Set(all ? candidates : [key, ...[...candidates].sort(by(alpha)).slice(0, FIRST_KEYS)]);
  const orders: Record<KeyOrder, (a: number, b: number) => number> = {
    position: (a, b) => a - b,
    attention: by(alpha),
    score: by(scores),
  };
  const keys = candidates.filter((j) => selection.has(j)).sort(orders[order]);
  return { keys, hidden: candidates.length - keys.length };
}

/** Before each key in the order of the text, how many of those left by the filters are not listed. */
export function gapsBefore(keys: readonly number[], left: readonly number[]): number[] {
  let at = 0;
  return keys.map((key) => {
    const start = at;
    while (at < left.length && left[at]! < key) at++;
    const hidden = at - start;
    if (left[at] === key) at++;
    return hidden;
  });
}

const BLOCK = 100; // rows that are drawn or left out together

/** The rows to draw of so many, three blocks around the one that is scrolled to: all of a short list. */
export function rowsInView(block: number, count: number): { from: number; to: number } {
  const lastBlock = Math.max(0, Math.ceil(count / BLOCK) - 1);
  const from = BLOCK * Math.max(0, Math.min(block, lastBlock - 1) - 1);
  return { from, to: Math.min(count, from + 3 * BLOCK) };
}

/** The block at a row. */
export const blockOf = (row: number): number => Math.max(0, Math.floor(row / BLOCK));

/** The numbers of the line from q·k to α. Exponentials are shifted by the largest score where they would be huge. */
export function softmaxSteps(slice: Slice, { query, key, q, scores, alpha }: CellFacts) {
  let dot = 0;
  for (let n = 0; n < slice.d; n++) dot += q[n]! * slice.k![key * slice.d + n]!;
  const finite = scores.filter((s) => s !== Number.NEGATIVE_INFINITY);
  const peak = finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const shift = peak > 20 ? peak : 0;
  return {
    query,
    masked: scores[key] === Number.NEGATIVE_INFINITY,
    dot,
    scaled: dot * slice.scaling,
    added: addedAt(slice, query, key),
    score: scores[key]!,
    seen: finite.length,
    shift,
    sum: finite.reduce((total, s) => total + Math.exp(s - shift), 0),
    alpha: alpha[key]!,
  };
}
