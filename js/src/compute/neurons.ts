// How single neurons (dimensions of q and k) make a score: the page's half of bertlens/measures/neurons.py.
import { NEURON_SHARE } from "../generated/vocabulary";
import { needQueryKey, type QueryKeySlice, type Slice, strongestKey, visible } from "./attention";
import { type Cells, isLong } from "./windows";

/** The neurons that carry 80 % of a contrast. */
export interface ContrastSet {
  set: number[]; // their indices, ascending; empty if the net contrast is not positive
  n80: number; // how many they are; NaN if the net contrast is not positive
  net: number; // the whole contrast: score of the key − mean score of the other visible keys
}

/** q_i ∘ k_j, unscaled: (d). */
export function products(slice: Slice, i: number, j: number): Float64Array {
  const { q, k, d } = needQueryKey(slice);
  return Float64Array.from({ length: d }, (_, n) => q[i * d + n]! * k[j * d + n]!);
}

/** scaling · q_i ∘ (k_j − mean of the other visible keys): (d). NaN if query i sees no other key. */
export function contrast(slice: Slice, i: number, j: number): Float64Array {
  const vectors = needQueryKey(slice);
  return contrastWith(vectors, i, j, visibleSum(vectors, i));
}

/** Sum of the keys that query i sees, and how many they are. */
function visibleSum(slice: QueryKeySlice, i: number) {
  const { k, d, K } = slice;
  const sum = new Float64Array(d);
  let count = 0;
  for (let j = 0; j < K; j++) {
    if (!visible(slice, i, j)) continue;
    for (let n = 0; n < d; n++) sum[n]! += k[j * d + n]!;
    count++;
  }
  return { sum, count };
}

function contrastWith(slice: QueryKeySlice, i: number, j: number, { sum, count }: ReturnType<typeof visibleSum>) {
  const { q, k, d, scaling } = slice;
  const inSum = visible(slice, i, j) ? 1 : 0; // in the sum
  const terms = new Float64Array(d);
  for (let n = 0; n < d; n++) {
    const key = k[j * d + n]!;
    const mean = (sum[n]! - inSum * key) / (count - inSum); // 0/0 is NaN: nothing to compare with
    terms[n] = scaling * q[i * d + n]! * (key - mean);
  }
  return terms;
}

/**
 * The least number of neurons, largest contribution first, whose sum reaches 80 % of the net contrast. They are few, and
 * a view asks for every query's: each is looked for instead of sorting all.
 */
export function contrastSet(parts: Float64Array): ContrastSet {
  let net = 0;
  for (let n = 0; n < parts.length; n++) net += parts[n]!;
  if (!(net > 0)) return { set: [], n80: Number.NaN, net };
  const set: number[] = [];
  const pool = parts.slice();
  for (let total = 0; total < NEURON_SHARE * net && set.length < parts.length; ) {
    let best = 0;
    for (let n = 1; n < pool.length; n++) if (pool[n]! > pool[best]!) best = n;
    total += parts[best]!;
    pool[best] = Number.NEGATIVE_INFINITY;
    set.push(best);
  }
  return { set: set.sort((a, b) => a - b), n80: set.length, net };
}

/**
 * Mean Jaccard overlap of the set of (i, j) with the set of every other query toward its own most attended key, and the
 * mean overlap expected of random sets of the same sizes; of a long text some queries that are spread over it. NaN if (i, j) has no set or there is no other query.
 * A query without a set shares nothing.
 */
export function reuse(
  slice: Slice,
  i: number,
  j: number,
  weights: Cells,
): { jaccard: number; chance: number; others: number } {
  const { d } = slice;
  const { set: marked } = contrastSet(contrast(slice, i, j));
  const sets = strongestSets(needQueryKey(slice), weights);
  const count = sets.size - (sets.has(i) ? 1 : 0);
  if (marked.length === 0 || count === 0) return { jaccard: Number.NaN, chance: Number.NaN, others: count };
  const expected = new Map<number, number>(); // by the size of the other set
  let [jaccard, chance] = [0, 0];
  sets.forEach((set, other) => {
    if (other === i) return;
    const shared = set.filter((n) => marked.includes(n)).length;
    jaccard += shared / (marked.length + set.length - shared);
    if (!expected.has(set.length)) expected.set(set.length, expectedJaccard(marked.length, set.length, d));
    chance += expected.get(set.length)!;
  });
  return { jaccard: jaccard / count, chance: chance / count, others: count };
}

const SAMPLE = 32; // queries of a long text
const setCache = new WeakMap<Cells, Map<number, number[]>>(); // every pin in a head asks for all of them

/** For every query, in a long text for some that are spread over it, the set toward its own most attended key. */
function strongestSets(slice: QueryKeySlice, weights: Cells): Map<number, number[]> {
  const { S, K, mask } = slice;
  const common = mask.kind === "full" ? visibleSum(slice, 0) : null; // the same for every query
  const setOf = (i: number) =>
    contrastSet(contrastWith(slice, i, strongestKey(weights.row(i)), common ?? visibleSum(slice, i))).set;
  const count = isLong(S, K) ? SAMPLE : S;
  const queries = Array.from({ length: count }, (_, n) => Math.floor(((n + 0.5) * S) / count));
  if (!setCache.has(weights)) setCache.set(weights, new Map(queries.map((i) => [i, setOf(i)])));
  return setCache.get(weights)!;
}

/** Expected Jaccard index of two random sets of sizes a and b out of d: exact, the overlap is hypergeometric. */
export function expectedJaccard(a: number, b: number, d: number): number {
  let expected = 0;
  for (let x = Math.max(0, a + b - d); x <= Math.min(a, b); x++) {
    const chance = Math.exp(logChoose(a, x) + logChoose(d - a, b - x) - logChoose(d, b));
    expected += (chance * x) / (a + b - x);
  }
  return expected;
}

function logChoose(n: number, k: number): number {
  let log = 0;
  for (let m = 1; m <= k; m++) log += Math.log((n - k + m) / m);
  return log;
}
