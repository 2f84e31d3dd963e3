// Weight against norm by kind of token, and mixing ratios: as norm_view of bertlens/widgets/answers/layer_answers.py, whose measures
// are bertlens/measures/categories.py and norms.py.
import { CATEGORIES, LIMITS, MIXING_METHODS } from "../../generated/vocabulary";
import { factorOf } from "../changes";
import { contextOf, mapOf, type Pass } from "../forward";
import { type Roles, rolesOf } from "../pictures";
import { type Answering, answerOf, perHead } from "../runs";
import { padded, type Weights } from "../weights";
import { spearman } from "./ranks";
import { lengthsOf } from "./valuenorms";

const NAMES = Object.keys(CATEGORIES);

/** What a token is, an index into NAMES. */
function kindsOf({ special, punctuation }: Roles): Int32Array {
  const start = special.includes(false) ? special.indexOf(false) : special.length;
  const kind = (isSpecial: boolean, at: number) =>
    isSpecial ? (at < start ? "first" : "separator") : punctuation[at] ? "punctuation" : "other";
  return Int32Array.from(special, (one, at) => NAMES.indexOf(kind(one, at)));
}

/** Of a head: Σ_i α_ij of each key, α_ii, and the points of each kind, α and ‖f(x)‖. */
interface Tally {
  sums: Float64Array;
  diagonal: Float32Array;
  points: [Float32Array, Float32Array][];
}

function tallyOf(
  values: Float32Array,
  stride: number,
  lengths: Float32Array,
  kinds: Int32Array,
  byCell: boolean,
): Tally {
  const tokens = kinds.length;
  const sums = new Float64Array(tokens);
  const diagonal = new Float32Array(tokens);
  for (let i = 0; i < tokens; i++) {
    diagonal[i] = values[i * stride + i]!;
    for (let j = 0; j < tokens; j++) sums[j]! += values[i * stride + j]!;
  }
  const points = NAMES.map((_, kind) => {
    const keys = [...kinds.keys()].filter((j) => kinds[j] === kind);
    if (!byCell)
      return [Float32Array.from(keys, (j) => sums[j]! / tokens), Float32Array.from(keys, (j) => lengths[j]!)];
    const cells = Array.from({ length: tokens }, (_, i) => keys.map((j) => values[i * stride + j]!)).flat();
    return [Float32Array.from(cells), Float32Array.from(cells, (_, n) => lengths[keys[n % keys.length]!]!)];
  }) as Tally["points"];
  return { sums, diagonal, points };
}

/** (S, D) W_O x without its bias, of what stands in scratch.b. */
function projected({ shape, product, scratch, layers }: Weights, layer: number, tokens: number): Float32Array {
  const { width } = shape;
  const { weight } = layers[layer]!.output;
  product.multiply(scratch.b, weight, scratch.zeros, scratch.c, padded(tokens), width, width);
  return new Float32Array(product.memory, scratch.c, tokens * width).slice();
}

/** Lengths of rows. */
function lengthsOfRows(rows: Float32Array, tokens: number): Float64Array {
  const width = rows.length / tokens;
  const out = new Float64Array(tokens);
  for (let n = 0; n < rows.length; n++) out[Math.floor(n / width)]! += rows[n]! ** 2;
  return out.map(Math.sqrt);
}

