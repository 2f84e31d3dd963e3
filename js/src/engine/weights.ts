// A model's weights as a page carries them (bertlens/export/page_weights.py), and where each lies in the memory of a product.
import type { Arrays } from "../kernel/wire";
import type { Activation, Norm } from "./arithmetic";
import { createProduct, type Product } from "./product";
import { floatsOf, type Table, tableOf } from "./weighttables";

/** What a pass has to know of a model beside its numbers. */
export interface Shape {
  layers: number;
  order: number[]; // the part of the weights that each layer has: one that is shared is there once
  heads: number;
  width: number; // of the stream
  entering: number; // of the words' vectors
  inner: number; // of the MLP
  positions: number; // the most tokens
  typed: boolean; // it adds a vector of a token's type
  pad: number | null; // the token that is not counted where positions are counted; it has their first vector
  activation: Activation; // of the MLP
  epsilon: number; // of the LayerNorms
  head: StageName[]; // the stages of what makes the answer of the last states
}

/** A stage of a head as a page is told of it; "words": the words' vectors are its matrix. */
type StageName = { kind: "linear" } | { kind: "words" } | { kind: "norm"; epsilon: number } | { kind: Activation };

/** A stage of a head: a projection, a LayerNorm, an activation. */
export type Stage =
  | { kind: "linear"; table: Table; bias: Float32Array }
  | { kind: "norm"; norm: Norm; epsilon: number }
  | { kind: Activation };

/** Addresses of a matrix and its bias. */
export interface Linear {
  weight: number;
  bias: number;
}

export interface LayerWeights {
  query: Linear;
  key: Linear;
  value: Linear;
  output: Linear;
  attentionNorm: Norm;
  grow: Linear;
  shrink: Linear;
  norm: Norm;
}

export interface Weights {
  shape: Shape;
  product: Product;
  words: Table;
  positions: Float32Array; // (positions, entering)
  types: Float32Array; // (types, entering)
  norm: Norm;
  project: Linear | null; // from the words' width to the stream's
  layers: LayerWeights[];
  head: Stage[];
  scratch: Scratch;
}

/** Addresses of what a pass works on. */
export interface Scratch {
  a: number; // (tokens, width) each
  b: number;
  c: number;
  wide: number; // (tokens, inner)
  scores: number; // (tokens, tokens)
  headA: number; // (tokens, width of a head) each
  headB: number;
  headC: number;
  zeros: number; // a bias of nothing
}

const LINEARS = ["query", "key", "value", "output", "grow", "shrink"] as const;

/** Rows as a product takes them. */
export const padded = (tokens: number): number => Math.ceil(tokens / 4) * 4;

/** `part` gives the arrays of one part of the weights: 0 the embeddings, then the layers, then the head. They are not kept. */
export async function loadWeights(
  shape: Shape,
  part: (n: number) => Promise<Arrays>,
  progress: (share: number) => void = () => undefined,
  makeProduct: (bytes: number) => Promise<Product> | Product = createProduct,
): Promise<Weights> {
  const { width, entering, inner, heads } = shape;
  const layerCount = Math.max(...shape.order) + 1; // layers that are not shared
  const count = 1 + layerCount + (shape.head.length > 0 ? 1 : 0);
  const tokens = padded(shape.positions);
  const ofHead = width / heads;
  let bytes = 0;
  const take = (numbers: number) => {
    const at = bytes;
    bytes += Math.ceil((numbers * 4) / 16) * 16;
    return at;
  };
  const linear = (outputs: number, inputs: number): Linear => ({ weight: take(outputs * inputs), bias: take(outputs) });
  const places = Array.from({ length: layerCount }, () => ({
    query: linear(width, width),
    key: linear(width, width),
    value: linear(width, width),
    output: linear(width, width),
    grow: linear(inner, width),
    shrink: linear(width, inner),
  }));
  const project = entering === width ? null : linear(width, entering);
  const wide = tokens * Math.max(width, entering);
  const scratch = {
    ...{ a: take(wide), b: take(wide), c: take(wide) },
    ...{ headA: take(tokens * ofHead), headB: take(tokens * ofHead), headC: take(tokens * ofHead) },
    wide: take(tokens * inner),
    scores: take(tokens * tokens),
    zeros: take(Math.max(tokens, inner)),
  };
  const product = await makeProduct(bytes);

  const norm = (arrays: Arrays, name: string): Norm => ({
    scale: floatsOf(arrays, `${name}.weight`).slice(), // a copy: what it came with is large
    shift: floatsOf(arrays, `${name}.bias`).slice(),
  });
  const embeddings = await part(0);
  const base = {
    words: tableOf(embeddings, "words", entering),
    positions: floatsOf(embeddings, "positions").slice(),
    types: floatsOf(embeddings, "types").slice(),
    norm: norm(embeddings, "norm"),
    project,
  };
  const put = ({ weight, bias }: Linear, arrays: Arrays, name: string) => {
    for (const [at, array] of [
      [weight, `${name}.weight`],
      [bias, `${name}.bias`],
    ] as const)
      new Float32Array(product.memory, at).set(floatsOf(arrays, array));
  };
  if (project) put(project, embeddings, "project");
  progress(1 / count);
  const layers: LayerWeights[] = [];
  for (const [n, place] of places.entries()) {
    const arrays = await part(n + 1);
    for (const name of LINEARS) put(place[name], arrays, name);
    layers.push({ ...place, attentionNorm: norm(arrays, "attention_norm"), norm: norm(arrays, "norm") });
    progress((n + 2) / count);
  }
  const headArrays = shape.head.length > 0 ? await part(layerCount + 1) : {};
  const head = shape.head.map((stage, n): Stage => {
    if (stage.kind === "norm") return { ...stage, norm: norm(headArrays, String(n)) };
    if (stage.kind !== "linear" && stage.kind !== "words") return stage;
    const bias = floatsOf(headArrays, `${n}.bias`).slice();
    const table = stage.kind === "words" ? base.words : tableOf(headArrays, `${n}.weight`);
    return { kind: "linear", table, bias };
  });
  progress(1);
  return { shape, product, ...base, layers: shape.order.map((n) => layers[n]!), head, scratch };
}
