// How much an attention map looks like each of twelve plain patterns, 0 by chance and 1 for the pure one: as
// bertlens/measures/gates/patterns.py, which says what each is. Of one map, row after row.
import {
  LEAST_PATTERN_TOKENS,
  PATTERN_CONTENT,
  PATTERN_CUTS,
  PATTERN_ROUNDING,
  PATTERN_TINY,
} from "../../generated/vocabulary";

/** From one content token until another, among content tokens. */
export type Range = readonly [from: number, to: number];

/** A way to part content tokens. ideal: how far over its expectation each block of the ideal map is. */
interface Way {
  blocks: readonly Range[];
  ideal: readonly number[];
}

/** What is the same for all maps of a text. */
export interface Frame {
  content: readonly number[]; // positions that are the text's
  special: readonly number[];
  adjacent: readonly boolean[]; // whether a content token stands right before the next one
  ways: readonly Way[];
}

export interface PatternScores {
  scores: Record<string, number>;
  columns: readonly number[]; // the stripes, in order
  width: number; // of the band
  blocks: readonly Range[]; // that were judged
  targets: Int32Array; // of each row's far peak
}

const clamped = (value: number) => Math.min(1, Math.max(0, value));
const ratio = (part: number, whole: number) => (whole > 1e-9 ? clamped(part / whole) : 0);
const total = (values: Iterable<number>) => {
  let sum = 0;
  for (const x of values) sum += x;
  return sum;
};
const information = (p: number) => (p > 0 ? p * Math.log(p) : 0);
const largest = (values: readonly number[]) => values.reduce((best, one, at) => (one > values[best]! ? at : best), 0);

export function frameOf(isSpecial: readonly boolean[], segments: readonly number[]): Frame {
  const at = [...isSpecial.keys()];
  const content = at.filter((n) => !isSpecial[n]);
  const n = content.length;
  const adjacent = content.slice(1).map((one, before) => one - content[before]! === 1);
  const split = content.filter((one) => segments[one] === 0).length;
  const divisions = split >= 2 && n - split >= 2 ? [halves(split, n)] : cuts(n);
  const ways = divisions.map((blocks) => ({ blocks, ideal: idealOf(blocks, n) }));
  return { content, special: at.filter((one) => isSpecial[one]), adjacent, ways };
}

const halves = (at: number, n: number): Range[] => [
  [0, at],
  [at, n],
];

/** Cuts in two, neither part under 3 tokens or a fifth. */
function cuts(n: number): Range[][] {
  const shortest = Math.max(3, Math.round(n / 5));
  const count = Math.max(0, Math.min(PATTERN_CUTS, n - 2 * shortest + 1));
  const step = count > 1 ? (n - 2 * shortest) / (count - 1) : 0;
  return Array.from({ length: count }, (_, k) => halves(Math.round(shortest + step * k), n));
}

/** 1 − what is expected of a map whose rows are even over their own block. */
function idealOf(blocks: readonly Range[], n: number): number[] {
  const byOffset = new Float64Array(2 * n - 1);
  for (const [from, to] of blocks) {
    const size = to - from;
    for (let d = 1 - size; d < size; d++) byOffset[n - 1 + d]! += (size - Math.abs(d)) / size;
  }
  const [even, ones] = [new Float64Array(n).fill(1 / n), new Float64Array(n).fill(1)];
  const [expected] = expectedOf(even, byOffset, ones, [blocks]);
  return blocks.map(([from, to], g) => 1 - expected![g]! / (to - from));
}

/** Σ of mass that rows i of each block would have in it were B_ij ∝ c_j p_(j−i), p_d = mass at offset d ÷ what c alone puts there. */
function expectedOf(
  c: Float64Array,
  byOffset: Float64Array,
  mass: Float64Array,
  ways: readonly (readonly Range[])[],
): number[][] {
  const n = c.length;
  const floor = (PATTERN_ROUNDING * total(mass)) / n;
  const p = byOffset.map((there, at) => {
    const d = at - n + 1;
    let chance = 0;
    for (let i = Math.max(0, -d); i < Math.min(n, n - d); i++) chance += mass[i]! * c[i + d]!;
    return chance > floor ? there / Math.max(chance, PATTERN_TINY) : 0;
  });
  const expected = ways.map((blocks) => blocks.map(() => 0));
  const sums = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) sums[j + 1] = sums[j]! + p[j - i + n - 1]! * c[j]!;
    const rowSum = Math.max(sums[n]!, PATTERN_TINY);
    for (const [k, blocks] of ways.entries())
      for (const [g, [from, to]] of blocks.entries())
        if (from <= i && i < to) expected[k]![g]! += mass[i]! * clamped((sums[to]! - sums[from]!) / rowSum);
  }
  return expected;
}

