// What the atlas shows of a head, from its weights while a pass has them: a thumbnail, statistics, what keys receive.
// Defined by bertlens/measures/statistics.py and thumbnails.py.
import { ROW_SHARE, THUMBNAIL_SIDE } from "../generated/vocabulary";
import type { Look } from "./forward";
import type { Product } from "./product";

const HELD = ROW_SHARE - 1e-6; // of a row, of k90
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

/** One head's map as a picture of at most THUMBNAIL_SIDE² pixels, see bertlens/measures/thumbnails.py. */
interface Thumbnail {
  pixels: Uint8Array; // (t, t)
  peak: number; // the largest size
}

/** Of (tokens) values a row, which begin `stride` apart; `signed`: half of a pixel's range is below 0. */
export function thumbnailOf(values: Float32Array, stride: number, tokens: number, signed = false): Thumbnail {
  const side = sideOf(tokens);
  const ends = Array.from({ length: side }, (_, at) => [
    Math.floor((tokens * at) / side),
    Math.ceil((tokens * (at + 1)) / side),
  ]) as [number, number][];
  const extremes = new Float32Array(side * side);
  let peak = 0;
  for (const [row, [top, bottom]] of ends.entries())
    for (const [column, [start, end]] of ends.entries()) {
      let [high, low] = [values[top * stride + start]!, values[top * stride + start]!];
      for (let i = top; i < bottom; i++)
        for (let at = i * stride + start; at < i * stride + end; at++) {
          const x = values[at]!;
          if (x > high) high = x;
          else if (x < low) low = x;
        }
      const pixel = high >= -low || !signed ? high : low;
      if (Math.abs(pixel) > peak) peak = Math.abs(pixel);
      extremes[row * side + column] = pixel;
    }
  const share = (pixel: number) => (peak > 0 ? pixel / peak : 0);
  const step = signed ? (pixel: number) => 127.5 + 127.5 * share(pixel) : (pixel: number) => 255 * share(pixel);
  const pixels = new Uint8Array(extremes.length);
  for (let n = 0; n < extremes.length; n++) pixels[n] = Math.round(step(extremes[n]!));
  return { pixels, peak };
}

/** Pixels of a thumbnail's side. */
export const sideOf = (tokens: number): number => Math.min(THUMBNAIL_SIDE, tokens);

interface Statistics {
  of: Record<string, number>; // by name; absent where the text has no such tokens
  received: Float32Array; // (S) mean over the queries
}

const BUCKETS = 1 << 9; // of the numbers from 0 to 1 in 32 bits, by their first bits: 4 of a power of 2
const SHIFT = 21;
const bucketSums = new Float64Array(BUCKETS);

/** The least number of keys that hold nine tenths of a row: bertlens/measures/k90.py. Of one bucket alone keys are sorted. */
function k90(row: Float32Array, bits: Uint32Array, first: number, among: Float32Array): number {
  const tokens = row.length;
  bucketSums.fill(0);
  for (let j = 0; j < tokens; j++) bucketSums[bits[first + j]! >>> SHIFT]! += row[j]!;
  let [sum, bucket] = [0, BUCKETS - 1];
  while (bucket >= 0 && sum + bucketSums[bucket]! < HELD) sum += bucketSums[bucket--]!;
  if (bucket < 0) return tokens;
  let [count, inside] = [0, 0];
  for (let j = 0; j < tokens; j++) {
    const slot = bits[first + j]! >>> SHIFT;
    if (slot > bucket) count++;
    if (slot !== bucket) continue;
    let at = inside++; // the largest first
    for (; at > 0 && among[at - 1]! < row[j]!; at--) among[at] = among[at - 1]!;
    among[at] = row[j]!;
  }
  for (let n = 0; n < inside && sum < HELD; n++, count++) sum += among[n]!;
  return count;
}

/** Of a head's map, whose rows sum to 1 (or 0), in the memory of a product: see bertlens/measures/statistics.py. */
export function statisticsOf(product: Product, values: Float32Array, stride: number, roles: Roles): Statistics {
  const { special, separator, punctuation, segments } = roles;
  const tokens = special.length;
  const sums = new Float64Array(tokens);
  const bits = new Uint32Array(values.buffer);
  const among = new Float32Array(tokens);
  let [previous, next, self, segment, entropy, keys, max] = [0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < tokens; i++) {
    const row = values.subarray(i * stride, i * stride + tokens);
    for (let j = 0; j < tokens; j++) {
      const weight = row[j]!;
      sums[j]! += weight;
      if (weight > max) max = weight;
    }
    entropy += product.entropy(row.byteOffset, stride);
    self += row[i]!;
    if (i > 0) previous += row[i - 1]!;
    if (i < tokens - 1) next += row[i + 1]!;
    if (roles.pair) for (let j = 0; j < tokens; j++) if (segments[i] === segments[j]) segment += row[j]!;
    keys += k90(row, bits, row.byteOffset / 4, among);
  }
  const to = (mask: readonly boolean[]) => sums.reduce((sum, one, j) => (mask[j] ? sum + one : sum), 0);
  const mean = {
    ...{ previous, next, self, first: sums[0]!, special: to(special), punctuation_all: to(punctuation), entropy },
    ...(separator.includes(true) ? { separator: to(separator) } : {}),
    ...(roles.pair ? { same_segment: segment } : {}),
    k90: keys,
  };
  const of = Object.fromEntries(Object.entries(mean).map(([name, sum]) => [name, sum / tokens]));
  return { of: { ...of, max }, received: Float32Array.from(sums, (sum) => sum / tokens) };
}

export interface Pictures {
  thumbs: Uint8Array; // (L, H, t, t)
  thumb_max: Float32Array; // (L, H)
  stats: Float32Array; // (L, H, names), NaN where the text has no such tokens
  received: Float32Array; // (L, H, S) mean over the queries
}

/** Room for so many heads. */
export const noPictures = (heads: number, tokens: number, names: number): Pictures => ({
  thumbs: new Uint8Array(heads * sideOf(tokens) ** 2),
  thumb_max: new Float32Array(heads),
  stats: new Float32Array(heads * names).fill(Number.NaN),
  received: new Float32Array(heads * tokens),
});

/** Puts a head's thumbnail in its place. */
export function putThumbnail(pictures: Pictures, at: number, { pixels, peak }: Thumbnail): void {
  pictures.thumbs.set(pixels, at * pixels.length);
  pictures.thumb_max[at] = peak;
}

/** Puts a head's statistics in their place. */
export function putStatistics(pictures: Pictures, at: number, names: readonly string[], found: Statistics): void {
  for (const [n, name] of names.entries()) pictures.stats[at * names.length + n] = found.of[name] ?? Number.NaN;
  pictures.received.set(found.received, at * found.received.length);
}

/** What `look` fills in as a pass on the memory of a product goes on. */
export function picturesOf(
  product: Product,
  { layers, heads }: { layers: number; heads: number },
  tokens: number,
  roles: Roles,
  names: readonly string[],
): { pictures: Pictures; look: Look } {
  const pictures = noPictures(layers * heads, tokens, names.length);
  const look: Look = (layer, head, weights, stride) => {
    const at = layer * heads + head;
    putThumbnail(pictures, at, thumbnailOf(weights, stride, tokens));
    putStatistics(pictures, at, names, statisticsOf(product, weights, stride, roles));
  };
  return { pictures, look };
}
