// What is asked of heads: one of them, rows and statistics of all, by weight and by norm. As bertlens/widgets/answers/head_answers.py.
import type { HeadFields } from "../../generated/answers";
import { mapOf, ofHead, type Pass } from "../forward";
import type { Shaped } from "../pack";
import { noPictures, putStatistics, putThumbnail, rolesOf, sideOf, statisticsOf, thumbnailOf } from "../pictures";
import { type Answering, answerOf, type Carried, type Engine, layersOf, perHead, type Shown } from "../runs";
import { padded } from "../weights";
import { measuredMap, rowOf } from "./attentionmaps";
import { lengthsOf, sharesOf } from "./valuenorms";

/** One head as it travels: q and k (S, d), log-sum-exps (S), what it sees. */
export function headOf(
  { pass }: Shown,
  { shape, decimals }: Carried,
  layer: number,
  head: number,
): { fields: HeadFields; arrays: Record<string, Shaped> } {
  const { q, k, lse, masks } = pass.layers[layer]!;
  const [tokens, size] = [pass.tokens, shape.width / shape.heads];
  const slice = (values: Float32Array): Shaped => [ofHead(values, head, tokens, size), [tokens, size]];
  const mask = masks[head];
  const bias = biasOf(pass, mask);
  const [, digits] = decimals.find(([most]) => tokens <= most) ?? decimals.at(-1)!;
  return {
    fields: {
      layer,
      head,
      scaling: 1 / Math.sqrt(size),
      mask: bias ? "bias" : mask ? "bits" : "full",
      decimals: digits,
    },
    arrays: {
      ...{ q: slice(q), k: slice(k) },
      lse: [Float64Array.from(lse.subarray(head * tokens, (head + 1) * tokens)), null],
      ...(bias ? { bias } : mask ? { bits: bitsOf(mask, tokens) } : {}),
    },
  };
}

/** (S, S) what is added to the scores, −Infinity where a key is not seen; null where that is nothing. */
function biasOf({ tokens, logarithms }: Pass, mask: Uint8Array | null | undefined): Shaped | null {
  if (!logarithms) return null;
  const bias = Float32Array.from({ length: tokens * tokens }, (_, n) =>
    mask && !mask[n] ? Number.NEGATIVE_INFINITY : logarithms[n % tokens]!,
  );
  return [bias, [tokens, tokens]];
}

/** A bit per key, lowest first, each query's in bytes of its own. */
function bitsOf(mask: Uint8Array, tokens: number): Shaped {
  const stride = Math.ceil(tokens / 8);
  const bits = new Uint8Array(tokens * stride);
  for (let i = 0; i < tokens; i++)
    for (let j = 0; j < tokens; j++) bits[i * stride + (j >> 3)]! |= mask[i * tokens + j]! << (j & 7);
  return [bits, [tokens, stride]];
}

export const head: Answering<"head"> = ({ carried }, shown, { layer, head }) => {
  const { fields, arrays } = headOf(shown, carried, layer, head);
  return answerOf(fields, arrays);
};

/** ‖f(x)‖ of a layer's heads, (H, S). */
export const norms: Answering<"norms"> = ({ carried, weights }, { pass }, { layer }) =>
  answerOf({}, { norms: [lengthsOf(weights, pass, layer), [carried.shape.heads, pass.tokens]] });

/** Rows of all heads for some queries, their mean. */
export const rows: Answering<"rows"> = ({ carried, weights }, { pass }, { query, last: end }) => {
  const [layers, heads] = perHead(carried);
  const { tokens } = pass;
  const hasNorms = (carried.header.measures as string[]).includes("norm");
  const room = () => new Float32Array(layers * heads * tokens);
  const sums = { weight: room(), ...(hasNorms ? { norm: room(), share: room() } : {}) };
  for (let layer = 0; layer < layers; layer++) {
    const lengths = hasNorms ? lengthsOf(weights, pass, layer) : null;
    for (let h = 0; h < heads; h++)
      for (let i = query; i <= end; i++) {
        const at = (layer * heads + h) * tokens;
        const add = (name: keyof typeof sums, row: Float64Array) => {
          for (let j = 0; j < tokens; j++) sums[name]![at + j]! += row[j]! / (end - query + 1);
        };
        const row = rowOf(pass, layer, h, i, heads);
        add("weight", row);
        if (!lengths) continue;
        const norm = row.map((weight, j) => weight * lengths[h * tokens + j]!);
        add("norm", norm);
        add("share", sharesOf(norm));
      }
  }
  const shaped = (values: Float32Array) => [values, [layers, heads, tokens]] as const;
  const { weight, norm, share } = sums;
  return answerOf(
    {},
    { weight: shaped(weight), ...(norm && share ? { norm: shaped(norm), share: shaped(share) } : {}) },
  );
};

