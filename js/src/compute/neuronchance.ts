// What random vectors and neurons picked at random would do, and what the marked ones do: the page's half of n80_chance and
// set_weights in bertlens/measures/neurons.py.
import { NEURON_DRAWS } from "../generated/vocabulary";
import { biasOf, needQueryKey, type Slice, softmax } from "./attention";
import { contrastSet } from "./neurons";

const LOTS = 100; // sets picked at random
const DRAWS = 6000; // random heads: a median of whole neurons needs many
const MOST_KEYS = 5e5; // drawn in all: of long texts fewer heads

/** Numbers from 0 to 1, the same ones every time (mulberry32). */
function uniforms(): () => number {
  let state = 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Independent standard normals, two of a pair of uniforms (Box and Muller 1958). */
function normals(out: Float64Array, uniform: () => number): void {
  for (let n = 0; n < out.length; n += 2) {
    const [radius, turn] = [Math.sqrt(-2 * Math.log(1 - uniform())), 2 * Math.PI * uniform()];
    out[n] = radius * Math.cos(turn);
    out[n + 1] = radius * Math.sin(turn); // beyond the end of an odd one: nothing
  }
}

export interface Draws {
  low: number; // 90 % of the draws lie from here
  median: number;
  high: number; // to here
}

const cache = new Map<string, Draws | null>();

/** Neurons that carry 80 % where random q and k put a key at this rank (0 first) of K; null where none stands out. */
export function n80Chance(d: number, K: number, rank: number): Draws | null {
  const name = `${d} ${K} ${rank}`;
  if (!cache.has(name)) cache.set(name, K > 1 ? draw(d, K, rank) : null);
  return cache.get(name)!;
}

function draw(d: number, K: number, rank: number): Draws | null {
  const uniform = uniforms();
  const [q, k, along] = [new Float64Array(d), new Float64Array(d), new Float64Array(K)];
  const sizes: number[] = [];
  const wide = Math.sqrt(1 + 1 / (K - 1)); // the mean of the others varies too
  for (let round = Math.min(DRAWS, Math.ceil(MOST_KEYS / K)); round > 0; round--) {
    for (const vector of [q, k, along]) normals(vector, uniform);
    const score = along.sort()[K - 1 - rank]!;
    const gap = score - (along.reduce((a, b) => a + b) - score) / (K - 1);
    const length = Math.hypot(...q);
    let already = 0;
    for (let n = 0; n < d; n++) already += (q[n]! * wide * k[n]!) / length;
    const { n80 } = contrastSet(q.map((x, n) => x * (wide * k[n]! + ((gap - already) * x) / length)));
    if (n80 > 0) sizes.push(n80);
  }
  sizes.sort((a, b) => a - b);
  const at = (share: number) => sizes[Math.floor(share * (sizes.length - 1))]!;
  return sizes.length < NEURON_DRAWS ? null : { low: at(0.05), median: at(0.5), high: at(0.95) };
}

/** A weight by some neurons alone. */
export interface SetWeights {
  alone: number; // the set
  rest: number;
  lot: number; // as many, picked at random
}

/** The weight of (i, j) by the neurons of the set alone, by the rest alone, and by as many picked at random, on average. */
export function setWeights(slice: Slice, i: number, j: number, set: number[]): SetWeights {
  const vectors = needQueryKey(slice);
  const { q, k, d, K, scaling } = vectors;
  const products = new Float64Array(d * K); // of every neuron in every key's score: a set is a sum of a few rows
  const bias = new Float64Array(K);
  for (let at = 0; at < K; at++) {
    bias[at] = biasOf(vectors, i, at);
    for (let n = 0; n < d; n++) products[n * K + at] = scaling * q[i * d + n]! * k[at * d + n]!;
  }
  const row = new Float64Array(K);
  const by = (neurons: number[]) => {
    row.set(bias);
    for (const n of neurons) for (let at = 0; at < K; at++) row[at]! += products[n * K + at]!;
    softmax(row);
    return row[j]!;
  };
  const uniform = uniforms();
  const order = Array.from({ length: d }, (_, n) => n);
  let lot = 0;
  for (let round = LOTS; round > 0; round--) {
    for (let n = 0; n < set.length; n++) {
      const swap = n + Math.floor(uniform() * (d - n));
      [order[n], order[swap]] = [order[swap]!, order[n]!];
    }
    lot += by(order.slice(0, set.length)) / LOTS;
  }
  return { alone: by(set), rest: by(order.filter((n) => !set.includes(n))), lot };
}