/** Each method's mixing ratio of every token, (M, S): r = ‖others‖ ÷ (‖others‖ + ‖own‖). */
function mixingOf(
  weights: Weights,
  pass: Pass,
  layer: number,
  diagonals: Float32Array[],
  context: Float32Array,
): Float64Array[] {
  const { shape, product, scratch, layers } = weights;
  const { width, heads } = shape;
  const { tokens } = pass;
  const size = width / heads;
  const room = new Float32Array(product.memory, scratch.b, padded(tokens) * width).fill(0);
  room.set(context);
  const attended = projected(weights, layer, tokens);
  const { v } = pass.layers[layer]!;
  for (let head = 0; head < heads; head++) {
    const factor = factorOf(pass.changes, layer, head);
    for (let at = 0; at < tokens; at++)
      for (let i = 0; i < size; i++)
        room[at * width + head * size + i] = factor * diagonals[head]![at]! * v[(head * tokens + at) * size + i]!;
  }
  const self = projected(weights, layer, tokens);
  const mixture = attended.map((one, n) => one - self[n]!);
  const residual = self.map((one, n) => one + pass.stream[layer]![n]!);
  const { scale } = layers[layer]!.attentionNorm;
  /** What the LayerNorm does to each part of its sum, but for its deviation, which divides both parts. */
  const linear = (rows: Float32Array) => {
    const out = rows.slice();
    for (let at = 0; at < rows.length; at += width) {
      const row = out.subarray(at, at + width);
      const mean = row.reduce((sum, one) => sum + one, 0) / width;
      for (let i = 0; i < width; i++) row[i] = (row[i]! - mean) * scale[i]!;
    }
    return out;
  };
  const ratio = (mixed: Float32Array, preserved: Float32Array) => {
    const [m, p] = [lengthsOfRows(mixed, tokens), lengthsOfRows(preserved, tokens)];
    return m.map((one, at) => one / (one + p[at]!));
  };
  const weight = new Float64Array(tokens).map((_, at) => 1 - diagonals.reduce((sum, of) => sum + of[at]!, 0) / heads);
  return [
    weight,
    weight.map((one) => one / 2),
    ratio(mixture, self),
    ratio(mixture, residual),
    ratio(linear(mixture), linear(residual)),
  ];
}

export const normView: Answering<"norm_view"> = ({ carried, weights }, { pass, encoded, texts }) => {
  const [layers, heads] = perHead(carried);
  const { tokens } = pass;
  const size = carried.shape.width / heads;
  const roles = rolesOf(encoded, carried.vocabulary.separator, texts[1] !== "");
  const category = kindsOf(roles);
  const byCell = tokens <= LIMITS.by_cell;
  const shares = new Float32Array(layers * 2 * NAMES.length);
  const mixing = new Float32Array(MIXING_METHODS.length * layers * tokens);
  const norms = new Float32Array(layers * heads * tokens);
  const within = new Float32Array(layers * heads * NAMES.length).fill(Number.NaN);
  const points: Tally["points"][] = [];
  for (let layer = 0; layer < layers; layer++) {
    const lengths = lengthsOf(weights, pass, layer);
    norms.set(lengths, layer * lengths.length);
    const context = new Float32Array(tokens * carried.shape.width);
    const diagonals: Float32Array[] = [];
    const sums = [new Float64Array(NAMES.length), new Float64Array(NAMES.length)] as const;
    for (let head = 0; head < heads; head++) {
      const length = lengths.subarray(head * tokens, (head + 1) * tokens);
      const { values, stride } = mapOf(weights, pass, layer, head);
      const tally = tallyOf(values, stride, length, category, byCell);
      diagonals.push(tally.diagonal);
      points.push(tally.points);
      for (const [j, kind] of category.entries()) {
        sums[0][kind]! += tally.sums[j]!;
        sums[1][kind]! += tally.sums[j]! * length[j]!;
      }
      for (const [kind, [x, y]] of tally.points.entries())
        within[(layer * heads + head) * NAMES.length + kind] = spearman(x, y);
      const factor = factorOf(pass.changes, layer, head);
      if (factor === 0) continue;
      const headContext = contextOf(weights, pass, layer, head).map((x) => factor * x);
      for (let at = 0; at < tokens; at++)
        context.set(headContext.subarray(at * size, (at + 1) * size), at * carried.shape.width + head * size);
    }
    for (const [n, part] of sums.entries()) {
      const total = part.reduce((sum, one) => sum + one, 0);
      shares.set(
        part.map((one) => one / total),
        (2 * layer + n) * NAMES.length,
      );
    }
    for (const [method, ratios] of mixingOf(weights, pass, layer, diagonals, context).entries())
      mixing.set(ratios, (method * layers + layer) * tokens);
  }
  const pooled = NAMES.map((_, kind) => {
    const [x, y] = ([0, 1] as const).map((side) => joined(points.map((one) => one[kind]![side])));
    const rho = spearman(x!, y!);
    return Number.isNaN(rho) ? null : rho;
  });
  return answerOf(
    { categories: NAMES, methods: [...MIXING_METHODS], pooled, per: byCell ? "cell" : "key" },
    {
      category: [category, null],
      shares: [shares, [layers, 2, NAMES.length]],
      mixing: [mixing, [MIXING_METHODS.length, layers, tokens]],
      norms: [norms, [layers, heads, tokens]],
      within: [within, [layers, heads, NAMES.length]],
    },
  );
};

function joined(parts: Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of parts) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}
