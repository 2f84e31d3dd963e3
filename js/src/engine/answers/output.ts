// What the model's head gives: logits at the masks of a text, of its tokens, or of the text as a whole; or a text's vector.
import * as phrases from "../../generated/phrases";
import { activate, addAndNorm } from "../arithmetic";
import { type Pass, pooled } from "../forward";
import { type Engine, memo, type Run } from "../runs";
import { padded, type Stage, type Weights } from "../weights";

export const WHOLE = -1; // the place of an answer that is the text's
export const TOGETHER = 24; // runs that the model's head reads at once: its matrices, of all words, take longer than a run

/** The places that are answered. Throws where no token is masked that a word could be predicted for. */
export function placesOf({ carried, names }: Engine, { encoded }: Pick<Run, "encoded">): number[] {
  const places = encoded.ids.map((_, at) => at);
  if (carried.answer.kind === "tags") return places.filter((at) => !encoded.special[at]);
  if (carried.answer.kind !== "words") return [WHOLE];
  const { mask } = carried.vocabulary;
  const masks = places.filter((at) => mask && encoded.ids[at] === names.idOf(mask));
  if (!mask) throw new Error(phrases.NO_MASK_TOKEN({ model: String(carried.header.model) }));
  if (masks.length === 0) throw new Error(phrases.NOTHING_MASKED({ mask }));
  return masks;
}

const logitsByPlace = new WeakMap<Pass, Map<number, Float32Array>>();

/** The logits at a place, of each word or class. */
export const logitsAt = (engine: Engine, pass: Pass, place: number): Float32Array =>
  memo(logitsByPlace, pass, place, () => logitsOf(engine, [pass], place)[0]!);

/** Those of several runs, so that each row of the head's matrices is read once; they are there then. */
export function readTogether(engine: Engine, passes: readonly Pass[], place: number): void {
  const others = passes.filter((pass) => !logitsByPlace.get(pass)?.has(place));
  const logits = logitsOf(engine, others, place);
  for (const [n, pass] of others.entries()) memo(logitsByPlace, pass, place, () => logits[n]!);
}

const logitsOf = (engine: Engine, passes: readonly Pass[], place: number): Float32Array[] =>
  logitsFrom(
    engine,
    passes.map((pass) => headInput(engine, pass, place)),
  );

/** What the model's head reads at a place, (D): all that its logits need of a pass. */
export const headInput = (engine: Engine, pass: Pass, place: number): Float32Array =>
  (place < 0 ? vectorOf(engine, pass) : stateAt(pass, place)).slice();

/** Logits of what the head reads, in the memory of which it computes. */
export const logitsFrom = (engine: Engine, inputs: Float32Array[]): Float32Array[] =>
  engine.weights.head.reduce((vectors, stage) => through(engine, vectors, stage), inputs);

const numbersByPlace = new WeakMap<Pass, Map<number, Float64Array>>();

/** The numbers that the model answers with at a place, of each word or class. */
export const numbersAt = (engine: Engine, pass: Pass, place: number): Float64Array =>
  memo(numbersByPlace, pass, place, () => numbersOf(engine, logitsAt(engine, pass, place)));

/** A token's vector behind the last layer. */
function stateAt({ stream, tokens }: Pass, at: number): Float32Array {
  const states = stream.at(-1)!;
  const width = states.length / tokens;
  return states.subarray(at * width, (at + 1) * width);
}

function through({ weights }: Engine, vectors: Float32Array[], stage: Stage): Float32Array[] {
  if (stage.kind === "linear")
    return vectors.length > 1 && vectors.length <= weights.shape.positions
      ? products(weights, vectors, stage)
      : vectors.map(product(stage));
  for (const x of vectors)
    if (stage.kind === "norm") addAndNorm(x, null, stage.norm, stage.epsilon);
    else activate(stage.kind, x);
  return vectors;
}

type LinearStage = Extract<Stage, { kind: "linear" }>;

