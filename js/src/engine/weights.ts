// A model's weights as a page carries them (bertlens/export/weights.py), and where each lies in the memory of a product.
import type { Arrays } from "../kernel/wire";
import { halves } from "./numbers";
import { createProduct, type Product } from "./product";

/** What a pass has to know of a model beside its numbers. */
export interface Shape {
  layers: number;
  heads: number;
  width: number; // of the stream
  inner: number; // of the MLP
  positions: number; // the most tokens
  epsilon: number; // of the LayerNorms
}

interface Norm {
  scale: Float32Array;
  shift: Float32Array;
}

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
  word(id: number): Float32Array; // a new one
  positions: Float32Array; // (positions, width)
  segments: Float32Array; // (segments, width)
  norm: Norm;
  layers: LayerWeights[];
  scratch: Scratch;
}

/** Addresses of what a pass works on. */
export interface Scratch {
  a: number; // (tokens, width) each
  b: number;
  c: number;
  d: number;
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

/** `part` gives the arrays of one part of the weights: 0 the embeddings, then each layer. They are not kept. */
export async function loadWeights(
  shape: Shape,
  part: (n: number) => Promise<Arrays>,
  progress: (share: number) => void = () => undefined,
  makeProduct: (bytes: number) => Promise<Product> | Product = createProduct,
): Promise<Weights> {
  const { width, inner, layers, heads } = shape;
  const tokens = padded(shape.positions);
  const head = width / heads;
  let bytes = 0;
  const take = (numbers: number) => {
    const at = bytes;
    bytes += Math.ceil((numbers * 4) / 16) * 16;
    return at;
  };
  const linear = (outputs: number, inputs: number): Linear => ({ weight: take(outputs * inputs), bias: take(outputs) });
  const places = Array.from({ length: layers }, () => ({
    query: linear(width, width),
    key: linear(width, width),
    value: linear(width, width),
    output: linear(width, width),
    grow: linear(inner, width),
    shrink: linear(width, inner),
  }));
  const [a, b, c, d] = Array.from({ length: 4 }, () => take(tokens * width)) as [number, number, number, number];
  const [headA, headB, headC] = Array.from({ length: 3 }, () => take(tokens * head)) as [number, number, number];
  const scratch = {
    ...{ a, b, c, d, headA, headB, headC },
    wide: take(tokens * inner),
    scores: take(tokens * tokens),
    zeros: take(Math.max(tokens, inner)),
  };
  const product = await makeProduct(bytes);

  const table = halves();
  const floats = ({ data }: Arrays[string]): Float32Array =>
    data instanceof Uint16Array ? Float32Array.from(data, (bits) => table[bits]!) : (data as Float32Array);
  const norm = (arrays: Arrays, name: string): Norm => ({
    scale: floats(arrays[`${name}.weight`]!).slice(), // a copy: what it came with is large
    shift: floats(arrays[`${name}.bias`]!).slice(),
  });
  const first = await part(0);
  const words = first.words!.data.slice();
  const base = {
    word: (id: number) => {
      const row = words.subarray(id * width, (id + 1) * width);
      return row instanceof Uint16Array ? Float32Array.from(row, (bits) => table[bits]!) : Float32Array.from(row);
    },
    positions: floats(first.positions!).slice(),
    segments: floats(first.segments!).slice(),
    norm: norm(first, "norm"),
  };
  progress(1 / (layers + 1));
  const all: LayerWeights[] = [];
  for (const [n, place] of places.entries()) {
    const arrays = await part(n + 1);
    for (const name of LINEARS) {
      const put = (at: number, array: Arrays[string]) => new Float32Array(product.memory, at).set(floats(array));
      put(place[name].weight, arrays[`${name}.weight`]!);
      put(place[name].bias, arrays[`${name}.bias`]!);
    }
    all.push({ ...place, attentionNorm: norm(arrays, "attention_norm"), norm: norm(arrays, "norm") });
    progress((n + 2) / (layers + 1));
  }
  return { shape, product, ...base, layers: all, scratch };
}