/** Sums over the rows of B, attention among content tokens: bertlens/measures/gates/pattern_sums.py. */
class PatternSums {
  mass: Float64Array; // of each row
  columns: Float64Array;
  diagonal: Float64Array;
  ahead: Float64Array; // B_i,i+1
  behind: Float64Array; // B_i+1,i
  byOffset: Float64Array; // from −(n − 1)
  upper: Float64Array;
  peak: Float64Array;
  targets: Int32Array;
  stays: number[][]; // of each way's blocks: mass of their rows in them
  spread: number[][]; // Σ −p ln p of that, p parts of it, times it
  energy = 0;
  special = 0;
  uniform = 0; // mean entropy of a row ÷ that of an even one

  constructor(values: Float32Array, stride: number, { content, special, ways }: Frame, isContent: boolean) {
    const n = content.length;
    const room = () => new Float64Array(n);
    [this.mass, this.columns, this.diagonal, this.upper, this.peak] = [room(), room(), room(), room(), room()];
    [this.ahead, this.behind, this.byOffset] = [room().slice(1), room().slice(1), new Float64Array(2 * n - 1)];
    this.targets = new Int32Array(n);
    const none = () => ways.map(({ blocks }) => blocks.map(() => 0));
    [this.stays, this.spread] = [none(), none()];
    const keys = n + (isContent ? 0 : special.length);
    const [sums, inside] = [new Float64Array(n + 1), new Float64Array(n + 1)];
    for (const [i, query] of content.entries()) {
      const weight = (key: number) => values[query * stride + key]!;
      const [among, specialWeights] = [total(content.map(weight)), isContent ? [] : special.map(weight)];
      const rowSum = among + total(specialWeights);
      const scaled = (one: number) => (rowSum > PATTERN_TINY ? one / rowSum : 1 / keys);
      for (const [j, key] of content.entries()) {
        const p = scaled(weight(key));
        sums[j + 1] = sums[j]! + p;
        inside[j + 1] = inside[j]! + information(p);
        this.columns[j]! += p;
        this.byOffset[j - i + n - 1]! += p;
        this.energy += p * p;
        if (j === i) this.diagonal[i] = p;
        else if (j === i + 1) this.ahead[i] = p;
        else if (j === i - 1) this.behind[j] = p;
        else if (p > this.peak[i]!) [this.peak[i], this.targets[i]] = [p, j];
      }
      this.mass[i] = sums[n]!;
      this.upper[i] = sums[n]! - sums[i + 1]!;
      const specialShares = specialWeights.map(scaled);
      this.special += total(specialShares);
      this.uniform -= (inside[n]! + total(specialShares.map(information))) / Math.log(keys) / n;
      for (const [k, { blocks }] of ways.entries())
        for (const [g, [from, to]] of blocks.entries()) {
          if (i < from || i >= to) continue;
          const stays = sums[to]! - sums[from]!;
          this.stays[k]![g]! += stays;
          this.spread[k]![g]! += information(stays) - (inside[to]! - inside[from]!);
        }
    }
  }
}

/** The patterns of a map, whose rows begin `stride` numbers apart; isContent: special keys left out, rows scaled anew. */
export function patternScores(values: Float32Array, stride: number, frame: Frame, isContent: boolean): PatternScores {
  const { content, special, adjacent, ways } = frame;
  const n = content.length;
  if (n + special.length < LEAST_PATTERN_TOKENS || n < PATTERN_CONTENT)
    return { scores: {}, columns: [], width: 0, blocks: [], targets: new Int32Array(n) };
  const of = new PatternSums(values, stride, frame, isContent);
  const { mass } = of;
  const sum = total(mass);
  const root = Math.sqrt(sum / n);
  /** Mass over chance as a part of what there is room for. */
  const excess = (there: Float64Array, chance: (i: number) => number, whole = mass) =>
    ratio(
      total(there.map((one, i) => one - chance(i) * whole[i]!)),
      total(whole.map((one, i) => (1 - chance(i)) * one)),
    );
  const neighbours = (there: Float64Array, whole: Float64Array) => {
    const [b, m] = [there, whole].map((one) => one.filter((_, i) => adjacent[i])) as [Float64Array, Float64Array];
    return excess(b, () => 1 / n, m) * Math.sqrt(total(m) / Math.max(1, m.length));
  };
  const offDiagonal = mass.map((one, i) => one - of.diagonal[i]!);
  const share = total(offDiagonal) / Math.max(sum, PATTERN_TINY);
  const { columns, purity } = stripes(of, sum);
  const ahead = (i: number) => (n - 1 - i) / (n - 1);
  const lower = offDiagonal.map((one, i) => one - of.upper[i]!);
  const band = bandOf(of, sum);
  const block = blockOf(of, sum, ways);
  const chance = isContent ? 0 : special.length / (n + special.length);
  const patterns = {
    self: excess(of.diagonal, () => 1 / n) * root,
    next: neighbours(of.ahead, mass.subarray(0, n - 1)),
    previous: neighbours(of.behind, mass.subarray(1)),
    "both neighbours": root * band.score,
    after: root * share * excess(of.upper, ahead, offDiagonal) * (1 - purity),
    before: root * share * excess(lower, (i) => 1 - ahead(i), offDiagonal) * (1 - purity),
    "content columns": root * purity,
    "special columns": clamped((of.special / n - chance) / (1 - chance)),
    block: root * block.score,
  };
  const uniform = clamped(of.uniform);
  const strongest = Math.max(...Object.values(patterns));
  const scores = {
    ...{ ...patterns, "far peaks": root * peaksOf(of, sum), uniform },
    unstructured: Math.max(0, 2 * uniform - 1) * Math.max(0, 1 - 1.5 * strongest),
  };
  return { scores, columns, width: band.width, blocks: block.blocks, targets: of.targets };
}

