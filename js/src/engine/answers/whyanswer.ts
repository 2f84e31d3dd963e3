// Why one cell's query looks at its key: its score by source, of the run without changes. As bertlens/widgets/answers/why.py.
import * as phrases from "../../generated/phrases";
import { isNothing } from "../../paint/ranked";
import { type Attended, ofHead, othersFirst } from "../forward";
import { type Answering, answerOf, type Engine, type Run } from "../runs";
import { rowOf } from "./attentionmaps";
import { mixOf, type Parts, partsOf, type Reading } from "./sources";

const LARGEST = 6; // parts that are bars, the others are folded into one
const NEAR_ZERO = 0.1; // a total below this is the difference of parts that cancel

type Side = "query" | "key";
type Row = [kind: string, layer: number | null, head: number | null, value: number];

const notesOf = ({ carried }: Engine): string[] => [
  phrases.OF_THIS_RUN,
  ...(carried.shape.typed ? [] : [phrases.NO_TYPE_SOURCE]),
];

/** A head's queries or keys: the matrix (d, D) and bias (d) that they are made by, and a token's, (d). */
function projectionOf({ weights }: Engine, { original }: Run, layer: number, head: number, side: Side) {
  const { width, heads } = weights.shape;
  const size = width / heads;
  const { weight, bias } = weights.layers[layer]![side];
  const vectors = ofHead(
    original.layers[layer]![side[0] as keyof Attended] as Float32Array,
    head,
    original.tokens,
    size,
  );
  return {
    matrix: Float64Array.from(new Float32Array(weights.product.memory, weight + 4 * head * size * width, size * width)),
    bias: Float64Array.from(new Float32Array(weights.product.memory, bias + 4 * head * size, size)),
    at: (token: number) => Float64Array.from(vectors.subarray(token * size, (token + 1) * size)),
  };
}

const inner = (a: Float64Array, b: ArrayLike<number>): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0);

/** What each key's score counts. */
function sharesOf(tokens: number, key: number, against: string | number | null): number[] {
  if (against === key) throw new Error(phrases.AGAINST_ITSELF({ key }));
  return Array.from({ length: tokens }, (_, at) =>
    at === key ? 1 : against === "others" ? -1 / (tokens - 1) : at === against ? -1 : 0,
  );
}

/** The rows of a split, a number each. */
function rowsOf({ embedded, heads, mlps, bias }: Parts): Row[] {
  return [
    ...Object.entries(embedded).map(([kind, [x]]): Row => [kind, null, null, x!]),
    ...heads.flatMap((layer, at) => layer.map(([x], head): Row => ["head", at, head, x!])),
    ...mlps.map(([x], at): Row => ["mlp", at, null, x!]),
    ["bias", null, null, bias[0]!],
  ];
}

