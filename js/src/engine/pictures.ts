// What the atlas shows of a head, from its weights while a pass has them: a thumbnail, statistics, what keys receive.
// Defined by bertlens/measures/statistics.py and thumbnails.py.
import type { Look } from "./forward";

const SIDE = 32; // pixels of a thumbnail, at most
const HELD = 0.9 - 1e-6; // of a row, of k90
const MARK = /^\p{P}+$/u;

/** What the tokens of a text are. */
export interface Roles {
  special: readonly boolean[];
  separator: readonly boolean[];
  punctuation: readonly boolean[];
  segments: readonly number[];
  pair: boolean;
}

/** `separator`: the template's own token for it. */
export function rolesOf(
  { tokens, special, segments }: { tokens: string[]; special: boolean[]; segments: number[] },
  separator: string,
  pair: boolean,
): Roles {
  return {
    ...{ special, segments, pair },
    separator: tokens.map((token, at) => special[at]! && token === separator),
    punctuation: tokens.map((token, at) => !special[at] && MARK.test(token)),
  };
}

/** Of one row of weights: the sum over the keys that a function takes. */
type Pairs = (query: number, key: number) => boolean;

/** Shares of the attention: Σ over the pairs ÷ tokens; absent where the text has no such pairs. */
const shares = (roles: Roles): Record<string, Pairs> => ({
  previous: (i, j) => j === i - 1,
  next: (i, j) => j === i + 1,
  self: (i, j) => j === i,
  first: (_, j) => j === 0,
  special: (_, j) => roles.special[j]!,
  punctuation_all: (_, j) => roles.punctuation[j]!,
  ...(roles.separator.includes(true) ? { separator: (_: number, j: number) => roles.separator[j]! } : {}),
  ...(roles.pair ? { same_segment: (i: number, j: number) => roles.segments[i] === roles.segments[j] } : {}),
});

export interface Pictures {
  thumbs: Uint8Array; // (L, H, t, t)
  side: number; // t
  thumb_max: Float32Array; // (L, H)
  stats: Float32Array; // (L, H, names), NaN where the text has no such tokens
  received: Float32Array; // (L, H, S) mean over the queries
}

/** What `look` fills in as a pass goes on. */
export function picturesOf(
  { layers, heads }: { layers: number; heads: number },
  tokens: number,
  roles: Roles,
  names: readonly string[],
): { made: Pictures; look: Look } {
  const [all, side] = [layers * heads, Math.min(SIDE, tokens)];
  const made: Pictures = {
    thumbs: new Uint8Array(all * side * side),
    side,
    thumb_max: new Float32Array(all),
    stats: new Float32Array(all * names.length).fill(Number.NaN),
    received: new Float32Array(all * tokens),
  };
  const pairs = Object.entries(shares(roles)).filter(([name]) => names.includes(name));
  const ends = Array.from({ length: side }, (_, at) => [
    Math.floor((tokens * at) / side),
    Math.ceil((tokens * (at + 1)) / side),
  ]) as [number, number][];
  const sorted = new Float32Array(tokens);
  const look: Look = (layer, head, weights, stride) => {
    const at = layer * heads + head;
    const [sums, received] = [new Float64Array(pairs.length), new Float64Array(tokens)];
    let [entropy, k90, most] = [0, 0, 0];
    for (let i = 0; i < tokens; i++) {
      const row = weights.subarray(i * stride, i * stride + tokens);
      let total = 0;
      for (let j = 0; j < tokens; j++) {
        const one = row[j]!;
        total += one;
        received[j]! += one / tokens;
        most = Math.max(most, one);
        if (one > 0) entropy -= (one * Math.log(one)) / tokens;
        for (let n = 0; n < pairs.length; n++) if (pairs[n]![1](i, j)) sums[n]! += one;
      }
      sorted.set(row);
      sorted.sort();
      let [left, rest] = [0, total - HELD];
      while (left < tokens && rest - sorted[left]! >= 0) rest -= sorted[left++]!;
      k90 += (tokens - left) / tokens;
    }
    const found: Record<string, number> = { entropy, k90, max: most };
    for (const [n, [name]] of pairs.entries()) found[name] = sums[n]! / tokens;
    for (const [n, name] of names.entries()) made.stats[at * names.length + n] = found[name] ?? Number.NaN;
    made.received.set(received, at * tokens);
    made.thumb_max[at] = most;
    for (const [row, [top, bottom]] of ends.entries())
      for (const [column, [start, end]] of ends.entries()) {
        let pixel = 0;
        for (let i = top; i < bottom; i++)
          for (let j = start; j < end; j++) pixel = Math.max(pixel, weights[i * stride + j]!);
        made.thumbs[(at * side + row) * side + column] = Math.round((255 * pixel) / most);
      }
  };
  return { made, look };
}
