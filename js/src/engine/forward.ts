// One forward pass of BERT: embeddings, then layers of attention and MLP, each with the LayerNorm after its sum.
// Devlin et al. 2019; Vaswani et al. 2017, section 3.
import * as phrases from "../generated/phrases";
import { activate, addAndNorm } from "./arithmetic";
import { type Change, factorOf, logarithmsOf, maskOf } from "./changes";
import { MASKED } from "./product";
import { type Linear, padded, type Shape, type Weights } from "./weights";

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
  block: Float32Array; // (S, D) what its attention block gives
  scales: Float64Array[]; // (S and more) 1/s of the LayerNorm of its attention block, of its MLP
}

/** A run. stream: what layers begin with, and last what the model gives, (S, D) each; entry: 1/s of the embeddings. */
export interface Pass {
  tokens: number;
  changes: readonly Change[];
  logarithms: Float64Array | null; // added to the scores of each key: see changes.ts
  layers: Attended[];
  stream: Float32Array[];
  entry: Float64Array;
}

/** Is shown a head's weights while they are here: (tokens) of each row, which begin `stride` numbers apart. */
export type Look = (layer: number, head: number, weights: Float32Array, stride: number) => void;

const LARGE = 0.05; // a weight whose score is summed in 64 bits

/** Where a run begins: the layers before are those of another one. at: the one token whose last state is read, so that
 * behind the last attention no other is computed. */
export interface Start {
  pass: Pass;
  layer: number;
  at?: number | undefined;
}

/** Yields after every layer, so that who drives it can serve others, or leave it. */
export function* forward(
  weights: Weights,
  { ids, types }: Input,
  changes: readonly Change[],
  look: Look = () => undefined,
  start?: Start,
): Generator<number, Pass> {
  const { shape, product, scratch } = weights;
  const { width, inner, heads, epsilon } = shape;
  const [tokens, rows] = [ids.length, padded(ids.length)];
  if (tokens < 1 || tokens > shape.positions)
    throw new Error(`${phrases.TOO_LONG({ tokens, limit: shape.positions })}: shorten the text`);
  const view = (at: number, numbers = rows * width) => new Float32Array(product.memory, at, numbers);
  const x = view(scratch.a); // the stream; rows behind the tokens are of nothing
  const snapshot = () => x.slice(0, tokens * width);
  const entry = start ? start.pass.entry : embed(weights, ids, types);
  const pass: Pass = { tokens, changes, logarithms: logarithmsOf(changes, tokens), layers: [], stream: [], entry };
  if (start) {
    pass.layers.push(...start.pass.layers.slice(0, start.layer));
    pass.stream.push(...start.pass.stream.slice(0, start.layer + 1));
    x.fill(0).set(pass.stream[start.layer]!);
  } else pass.stream.push(snapshot());
  for (const [layer, layerWeights] of weights.layers.entries()) {
    if (start && layer < start.layer) continue;
    const project = ({ weight, bias }: Linear) => {
      product.multiply(scratch.a, weight, bias, scratch.b, rows, width, width);
      return byHead(view(scratch.b), tokens, heads, width / heads);
    };
    const { q, k, v } =
      layer === start?.layer // changes are of what its attention does
        ? start.pass.layers[layer]!
        : { q: project(layerWeights.query), k: project(layerWeights.key), v: project(layerWeights.value) };
    const attended: Attended = { q, k, v, lse: new Float64Array(heads * tokens), masks: [], block: x, scales: [] };
    pass.layers.push(attended);
    for (let head = 0; head < heads; head++) {
      attended.masks.push(maskOf(changes, layer, head, tokens));
      const { values, stride } = attend(weights, pass, layer, head);
      look(layer, head, values, stride);
    }
    const isPart = start?.at !== undefined && layer === weights.layers.length - 1;
    const [from, count] = isPart ? [Math.floor(start.at! / 4) * 4, 4] : [0, rows]; // rows of a product come in fours
    const [a, b] = [scratch.a, scratch.b].map((address) => address + 4 * from * width) as [number, number];
    const [states, sums] = [view(a, count * width), view(scratch.c, count * width)];
    product.multiply(b, layerWeights.output.weight, layerWeights.output.bias, scratch.c, count, width, width);
    attended.scales.push(addAndNorm(states, sums, layerWeights.attentionNorm, epsilon));
    attended.block = snapshot();
    const { grow, shrink } = layerWeights;
    product.multiply(a, grow.weight, grow.bias, scratch.wide, count, width, inner);
    if (shape.activation === "gelu") product.gelu(scratch.wide, count * inner);
    else activate(shape.activation, view(scratch.wide, count * inner));
    product.multiply(scratch.wide, shrink.weight, shrink.bias, scratch.c, count, inner, width);
    attended.scales.push(addAndNorm(states, sums, layerWeights.norm, epsilon));
    pass.stream.push(snapshot());
    yield layer;
  }
  return pass;
}

/** Of each token, which of the positions' vectors it has. */
export function positionsOf({ pad }: Shape, ids: readonly number[]): number[] {
  let count = 0;
  return ids.map((id, at) => (pad === null ? at : id === pad ? 0 : ++count));
}

