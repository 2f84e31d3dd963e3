// One forward pass of BERT: embeddings, then layers of attention and MLP, each with the LayerNorm after its sum.
// Devlin et al. 2019; Vaswani et al. 2017, section 3.
import * as phrases from "../generated/phrases";
import { type Change, isOff, maskOf } from "./changes";
import { activate, addAndNorm } from "./numbers";
import { MASKED } from "./product";
import { type Linear, padded, type Weights } from "./weights";

/** What a text is to the model. */
export interface Input {
  ids: readonly number[];
  types: readonly number[]; // of token, which texts of a pair differ in
}

/** What a layer leaves, a head after the other: (H, S, d), and ln Σ exp of each row of scores, (H, S). */
export interface Attended {
  q: Float32Array;
  k: Float32Array;
  v: Float32Array;
  lse: Float64Array;
  masks: (Uint8Array | null)[]; // of each head: see changes.ts
}

/** A run. stream: what layers begin with, and last what the model gives, (S, D) each. */
export interface Pass {
  tokens: number;
  changes: readonly Change[];
  layers: Attended[];
  stream: Float32Array[];
}

/** Is shown a head's weights while they are here: (tokens) of each row, which begin `stride` numbers apart. */
export type Look = (layer: number, head: number, weights: Float32Array, stride: number) => void;

const LARGE = 0.05; // a weight whose score is summed in 64 bits

/** Yields after every layer, so that who drives it can serve others, or leave it. */
export function* forward(
  weights: Weights,
  { ids, types }: Input,
  changes: readonly Change[],
  look: Look = () => undefined,
): Generator<number, Pass> {
  const { shape, product, scratch } = weights;
  const { width, inner, heads, epsilon } = shape;
  const [tokens, rows] = [ids.length, padded(ids.length)];
  if (tokens < 1 || tokens > shape.positions)
    throw new Error(`${phrases.TOO_LONG({ tokens, limit: shape.positions })}: shorten the text`);
  const view = (at: number, numbers = rows * width) => new Float32Array(product.memory, at, numbers);
  const apply = (x: number, { weight, bias }: Linear, y: number, n = width, outputs = width) =>
    product.multiply(x, weight, bias, y, rows, n, outputs);

  embed(weights, ids, types);
  const x = view(scratch.a); // the stream; rows behind the tokens are of nothing
  const snapshot = () => x.slice(0, tokens * width);
  const pass: Pass = { tokens, changes, layers: [], stream: [snapshot()] };
  for (const [layer, layerWeights] of weights.layers.entries()) {
    const [q, k, v] = [layerWeights.query, layerWeights.key, layerWeights.value].map((linear) => {
      apply(scratch.a, linear, scratch.b);
      return byHead(view(scratch.b), tokens, heads, width / heads);
    }) as [Float32Array, Float32Array, Float32Array];
    const attended = { q, k, v, lse: new Float64Array(heads * tokens), masks: [] as Attended["masks"] };
    for (let head = 0; head < heads; head++) {
      attended.masks.push(maskOf(changes, layer, head, tokens));
      look(layer, head, attend(weights, attended, head, tokens, isOff(changes, layer, head)), rows);
    }
    pass.layers.push(attended);
    apply(scratch.b, layerWeights.output, scratch.c);
    addAndNorm(x, view(scratch.c), layerWeights.attentionNorm, epsilon);
    apply(scratch.a, layerWeights.grow, scratch.wide, width, inner);
    if (shape.activation === "gelu") product.gelu(scratch.wide, rows * inner);
    else activate(shape.activation, view(scratch.wide, rows * inner));
    apply(scratch.wide, layerWeights.shrink, scratch.c, inner, width);
    addAndNorm(x, view(scratch.c), layerWeights.norm, epsilon);
    pass.stream.push(snapshot());
    yield layer;
  }
  return pass;
}

/** What layers begin with, in scratch.a. */
function embed(weights: Weights, ids: readonly number[], types: readonly number[]): void {
  const { shape, product, scratch } = weights;
  const { width, entering, pad, epsilon } = shape;
  const rows = padded(ids.length);
  const x = new Float32Array(product.memory, scratch.a, rows * entering).fill(0);
  const hasTypes = weights.types.length > entering;
  let positionCount = 0;
  for (const [at, id] of ids.entries()) {
    const row = weights.words.row(id, x.subarray(at * entering, (at + 1) * entering));
    const position = pad === null ? at : id === pad ? 0 : ++positionCount;
    const type = hasTypes ? types[at]! : 0;
    for (let i = 0; i < entering; i++)
      row[i]! += weights.positions[position * entering + i]! + weights.types[type * entering + i]!;
  }
  addAndNorm(x, null, weights.norm, epsilon);
  if (!weights.project) return;
  const { weight, bias } = weights.project;
  product.multiply(scratch.a, weight, bias, scratch.b, rows, entering, width);
  new Float32Array(product.memory).copyWithin(scratch.a / 4, scratch.b / 4, scratch.b / 4 + rows * width);
}

