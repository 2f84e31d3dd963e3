// Two runs beside each other: the one shown, and another text or the run without changes. As
// bertlens/widgets/panels/comparison_panel.py; the runs are of one model and one tokenizer.

import type { Apart, Compared } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { COMPARED_HEADS, COMPARED_RUNS, COMPARED_UNITS, NAMED_UNITS, SINK } from "../../generated/vocabulary";
import { headLabel } from "../../paint/format";
import { quotation } from "../../paint/quotes";
import { isNothing, ranked } from "../../paint/ranked";
import { jsdTerm } from "../arithmetic";
import { chipOf } from "../chips";
import { cosine, othersFirst, run } from "../forward";
import { type Answering, answerOf, type Engine, perHead, type Run, type Shown } from "../runs";
import { type Alignment, align, type Pair } from "./align";
import { measuredMap } from "./attentionmaps";
import { answersOf } from "./beforeafter";
import { vectorOf } from "./output";

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}]/gu;

type Side = Pick<Run, "texts" | "encoded" | "pass">;

/** Two runs, and how far their heads are apart, by all tokens and by aligned ones alone. */
interface Runs {
  a: Side;
  b: Side;
  alignment: Alignment;
  distances: Map<boolean, Distances>;
}

/** Of each head: of its aligned rows the mean, and the one that is apart most. */
interface Distances {
  mean: Float64Array; // (L·H) nats
  peaks: Int32Array; // (L·H) index into `shared`
}

const comparisons = new WeakMap<Shown, Map<string, Runs>>();

async function twoRuns(engine: Engine, shown: Shown, other: string[] | undefined, signal: AbortSignal): Promise<Runs> {
  if (!comparisons.has(shown)) comparisons.set(shown, new Map());
  const byName = comparisons.get(shown)!;
  const name = JSON.stringify(other);
  if (!byName.has(name)) {
    const runs = await compareRuns(engine, shown, other, signal);
    while (byName.size >= COMPARED_RUNS) byName.delete(byName.keys().next().value!);
    byName.set(name, runs);
  }
  return byName.get(name)!;
}

async function compareRuns(
  { weights, encode, carried }: Engine,
  shown: Shown,
  other: string[] | undefined,
  signal: AbortSignal,
): Promise<Runs> {
  if (!other) throw new Error("this view shows one run: choose another to compare it with");
  const { texts, encoded, original, pass } = shown;
  let [a, b]: [Side, Side] = [shown, shown];
  if (other[0] === "original") {
    if (pass.changes.length === 0) throw new Error(phrases.UNCHANGED_RUN);
    a = { texts, encoded, pass: original };
  } else {
    const [, text = "", pair = ""] = other;
    const encoding = encode(text, pair || undefined);
    b = { texts: [text, pair], encoded: encoding, pass: await run(weights, encoding, [], signal) };
  }
  const alignment = align(a.encoded, b.encoded, carried.vocabulary.separator);
  if (alignment.shared.length === 0) throw new Error(phrases.NO_COMMON_WORD);
  return { a, b, alignment, distances: new Map() };
}

const isShared = (pair: Pair): pair is readonly [number, number] => pair[0] !== null && pair[1] !== null;
const unitsOf = ({ alignment: { pairs, shared } }: Runs, aligned: boolean): readonly Pair[] =>
  aligned ? shared : pairs;