/** What layers begin with, in scratch.a; gives 1/s of its LayerNorm. */
function embed(weights: Weights, ids: readonly number[], types: readonly number[]): Float64Array {
  const { shape, product, scratch } = weights;
  const { width, entering, epsilon } = shape;
  const rows = padded(ids.length);
  const x = new Float32Array(product.memory, scratch.a, rows * entering).fill(0);
  const hasTypes = weights.types.length > entering;
  for (const [at, position] of positionsOf(shape, ids).entries()) {
    const row = weights.words.row(ids[at]!, x.subarray(at * entering, (at + 1) * entering));
    const type = hasTypes ? types[at]! : 0;
    for (let i = 0; i < entering; i++)
      row[i]! += weights.positions[position * entering + i]! + weights.types[type * entering + i]!;
  }
  const scales = addAndNorm(x, null, weights.norm, epsilon);
  if (!weights.project) return scales;
  const { weight, bias } = weights.project;
  product.multiply(scratch.a, weight, bias, scratch.b, rows, entering, width);
  new Float32Array(product.memory).copyWithin(scratch.a / 4, scratch.b / 4, scratch.b / 4 + rows * width);
  return scales;
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

/** The vectors of one head, (S, d). */
export const ofHead = (values: Float32Array, head: number, tokens: number, size: number): Float32Array =>
  values.subarray(head * tokens * size, (head + 1) * tokens * size);

/** A map: (tokens) numbers of each row, which begin `stride` numbers apart. */
export interface HeadMap {
  values: Float32Array;
  stride: number;
}

/** A head's weights, and ln Σ exp of each row of scores. They are where those of the next one will be. */
export function mapOf(
  { shape, product, scratch }: Weights,
  { tokens, layers, logarithms }: Pass,
  layer: number,
  head: number,
): HeadMap & { lse: Float64Array } {
  const { q, k, masks } = layers[layer]!;
  const [stride, size] = [padded(tokens), shape.width / shape.heads];
  for (const [at, states] of [
    [scratch.headA, q],
    [scratch.headB, k],
  ] as const)
    new Float32Array(product.memory, at, stride * size).fill(0).set(ofHead(states, head, tokens, size));
  product.multiply(scratch.headA, scratch.headB, scratch.zeros, scratch.scores, stride, size, stride);
  const values = new Float32Array(product.memory, scratch.scores, stride * stride);
  const mask = masks[head];
  const lse = new Float64Array(tokens);
  for (let i = 0; i < tokens; i++) {
    const row = values.subarray(i * stride, (i + 1) * stride).fill(MASKED, tokens);
    if (logarithms) for (let j = 0; j < tokens; j++) row[j]! += logarithms[j]! * Math.sqrt(size);
    if (mask) for (let j = 0; j < tokens; j++) if (!mask[i * tokens + j]) row[j] = MASKED;
    lse[i] = product.softmax(scratch.scores + 4 * i * stride, stride, 1 / Math.sqrt(size));
  }
  return { values, stride, lse };
}

/** Σ_j α_ij v_j of the head whose map was the last: (tokens and more, d). It is where the next one will be. */
export function contextOf(
  { shape, product, scratch }: Weights,
  { tokens, layers }: Pass,
  layer: number,
  head: number,
): Float32Array {
  const [rows, size] = [padded(tokens), shape.width / shape.heads];
  const turned = new Float32Array(product.memory, scratch.headC, rows * size).fill(0);
  const values = ofHead(layers[layer]!.v, head, tokens, size);
  for (let at = 0; at < tokens; at++) for (let i = 0; i < size; i++) turned[i * rows + at] = values[at * size + i]!;
  product.multiply(scratch.scores, scratch.headC, scratch.zeros, scratch.headA, rows, rows, size);
  return new Float32Array(product.memory, scratch.headA, rows * size);
}

/** One head: its log-sum-exps, and Σ α v in its columns of scratch.b. Gives its weights. */
function attend(weights: Weights, pass: Pass, layer: number, head: number): HeadMap {
  const { shape, product, scratch } = weights;
  const { width, heads } = shape;
  const { tokens, changes, logarithms } = pass;
  const { q, k, lse } = pass.layers[layer]!;
  const [rows, size] = [padded(tokens), width / heads];
  const scaling = 1 / Math.sqrt(size);
  const map = mapOf(weights, pass, layer, head);
  const [query, key] = [q, k].map((states) => ofHead(states, head, tokens, size)) as [Float32Array, Float32Array];
  for (let i = 0; i < tokens; i++) {
    const row = map.values.subarray(i * rows, i * rows + tokens);
    // scores are sums in 32 bits: where a few keys have most of a row, theirs are summed anew in 64
    const exact = (j: number) => {
      let dot = 0;
      for (let n = 0; n < size; n++) dot += query[i * size + n]! * key[j * size + n]!;
      return dot * scaling + (logarithms?.[j] ?? 0);
    };
    const rough = map.lse[i]!;
    let sum = rough;
    for (let j = 0; j < tokens; j++) if (row[j]! > LARGE) sum += row[j]! * (exact(j) - Math.log(row[j]!) - rough);
    lse[head * tokens + i] = sum;
  }
  const context = contextOf(weights, pass, layer, head);
  const factor = factorOf(changes, layer, head);
  if (factor === 0) context.fill(0);
  else if (factor !== 1) for (let n = 0; n < context.length; n++) context[n]! *= factor;
  const room = new Float32Array(product.memory, scratch.b, rows * width);
  for (let at = 0; at < rows; at++) room.set(context.subarray(at * size, (at + 1) * size), at * width + head * size);
  return map;
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
  start?: Start,
): Promise<Pass> {
  const steps = forward(weights, input, changes, look, start);
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
