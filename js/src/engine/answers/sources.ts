// A number that is read off the stream, as the sum of what was added to the stream: bertlens/measures/sources for models whose
// LayerNorms stand behind their sums. LayerNorms keep the deviations of the run, opened MLPs its gates, so all of it is linear.
import { activate, type Norm } from "../arithmetic";
import { ofHead, positionsOf } from "../forward";
import type { Engine, Run } from "../runs";
import { rowOf } from "./attentionmaps";

/** What is read of a layer's input: N directions at some tokens, each of which counts by its factor, and what is added. */
export interface Reading {
  layer: number;
  tokens: readonly number[];
  factors: readonly number[];
  vectors: Float64Array; // (N, D)
  constants: Float64Array; // (N)
}

/** How a layer's heads are read: their values by `vectors`, at the reading's tokens by `factors`. */
interface HeadReading {
  vectors: Float64Array; // (N, H·d)
  factors: Float64Array;
}

/** N numbers each. They sum to what is read. */
export interface Parts {
  embedded: Record<string, Float64Array>; // word, position, type as far as the model has them
  heads: Float64Array[][]; // of each earlier layer
  mlps: Float64Array[]; // of each earlier layer; none where they are opened
  bias: Float64Array;
  readings: HeadReading[]; // of each earlier layer
}

/** Wᵀw of each of N vectors: (N, outputs) -> (N, inputs). */
function back(vectors: Float64Array, matrix: Float32Array, inputs: number): Float64Array {
  const outputs = matrix.length / inputs;
  const [count, product] = [vectors.length / outputs, new Float64Array((vectors.length / outputs) * inputs)];
  for (let o = 0; o < outputs; o++)
    for (let n = 0; n < count; n++) {
      const by = vectors[n * outputs + o]!;
      for (let i = 0; i < inputs; i++) product[n * inputs + i]! += by * matrix[o * inputs + i]!;
    }
  return product;
}

const dot = (vectors: Float64Array, from: number, x: ArrayLike<number>, size = x.length, at = 0): number => {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += vectors[from + i]! * x[at + i]!;
  return sum;
};

/** The key's share of a head's attention at the tokens read: (S) Σ factor · α. */
export function mixOf(
  { carried }: Engine,
  { original }: Run,
  reading: Reading,
  layer: number,
  head: number,
  by: Float64Array,
) {
  const mix = new Float64Array(original.tokens);
  for (const [n, at] of reading.tokens.entries())
    for (const [key, weight] of rowOf(original, layer, head, at, carried.shape.heads).entries())
      mix[key]! += by[n]! * weight;
  return mix;
}

/** All that a reading came from. Opened MLPs have gates of one token: the reading is of no other. */
export function partsOf(engine: Engine, run: Run, reading: Reading, isOpened: boolean): Parts {
  const { shape, product, ...weights } = engine.weights;
  const { width, inner, heads, entering } = shape;
  const { original: pass, encoded } = run;
  const { layer: top, tokens, constants } = reading;
  const size = width / heads;
  const factors = Float64Array.from(reading.factors);
  let vectors = reading.vectors;
  const split: Parts = { embedded: {}, heads: [], mlps: [], bias: constants.slice(), readings: [] };
  const numbers = (at: number, count: number) => new Float32Array(product.memory, at, count);
  const project = (row: (token: number) => ArrayLike<number>) => {
    const pooled = new Float64Array(vectors.length / constants.length);
    for (const [n, at] of tokens.entries()) {
      const x = row(at);
      for (let i = 0; i < pooled.length; i++) pooled[i]! += factors[n]! * x[i]!;
    }
    return constants.map((_, n) => dot(vectors, n * pooled.length, pooled));
  };
  const rowsOf = (states: Float32Array) => (at: number) => states.subarray(at * width, (at + 1) * width);
  /** What every token was given alike; gives its part. */
  const add = (shift: Float32Array, through = vectors) => {
    const total = factors.reduce((sum, one) => sum + one, 0);
    const shares = constants.map((_, n) => total * dot(through, n * shift.length, shift));
    for (const [n, x] of shares.entries()) split.bias[n]! += x;
    return shares;
  };
  /** Below a LayerNorm: γ∘w less its mean, and 1/s; gives the part of β. */
  const descend = ({ scale, shift }: Norm, inverses: Float64Array) => {
    const shares = add(shift);
    vectors = vectors.map((x, i) => x * scale[i % scale.length]!);
    for (let from = 0; from < vectors.length; from += scale.length) {
      const row = vectors.subarray(from, from + scale.length);
      const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
      for (let i = 0; i < row.length; i++) row[i]! -= mean;
    }
    for (const [n, at] of tokens.entries()) factors[n]! *= inverses[at]!;
    return shares;
  };

  for (let layer = top - 1; layer >= 0; layer--) {
    const { v, block, scales } = pass.layers[layer]!;
    const { grow, shrink, output, norm, attentionNorm } = weights.layers[layer]!;
    const total = project(rowsOf(pass.stream[layer + 1]!));
    const beta = descend(norm, scales[1]!);
    const shift = add(numbers(shrink.bias, width));
    if (isOpened) {
      const [first, second] = [grow.weight, shrink.weight].map((at) => numbers(at, inner * width)) as [
        Float32Array,
        Float32Array,
      ];
      const biases = numbers(grow.bias, inner);
      const y = Float64Array.from(rowsOf(block)(tokens[0]!));
      const entering = Float64Array.from(biases, (b, o) => b + dot(y, 0, first, width, o * width) || -1e-6); // no 0/0
      const active = entering.slice();
      activate(shape.activation, active);
      const inside = back(vectors, second, inner).map((x, i) => (x * active[i % inner]!) / entering[i % inner]!);
      add(biases, inside);
      const below = back(inside, first, width);
      vectors = vectors.map((x, i) => x + below[i]!);
    } else {
      // the sum is known, and what the MLP was added to: what is left is the MLP
      const bypass = project(rowsOf(block));
      split.mlps[layer] = total.map((x, n) => x - beta[n]! - shift[n]! - bypass[n]!);
    }
    descend(attentionNorm, scales[0]!);
    add(numbers(output.bias, width));
    const ofHeads = { vectors: back(vectors, numbers(output.weight, width * width), width), factors: factors.slice() };
    split.readings[layer] = ofHeads;
    split.heads[layer] = Array.from({ length: heads }, (_, head) => {
      const context = new Float64Array(size);
      const values = ofHead(v, head, pass.tokens, size);
      for (const [key, share] of mixOf(engine, run, reading, layer, head, factors).entries())
        for (let i = 0; i < size; i++) context[i]! += share * values[key * size + i]!;
      return constants.map((_, n) => dot(ofHeads.vectors, n * width + head * size, context));
    });
  }

  if (weights.project) {
    add(numbers(weights.project.bias, width));
    vectors = back(vectors, numbers(weights.project.weight, width * entering), entering);
  }
  descend(weights.norm, pass.entry);
  const positions = positionsOf(shape, encoded.ids);
  const rowAt = (table: Float32Array, n: number) => table.subarray(n * entering, (n + 1) * entering);
  const word = new Float32Array(entering);
  split.embedded.word = project((at) => weights.words.row(encoded.ids[at]!, word));
  split.embedded.position = project((at) => rowAt(weights.positions, positions[at]!));
  const hasTypes = weights.types.length > entering;
  if (shape.typed) split.embedded.type = project((at) => rowAt(weights.types, hasTypes ? encoded.types[at]! : 0));
  return split;
}