const visible = (text: string) =>
  text.replace(HIDDEN, (one) => `⟨U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);

function namedUnits(units: (string | number)[]): string {
  const [names, count] = [units.slice(0, NAMED_UNITS).join(", "), units.length - NAMED_UNITS];
  return count > 0 ? phrases.AND_MORE({ names, count }) : names;
}

/** What the other text has of a token that is aligned with none: nothing like it, or where. */
function gapWords({ a, b }: Runs, at: 0 | 1, place: number): string {
  const [source, target] = at ? [b, a] : [a, b];
  const token = source.encoded.tokens[place];
  const places = target.encoded.tokens.flatMap((one, at) => (one === token ? [at] : []));
  const side = at ? "a" : "b";
  return places.length > 0
    ? phrases.GAP_ELSEWHERE({ side, places: namedUnits(places) })
    : phrases.GAP({ side, unit: "token" });
}

/** How much is aligned, and which pairs could be others. */
function alignmentWords({ a, b, alignment: { shared, open } }: Runs, aligned: boolean): string {
  const [n, m] = [a.encoded.ids.length, b.encoded.ids.length];
  const isScaled = aligned && shared.length < Math.max(n, m);
  const words = [
    (isScaled ? phrases.ALIGNED_ALONE : phrases.ALIGNED)({ count: shared.length, a: n, units: "tokens", b: m }),
  ];
  const named = namedUnits(open.map(([i, j]) => `${quotation(a.encoded.tokens[i]!)} (${i} and ${j})`));
  if (named) words.push(phrases.ALIGNED_OTHERWISE({ pairs: named }));
  if (isScaled) words.push(phrases.ALIGNED_SCALED);
  return words.join(" ");
}

export const comparedWith: Answering<"compared_with"> = async (engine, shown, { other }, signal) => {
  const runs = await twoRuns(engine, shown, other, signal);
  const side = ({ texts, encoded, pass }: Side) => ({
    model: visible(String(engine.carried.header.model)),
    text: texts.filter(Boolean).map(visible).join(" / "),
    changes: pass.changes.map((change) => chipOf(change, 0, encoded.tokens).label),
  });
  const { a, b, alignment } = runs;
  const name = ({ encoded }: Side, at: number | null) => (at === null ? null : visible(encoded.tokens[at]!));
  const fields: Compared = {
    sides: [side(a), side(b)],
    by: "tokens",
    queries: alignment.pairs.map(([i, j]) => [name(a, i), name(b, j), (i ?? j)!]),
    keys: null,
    said: [alignmentWords(runs, false), alignmentWords(runs, true)],
    ...{ only: false, matched: true, heads: null, open: null },
  };
  return { fields };
};

/** One head's map of both by a measure; `aligned`: as if they had the aligned keys alone. */
const mapsOf = ({ weights }: Engine, runs: Runs, layer: number, head: number, aligned: boolean, measure = "weight") =>
  ([runs.a, runs.b] as const).map(({ pass }, side) => {
    const keys = new Uint8Array(pass.tokens);
    for (const pair of runs.alignment.shared) keys[pair[side as 0 | 1]] = 1;
    return measuredMap(weights, pass, layer, head, measure, aligned ? keys : undefined);
  }) as [Float32Array, Float32Array];

/** Of each aligned row the Jensen-Shannon divergence, nats: keys without a partner keep their weight. */
function jsdOfRows(a: Float32Array, b: Float32Array, { pairs, shared }: Alignment, sizes: [number, number]): number[] {
  const alone = ([0, 1] as const).map((side) =>
    pairs.flatMap((pair) => (isShared(pair) || pair[side] === null ? [] : [pair[side]])),
  );
  return shared.map(([i, j]) => {
    const [p, q] = [a.subarray(i * sizes[0], (i + 1) * sizes[0]), b.subarray(j * sizes[1], (j + 1) * sizes[1])];
    let sum = 0;
    for (const [k, l] of shared) sum += jsdTerm(p[k]!, q[l]!);
    const sink = (row: Float32Array) => {
      const deficit = 1 - row.reduce((total, one) => total + one, 0);
      return deficit > SINK ? deficit : 0;
    };
    sum += jsdTerm(sink(p), sink(q));
    const massOn = (row: Float32Array, keys: number[]) => keys.reduce((total, k) => total + row[k]!, 0);
    return Math.max(0, sum) + (Math.LN2 / 2) * (massOn(p, alone[0]!) + massOn(q, alone[1]!));
  });
}

/** `aligned`: as if both texts had their aligned tokens alone. */
async function distancesOf(engine: Engine, runs: Runs, aligned: boolean, signal: AbortSignal): Promise<Distances> {
  const memo = runs.distances.get(aligned);
  if (memo) return memo;
  const [layers, heads] = perHead(engine.carried);
  const { pairs, shared, open } = runs.alignment;
  const alignment = { pairs: aligned ? shared : pairs, shared, open };
  const sizes: [number, number] = [runs.a.pass.tokens, runs.b.pass.tokens];
  const distances: Distances = { mean: new Float64Array(layers * heads), peaks: new Int32Array(layers * heads) };
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const rows = jsdOfRows(...mapsOf(engine, runs, layer, head, aligned), alignment, sizes);
      const at = layer * heads + head;
      distances.mean[at] = rows.reduce((sum, one) => sum + one, 0) / rows.length;
      distances.peaks[at] = rows.indexOf(Math.max(...rows));
    }
    await othersFirst();
    signal.throwIfAborted();
  }
  runs.distances.set(aligned, distances);
  return distances;
}

/** Where a head differs most, in words; row and column count in the units. */
function described(engine: Engine, runs: Runs, distances: Distances, at: number, aligned: boolean): Apart {
  const { a, b, alignment } = runs;
  const [, heads] = perHead(engine.carried);
  const [layer, head] = [Math.floor(at / heads), at % heads];
  const units = unitsOf(runs, aligned);
  const [i, j] = alignment.shared[distances.peaks[at]!]!;
  const row = units.findIndex((pair) => pair[0] === i && pair[1] === j);
  const maps = mapsOf(engine, runs, layer, head, aligned);
  const weights = units.map(([p, q]): [number, number] => [
    p === null ? 0 : maps[0][i * a.pass.tokens + p]!,
    q === null ? 0 : maps[1][j * b.pass.tokens + q]!,
  ]);
  const sizes = weights.map(([p, q]) => Math.abs(q - p));
  const column = sizes.indexOf(Math.max(...sizes));
  const [p, q] = units[column]!;
  const weightPair = weights[column]!;
  const order = ([0, 1] as const).toSorted((x, y) => weightPair[y] - weightPair[x]);
  const texts = ranked(
    order.map((side) => weightPair[side]),
    2,
  );
  const text = (side: 0 | 1) => texts[order.indexOf(side)]!;
  const named = ({ encoded }: Side, place: number) => `${quotation(encoded.tokens[place]!)} (${place})`;
  const [side, place] = p === null ? ([1, q!] as const) : ([0, p] as const);
  const key = named(side ? b : a, place);
  const numbers =
    p === null || q === null
      ? phrases.WEIGHT_AND_GAP({ weight: text(side), side: "ab"[side]!, gap: gapWords(runs, side, place) })
      : phrases.BOTH({ a: text(0), b: text(1) });
  const words = phrases.HEAD_DIFFERS({ head: headLabel(layer, head), query: named(a, i), key, weights: numbers });
  return { layer, head, words, cell: [row, column] };
}

export const comparedHeads: Answering<"compared_heads"> = async (engine, shown, { other, aligned = false }, signal) => {
  const runs = await twoRuns(engine, shown, other, signal);
  const distances = await distancesOf(engine, runs, aligned, signal);
  const order = [...distances.mean.keys()].sort((x, y) => distances.mean[y]! - distances.mean[x]! || x - y);
  const differing = order.slice(0, COMPARED_HEADS).filter((at) => !isNothing(distances.mean[at]!));
  const peaks = differing.map((at) => described(engine, runs, distances, at, aligned));
  return { fields: { apart: [...distances.mean], most: peaks } };
};

/** One head in both, a window of units of it: NaN at gaps. */
export const compared: Answering<"compared"> = async (engine, shown, question, signal) => {
  const runs = await twoRuns(engine, shown, question.other, signal);
  const { layer, head, measure, row, col, aligned = false } = question;
  const units = unitsOf(runs, aligned);
  const [rows, columns] = [units.slice(row, row + COMPARED_UNITS), units.slice(col, col + COMPARED_UNITS)];
  const windows = mapsOf(engine, runs, layer, head, aligned, measure).map((values, n) => {
    const { tokens } = (n ? runs.b : runs.a).pass;
    const cells = rows.flatMap((query) =>
      columns.map((key) => {
        const [i, j] = [query[n as 0 | 1], key[n as 0 | 1]];
        return i === null || j === null ? Number.NaN : values[i * tokens + j]!;
      }),
    );
    return Float32Array.from(cells);
  });
  const size = [rows.length, columns.length];
  const place = { layer, head, measure, row, col, ...(aligned ? { aligned } : {}) };
  return answerOf({ ...place, other: [layer, head] }, { a: [windows[0]!, size], b: [windows[1]!, size] });
};

/** Two numbers with as many digits as tell them apart. */
function pairWords(a: number, b: number): string {
  const [high, low] = ranked([Math.max(a, b), Math.min(a, b)]);
  return a >= b ? phrases.BOTH({ a: high!, b: a === b ? high! : low! }) : phrases.BOTH({ a: low!, b: high! });
}

export const comparedAnswers: Answering<"compared_answers"> = async (engine, shown, { other }, signal) => {
  const { a, b } = await twoRuns(engine, shown, other, signal);
  const nothing = { fields: { unit: "", said: "", rows: [] } };
  if (engine.carried.answer.kind !== "vectors") return nothing;
  if (a.texts[1] && b.texts[1]) {
    const cosines: number[] = [];
    for (const side of [a, b]) {
      const { rows, why_not } = await answersOf(engine, { ...shown, ...side, original: side.pass });
      if (why_not) return nothing;
      cosines.push(rows[0]![3]);
    }
    const [cosineA, cosineB] = cosines as [number, number];
    const sentence = phrases.SENTENCES_ALIKE_BY({ both: pairWords(cosineA, cosineB) });
    return { fields: { unit: "cosine", said: sentence, rows: [["", phrases.SENTENCES_ALIKE, cosineA, cosineB]] } };
  }
  const similarity = cosine(vectorOf(engine, a.pass), vectorOf(engine, b.pass));
  const sentence = phrases.VECTORS_ALIKE_BY({ cosine: similarity.toFixed(3) });
  return { fields: { unit: "cosine", said: sentence, rows: [["", phrases.VECTORS_ALIKE, null, similarity]] } };
};
