// What random vectors and neurons drawn by lot would do, and what the marked ones do: the page's half of n80_chance and
// set_weights in bertlens/measures/neurons.py.
import { needQueryKey, rowWeights, type Slice } from "./attention";
import { contrastSet } from "./neurons";

const LOTS = 100; // sets drawn by lot
const LEAST_DRAWS = 20; // for an interval

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

export interface Draws {
  low: number; // 90 % of the draws lie from here
  median: number;
  high: number; // to here
}

const known = new Map<string, Draws | null>();

/** Neurons that carry 80 % where random q and k put a key at this rank (0 first) of K; null where none stands out. */
export function n80Chance(d: number, K: number, rank: number): Draws | null {
  const name = `${d} ${K} ${rank}`;
  if (!known.has(name)) known.set(name, K > 1 ? draw(d, K, rank) : null);
  return known.get(name)!;
}

function draw(d: number, K: number, rank: number): Draws | null {
  const uniform = uniforms();
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const normals = (n: number) => Float64Array.from({ length: n }, normal);
  const sizes: number[] = [];
  for (let left = Math.min(600, Math.ceil(3e5 / K)); left > 0; left--) {
    const [q, k, along] = [normals(d), normals(d), normals(K).sort()];
    const own = along[K - 1 - rank]!;
    const apart = own - (along.reduce((a, b) => a + b) - own) / (K - 1);
    const length = Math.hypot(...q);
    const wide = Math.sqrt(1 + 1 / (K - 1)); // the mean of the others varies too
    const across = apart - q.reduce((sum, x, n) => sum + x * k[n]!, 0) * (wide / length);
    const { n80 } = contrastSet(q.map((x, n) => x * (wide * k[n]! + (across * x) / length)));
    if (n80 > 0) sizes.push(n80);
  }
  sizes.sort((a, b) => a - b);
  const at = (share: number) => sizes[Math.floor(share * (sizes.length - 1))]!;
  return sizes.length < LEAST_DRAWS ? null : { low: at(0.05), median: at(0.5), high: at(0.95) };
}

/** The weight of (i, j) by the neurons of the set alone, by the rest alone, and by as many drawn by lot, on average. */
export function setWeights(slice: Slice, i: number, j: number, set: number[]) {
  const { q, d } = needQueryKey(slice);
  const own = new Float32Array((i + 1) * d);
  const by = (has: (n: number) => boolean) => {
    for (let n = 0; n < d; n++) own[i * d + n] = has(n) ? q[i * d + n]! : 0;
    return rowWeights({ ...slice, q: own }, i)[j]!;
  };
  const uniform = uniforms();
  const order = Array.from({ length: d }, (_, n) => n);
  let lot = 0;
  for (let left = LOTS; left > 0; left--) {
    for (let n = 0; n < set.length; n++) {
      const other = n + Math.floor(uniform() * (d - n));
      [order[n], order[other]] = [order[other]!, order[n]!];
    }
    const drawn = new Set(order.slice(0, set.length));
    lot += by((n) => drawn.has(n)) / LOTS;
  }
  return { alone: by((n) => set.includes(n)), rest: by((n) => !set.includes(n)), lot };
}