/** (S, H·d) -> (H, S, d). */
function byHead(values: Float32Array, tokens: number, heads: number, size: number): Float32Array {
  const out = new Float32Array(heads * tokens * size);
  for (let head = 0; head < heads; head++)
    for (let at = 0; at < tokens; at++) {
      const from = (at * heads + head) * size;
      out.set(values.subarray(from, from + size), (head * tokens + at) * size);
    }
  return out;
}

/** One head: its log-sum-exps, and Σ α v in its columns of scratch.b. Gives its weights. */
function attend(
  { shape, product, scratch }: Weights,
  layer: Attended,
  head: number,
  tokens: number,
  off: boolean,
): Float32Array {
  const { width, heads } = shape;
  const [rows, size] = [padded(tokens), width / heads];
  const view = (at: number, numbers: number) => new Float32Array(product.memory, at, numbers);
  const ofHead = (values: Float32Array) => values.subarray(head * tokens * size, (head + 1) * tokens * size);
  const [query, key, turned] = [scratch.headA, scratch.headB, scratch.headC].map((at) => view(at, rows * size)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  query.fill(0).set(ofHead(layer.q));
  key.fill(0).set(ofHead(layer.k));
  product.multiply(scratch.headA, scratch.headB, scratch.zeros, scratch.scores, rows, size, rows);
  const scores = view(scratch.scores, rows * rows);
  const scaling = 1 / Math.sqrt(size);
  const mask = layer.masks[head]!;
  for (let i = 0; i < tokens; i++) {
    const row = scores.subarray(i * rows, (i + 1) * rows);
    row.fill(MASKED, tokens);
    if (mask) for (let j = 0; j < tokens; j++) if (!mask[i * tokens + j]) row[j] = MASKED;
    const rough = product.softmax(scratch.scores + 4 * i * rows, rows, scaling);
    // scores are sums in 32 bits: where a few keys have most of a row, theirs are summed anew in 64
    const exact = (j: number) => {
      let dot = 0;
      for (let n = 0; n < size; n++) dot += query[i * size + n]! * key[j * size + n]!;
      return dot * scaling;
    };
    let lse = rough;
    for (let j = 0; j < tokens; j++) if (row[j]! > LARGE) lse += row[j]! * (exact(j) - Math.log(row[j]!) - rough);
    layer.lse[head * tokens + i] = lse;
  }
  const values = ofHead(layer.v);
  turned.fill(0);
  for (let at = 0; at < tokens; at++) for (let i = 0; i < size; i++) turned[i * rows + at] = values[at * size + i]!;
  product.multiply(scratch.scores, scratch.headC, scratch.zeros, scratch.headA, rows, rows, size);
  if (off) query.fill(0);
  const context = view(scratch.b, rows * width);
  for (let at = 0; at < rows; at++) context.set(query.subarray(at * size, (at + 1) * size), at * width + head * size);
  return scores;
}

/** Until what waits for this thread is done: a browser makes timers wait longer, the more follow each other. */
export const othersFirst = (): Promise<void> =>
  new Promise((next) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      next();
    };
    port2.postMessage(null);
  });

const PATIENCE = 16; // ms that others wait

/** Runs to the end, and lets others in now and then: one run of a model at a time, they share its memory. Rejects with the signal's reason once it is aborted. */
export async function run(
  weights: Weights,
  input: Input,
  changes: readonly Change[],
  signal?: AbortSignal,
  look?: Look,
): Promise<Pass> {
  const steps = forward(weights, input, changes, look);
  let since = Number.NEGATIVE_INFINITY; // after the first layer in any case
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (performance.now() - since < PATIENCE) continue;
    await othersFirst();
    signal?.throwIfAborted();
    since = performance.now();
  }
}

/** What the model says of a whole text: the mean of its tokens' vectors (Reimers & Gurevych 2019), (D). */
export function pooled({ stream, tokens }: Pass): Float32Array {
  const states = stream.at(-1)!;
  const width = states.length / tokens;
  const mean = new Float32Array(width);
  for (let n = 0; n < states.length; n++) mean[n % width]! += states[n]! / tokens;
  return mean;
}

/** The cosine of two vectors. */
export function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) => x.reduce((sum, one, n) => sum + one * y[n]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