const product = ({ table, bias }: LinearStage) => {
  const row = new Float32Array(table.width);
  return (x: Float32Array): Float32Array =>
    bias.map((shift, n) => {
      table.row(n, row);
      let sum = shift;
      for (let i = 0; i < row.length; i++) sum += row[i]! * x[i]!;
      return sum;
    });
};

const OUTPUTS = 256; // of a matrix that are unpacked together

/** The same of several vectors, some of its outputs at a time, by the product that passes are made by. */
function products({ shape, product, scratch }: Weights, vectors: Float32Array[], { table, bias }: LinearStage) {
  const [n, rows, room] = [table.width, padded(vectors.length), padded(shape.positions)];
  const most = Math.min(OUTPUTS, (room * shape.inner) / n, (room * shape.width) / rows);
  const step = Math.floor(most / 2) * 2;
  const view = (at: number, numbers: number) => new Float32Array(product.memory, at, numbers);
  const x = view(scratch.a, rows * n).fill(0);
  for (const [at, vector] of vectors.entries()) x.set(vector, at * n);
  const [shifts, matrix, y] = [view(scratch.b, step), view(scratch.wide, step * n), view(scratch.c, rows * step)];
  const out = vectors.map(() => new Float32Array(bias.length));
  for (let start = 0; start < bias.length; start += step) {
    const count = Math.min(step, bias.length - start);
    const outputs = Math.ceil(count / 2) * 2;
    shifts.set(bias.subarray(start, start + count));
    for (let at = 0; at < count; at++) table.row(start + at, matrix.subarray(at * n, (at + 1) * n));
    product.multiply(scratch.a, scratch.wide, scratch.b, scratch.c, rows, n, outputs);
    for (const [at, logits] of out.entries()) logits.set(y.subarray(at * outputs, at * outputs + count), start);
  }
  return out;
}

/** Of logits, the numbers that the model answers with. */
export function numbersOf({ carried }: Engine, logits: Float32Array): Float64Array {
  const { chance } = carried.answer;
  if (chance === "softmax") return softmax(logits);
  return Float64Array.from(logits, (x) => (chance === "sigmoid" ? 1 / (1 + Math.exp(-x)) : x));
}

export function softmax(logits: Float32Array): Float64Array {
  const powers = new Float64Array(logits.length);
  let [peak, sum] = [Number.NEGATIVE_INFINITY, 0];
  for (const x of logits) if (x > peak) peak = x;
  for (let n = 0; n < powers.length; n++) sum += powers[n] = Math.exp(logits[n]! - peak);
  for (let n = 0; n < powers.length; n++) powers[n]! /= sum;
  return powers;
}

/** The vector of a text. */
export const vectorOf = ({ carried }: Engine, pass: Pass): Float32Array =>
  carried.answer.pooling === "first" ? stateAt(pass, 0) : pooled(pass);

/** Each token's share of the text's vector v, vᵢ·v ÷ ‖v‖²; null of a vector that is no mean of the tokens. */
export function sharesOf(engine: Engine, pass: Pass): Float64Array | null {
  if (engine.carried.answer.pooling !== "mean") return null;
  const vector = vectorOf(engine, pass);
  const states = pass.stream.at(-1)!;
  const square = vector.reduce((sum, x) => sum + x * x, 0) * pass.tokens;
  const shares = new Float64Array(pass.tokens);
  for (let n = 0; n < states.length; n++)
    shares[Math.floor(n / vector.length)]! += (states[n]! * vector[n % vector.length]!) / square;
  return shares;
}

/** The places of the k largest, the largest first. */
export function best(values: ArrayLike<number>, k: number): number[] {
  const order: number[] = [];
  for (let n = 0; n < values.length; n++) {
    if (order.length === k && values[n]! <= values[order[k - 1]!]!) continue;
    let at = order.length;
    while (at > 0 && values[order[at - 1]!]! < values[n]!) at--;
    order.splice(at, 0, n);
    if (order.length > k) order.pop();
  }
  return order;
}