/** Statistics of rows that are even over the keys that they see, of every head: as `even` of bertlens/measures/byhead.py. */
export function evenOf({ carried, weights: { product, scratch } }: Engine, { pass, encoded, texts }: Shown): Shaped {
  const names = carried.header.stats as string[];
  const roles = rolesOf(encoded, carried.vocabulary.separator, texts[1] !== "");
  const [layers, heads] = perHead(carried);
  const [{ tokens }, stride] = [pass, padded(pass.tokens)];
  const pictures = noPictures(layers * heads, tokens, names.length);
  const byMask = new Map<Uint8Array | null, ReturnType<typeof statisticsOf>>();
  for (let at = 0; at < layers * heads; at++) {
    const mask = pass.layers[Math.floor(at / heads)]!.masks[at % heads]!;
    if (!byMask.has(mask)) {
      const values = new Float32Array(product.memory, scratch.scores, stride * stride).fill(0);
      for (let i = 0; i < tokens; i++) {
        const row = values.subarray(i * stride, i * stride + tokens).fill(1);
        if (mask) row.set(mask.subarray(i * tokens, (i + 1) * tokens));
        const count = row.reduce((sum, one) => sum + one, 0);
        for (let j = 0; j < tokens; j++) row[j]! /= count;
      }
      byMask.set(mask, statisticsOf(product, values, stride, roles));
    }
    putStatistics(pictures, at, names, byMask.get(mask)!);
  }
  return [pictures.stats, [layers, heads, names.length]];
}

export const statistics: Answering<"statistics"> = ({ carried, weights }, shown, { by, layer }) => {
  const { pass, pictures, encoded, texts } = shown;
  const [, heads] = perHead(carried);
  const names = carried.header.stats as string[];
  const selection = layersOf(carried, layer);
  if (by === "weight") {
    const slice = (values: Float32Array, size: number): Shaped<Float32Array> => [
      values.subarray(selection[0]! * heads * size, (selection.at(-1)! + 1) * heads * size),
      [selection.length, heads, size],
    ];
    return answerOf(
      { names },
      { stats: slice(pictures.stats, names.length), received: slice(pictures.received, pass.tokens) },
    );
  }
  const columns = [...names, "variation"];
  const roles = rolesOf(encoded, carried.vocabulary.separator, texts[1] !== "");
  const byNorm = noPictures(selection.length * heads, pass.tokens, columns.length);
  for (const [n, one] of selection.entries())
    for (let at = 0; at < heads; at++) {
      const { values, stride } = mapOf(weights, pass, one, at);
      const lengths = lengthsOf(weights, pass, one).subarray(at * pass.tokens);
      const variation = intoShares(values, stride, pass, lengths);
      const { of, received } = statisticsOf(weights.product, values, stride, roles);
      putStatistics(byNorm, n * heads + at, columns, { of: { ...of, variation }, received });
    }
  const size = [selection.length, heads];
  return answerOf(
    { names: columns },
    { stats: [byNorm.stats, [...size, columns.length]], received: [byNorm.received, [...size, pass.tokens]] },
  );
};

/** Weights become each row's shares of ‖αf(x)‖, in place; how far the two are apart, ½ Σ |α − share|, mean over rows. */
function intoShares(values: Float32Array, stride: number, { tokens }: Pass, lengths: Float32Array): number {
  let distance = 0;
  for (let i = 0; i < tokens; i++) {
    const row = values.subarray(i * stride, i * stride + tokens);
    const share = sharesOf(Float64Array.from(row, (weight, j) => weight * lengths[j]!));
    const total = row.reduce((sum, one) => sum + one, 0);
    for (let j = 0; j < tokens; j++) distance += Math.abs(row[j]! / total - share[j]!) / 2;
    row.set(share);
  }
  return distance / tokens;
}

/** Thumbnails by norm or difference. */
export const thumbs: Answering<"thumbs"> = ({ carried, weights }, { pass }, { measure, layer }) => {
  const [, heads] = perHead(carried);
  const { tokens } = pass;
  const selection = layersOf(carried, layer);
  const pictures = noPictures(selection.length * heads, tokens, 0);
  for (const [n, one] of selection.entries())
    for (let at = 0; at < heads; at++) {
      const map = measuredMap(weights, pass, one, at, measure);
      putThumbnail(pictures, n * heads + at, thumbnailOf(map, tokens, tokens, measure === "difference"));
    }
  const [size, side] = [[selection.length, heads], sideOf(tokens)];
  return answerOf({}, { thumbs: [pictures.thumbs, [...size, side, side]], thumb_max: [pictures.thumb_max, size] });
};