export const why: Answering<"why"> = async (engine, shown, question, signal) => {
  const { layer, head, query, key, against, through_mlps } = question;
  const { original } = shown;
  const { heads: count } = engine.weights.shape;
  const side = question.side as Side;
  const shares = sharesOf(original.tokens, key, against);
  const [queries, keys] = [
    projectionOf(engine, shown, layer, head, "query"),
    projectionOf(engine, shown, layer, head, "key"),
  ];
  const q = queries.at(query);
  const scaling = 1 / Math.sqrt(q.length);
  const contrast = new Float64Array(q.length); // of the keys
  for (const [at, share] of shares.entries()) for (const [i, x] of keys.at(at).entries()) contrast[i]! += share * x;
  const { matrix, bias } = side === "query" ? queries : keys;
  const direction = (side === "query" ? contrast : q).map((x) => x * scaling);
  const vectors = new Float64Array(matrix.length / direction.length);
  for (const [n, x] of matrix.entries()) vectors[n % vectors.length]! += direction[Math.floor(n / vectors.length)]! * x;

  const places = side === "query" ? [query] : shares.flatMap((share, at) => (share ? [at] : []));
  const factors = side === "query" ? [1] : places.map((at) => shares[at]!);
  const reading = (tokens: number[], by: number[]): Reading => {
    const constant = inner(direction, bias) * by.reduce((sum, one) => sum + one, 0);
    return { layer, tokens, factors: by, vectors, constants: Float64Array.of(constant) };
  };
  // gates of opened MLPs are those of a token
  const readings = through_mlps ? places.map((at, n) => reading([at], [factors[n]!])) : [reading(places, factors)];
  const splits: Parts[] = [];
  for (const one of readings) {
    splits.push(partsOf(engine, shown, one, through_mlps));
    await othersFirst();
    signal.throwIfAborted();
  }
  const rows = rowsOf(splits[0]!);
  for (const split of splits.slice(1)) for (const [n, row] of rowsOf(split).entries()) rows[n]![3] += row[3];

  /** The token where an earlier head fetched most of its part, and how much. */
  const fetched = (at: number, earlier: number) => {
    const values = ofHead(original.layers[at]!.v, earlier, original.tokens, q.length);
    const amounts = new Float64Array(original.tokens);
    for (const [n, { readings: below }] of splits.entries()) {
      const { vectors: by, factors: counts } = below[at]!;
      const mix = mixOf(engine, shown, readings[n]!, at, earlier, counts);
      const slope = by.subarray(earlier * q.length, (earlier + 1) * q.length);
      for (const [token, share] of mix.entries())
        amounts[token]! += share * inner(slope, values.subarray(token * q.length, (token + 1) * q.length));
    }
    const token = amounts.reduce((best, x, n) => (Math.abs(x) > Math.abs(amounts[best]!) ? n : best), 0);
    return { token, fetched: amounts[token]! };
  };
  const sum = (of: readonly Row[], map = (x: number) => x) => of.reduce((total, row) => total + map(row[3]), 0);
  const [total, absolute, model] = [sum(rows), sum(rows, Math.abs), scaling * inner(contrast, q)];
  const spread = Math.abs(total) >= NEAR_ZERO ? absolute / Math.abs(total) : null;
  const kinds = new Map<string, number>();
  for (const [kind, , , value] of rows) kinds.set(kind, (kinds.get(kind) ?? 0) + value);
  const ordered = [...rows].sort((a, b) => Math.abs(b[3]) - Math.abs(a[3]));
  const bars = ordered.slice(0, LARGEST).filter((row) => !isNothing(row[3]));
  const folded = ordered.slice(bars.length);
  const alpha = rowOf(original, layer, head, query, count);
  const mean = alpha.reduce((all, x, at) => (at === key ? all : all + x), 0) / (alpha.length - 1);
  const fields = {
    ...{ layer, head, query, key, side, against, through_mlps, total, model, gap: total - model },
    ...{ weight: alpha[key]!, seen: original.tokens, spread, absolute, kinds: [...kinds], notes: notesOf(engine) },
    other_weight: against === null ? null : typeof against === "number" ? alpha[against]! : mean,
    ratio: spread !== null && against !== null ? Math.exp(total) : null,
    largest: bars.map(([kind, at, earlier, value]) => {
      const source = at !== null && earlier !== null ? fetched(at, earlier) : { token: null, fetched: null };
      return { kind, layer: at, head: earlier, value, ...source };
    }),
    others: { count: folded.length, value: sum(folded) },
  };
  if (layer === 0) return { fields };
  const ofKind = (name: string) =>
    Float32Array.from(rows.flatMap(([kind, , , value]) => (kind === name ? [value] : [])));
  return answerOf(fields, {
    heads: [ofKind("head"), [layer, count]],
    ...(through_mlps ? {} : { mlps: [ofKind("mlp"), [layer]] }),
  });
};

/** The kinds of a query or key, (d) each. */
function kindsOf(engine: Engine, run: Run, layer: number, head: number, side: Side, token: number) {
  const { matrix, bias } = projectionOf(engine, run, layer, head, side);
  const reading = { layer, tokens: [token], factors: [1], vectors: matrix, constants: bias };
  const { embedded, heads, mlps, bias: shift } = partsOf(engine, run, reading, false);
  const sum = (vectors: Float64Array[]) => vectors.reduce((a, b) => a.map((x, i) => x + b[i]!));
  return { ...embedded, ...(layer > 0 ? { head: sum(heads.flat()), mlp: sum(mlps) } : {}), bias: shift };
}

export const whyPairs: Answering<"why_pairs"> = (engine, shown, { layer, head, query, key }) => {
  const place = [engine, shown, layer, head] as const;
  const [down, across] = [kindsOf(...place, "query", query), kindsOf(...place, "key", key)];
  const scaling = 1 / Math.sqrt(down.bias.length);
  const kinds = Object.keys(down);
  const values = Float64Array.from(
    Object.values(down).flatMap((q) => Object.values(across).map((k) => scaling * inner(q, k))),
  );
  const total = values.reduce((sum, x) => sum + x, 0);
  const model = scaling * inner(projectionOf(...place, "query").at(query), projectionOf(...place, "key").at(key));
  const fields = { layer, head, query, key, kinds, total, model, gap: total - model, notes: notesOf(engine) };
  return answerOf(fields, { values: [values, [kinds.length, kinds.length]] });
};