function bandOf({ mass, byOffset }: PatternSums, sum: number): { width: number; score: number } {
  const n = mass.length;
  const widest = Math.max(1, Math.min(Math.floor(n / 4), Math.max(3, Math.floor(n / 6))));
  let [ahead, behind, chance, top, bottom] = [0, 0, 0, sum, sum];
  const scores: number[] = [];
  for (let r = 1; r <= widest; r++) {
    ahead += byOffset[n - 1 + r]!;
    behind += byOffset[n - 1 - r]!;
    top -= mass[r - 1]!;
    bottom -= mass[n - r]!;
    chance += (top + bottom) / n;
    const inBand = ahead + behind;
    scores.push((ratio(inBand - chance, sum - chance) * 2 * Math.min(ahead, behind)) / Math.max(inBand, PATTERN_TINY));
  }
  const best = largest(scores);
  return { width: best + 1, score: scores[best]! };
}

/** The columns that stand out, and how pure they are. */
function stripes({ columns, mass, energy }: PatternSums, sum: number): { columns: number[]; purity: number } {
  const n = columns.length;
  const mean = [...columns].map((one) => one / Math.max(sum, PATTERN_TINY));
  const order = [...mean.keys()].sort((a, b) => mean[b]! - mean[a]!);
  let coverage = 0;
  const gains = order.slice(0, Math.max(1, Math.floor(n / 4))).map((j, at) => {
    coverage += mean[j]!;
    return (coverage - (at + 1) / n) / (1 - (at + 1) / n);
  });
  const best = largest(gains);
  const scatter = energy - total(mass.map((one) => one * one)) / n;
  const shared = total(mean.map((one) => (one - 1 / n) ** 2)) * sum ** 2;
  const agreement = Math.sqrt(ratio(shared - scatter, (n - 1) * scatter));
  const count = Math.max(1, Math.min(best + 1, mean.filter((one) => one >= 2 / n).length));
  return { columns: order.slice(0, count).sort((a, b) => a - b), purity: clamped(gains[best]!) * agreement };
}

function blockOf(
  { columns, byOffset, mass, stays, spread }: PatternSums,
  sum: number,
  ways: Frame["ways"],
): { blocks: readonly Range[]; score: number } {
  if (ways.length === 0) return { blocks: [], score: 0 };
  const n = mass.length;
  const mean = columns.map((one) => one / Math.max(sum, PATTERN_TINY));
  const expected = expectedOf(
    mean,
    byOffset,
    mass,
    ways.map(({ blocks }) => blocks),
  );
  const purities = ways.map(({ blocks, ideal }, k) =>
    Math.min(
      ...blocks.map(([from, to], g) => {
        const weight = Math.max(total(mass.subarray(from, to)), PATTERN_TINY);
        const inside = stays[k]![g]! / weight;
        const chance = (to - from) / n;
        const beyond = inside - expected[k]![g]! / weight;
        const gain = beyond > PATTERN_ROUNDING ? beyond / Math.max(ideal[g]!, PATTERN_TINY) : 0;
        return Math.sqrt(clamped((inside - chance) / (1 - chance)) * clamped(gain));
      }),
    ),
  );
  const best = largest(purities);
  const { blocks } = ways[best]!;
  const even = blocks.map(([from, to], g) => spread[best]![g]! / Math.log(Math.max(2, to - from)));
  const evenness = total(even) / Math.max(total(stays[best]!), PATTERN_TINY);
  return { blocks, score: purities[best]! * clamped(2 * evenness - 0.5) };
}

function peaksOf({ peak, targets }: PatternSums, sum: number): number {
  const n = targets.length;
  const counts = new Float64Array(n);
  for (const target of targets) counts[target]!++;
  return ratio(total(peak.map((one, i) => one * (1 - (counts[targets[i]!]! - 1) / (n - 1)))), sum);
}
