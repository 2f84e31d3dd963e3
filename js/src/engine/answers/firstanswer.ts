// What the first answer rests on: the heads that matter most to it, the tokens of a text's vector. As
// bertlens/widgets/answers/first_answer.py, but that there is no estimate here: every head is run.
import * as phrases from "../../generated/phrases";
import { LIMITS } from "../../generated/vocabulary";
import { baseOf, type Change } from "../changes";
import { type Fields, NEEDS_PYTHON } from "../chips";
import { cosine, type Pass, run } from "../forward";
import { type Answering, answerOf, type Engine, perHead, runsOf, type Shown } from "../runs";
import { answersOf } from "./beforeafter";
import { isLone } from "./metrics";
import { best, logitsAt, numbersOf, vectorOf } from "./output";
import { targetOf } from "./targets";

const PATIENCE = 100; // ms that a question may take before the others have their turn
const MOST = 20_000; // ms that all heads may take unasked
const SHOWN = 8; // heads

type Effect = [layer: number, head: number, change: number];

/** Heads that were run of a run, in their order, and how long that took. */
interface Progress {
  effects: Effect[];
  ms: number;
}
const progressOf = new WeakMap<Pass, Map<string, Progress>>();

/** The number of the answer's first bar, and what becomes of it without a head. */
interface FirstNumber {
  fields: Fields;
  change(layer: number, head: number): Promise<number>;
}

async function firstNumber(
  engine: Engine,
  shown: Shown,
  name: string,
  at: number | undefined,
  signal: AbortSignal,
): Promise<FirstNumber> {
  const { original, pass, texts } = shown;
  const answer = await answersOf(engine, shown, name, at);
  if (answer.why_not) throw new Error(answer.why_not);
  const { kind, unit } = answer;
  const [position, label, , value] = answer.rows[0]!;
  const without = async (layer: number, head: number, score: (one: Pass) => number) => {
    const { base, variant } = await runsOf(engine, shown, { kind: "off", layer, head }, signal);
    return score(variant) - score(base);
  };
  if (kind === "embedding") {
    const turned = (one: Pass) =>
      one === original ? 0 : 1 - cosine(vectorOf(engine, original), vectorOf(engine, one));
    const fields = { kind, name: phrases.EMBEDDING_TURNED, position, unit: "1 − cosine", before: 1 - value };
    return { fields, change: (layer, head) => without(layer, head, turned) };
  }
  if (kind === "similarity") {
    const similarity = async (changes: Change[]) => {
      const vectors: Float32Array[] = [];
      for (const text of texts)
        vectors.push(vectorOf(engine, await run(engine.weights, engine.encode(text), changes, signal)).slice());
      return cosine(vectors[0]!, vectors[1]!);
    };
    const change = async (layer: number, head: number) => {
      const off: Change = { kind: "off", layer, head };
      const base = baseOf(pass.changes, off);
      const plain = base.length === pass.changes.length ? value : await similarity(base);
      return (await similarity([...base, off])) - plain;
    };
    return { fields: { kind, name: label, position, unit, before: value }, change };
  }
  const numbers = (one: Pass) => numbersOf(engine, logitsAt(engine, one, position));
  const number = name ? targetOf(engine, shown, name, at).number : best(numbers(original), 1)[0]!;
  const fields = { kind, name: isLone(engine) ? "" : label, position, unit, before: value };
  return { fields, change: (layer, head) => without(layer, head, (one) => numbers(one)[number]!) };
}

export const headsThatMatter: Answering<"heads_that_matter"> = async (engine, shown, question, signal) => {
  const { target = "", target_at, long } = question;
  const { pass } = shown;
  const nothing = { kind: "", name: "", position: -1, unit: "", before: Number.NaN };
  const empty = { ...nothing, heads: [], rows: [], limit: "", why_not: "" };
  let lead: FirstNumber;
  try {
    lead = await firstNumber(engine, shown, target, target_at, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { fields: { ...empty, why_not: (error as Error).message } };
  }
  const limited = (limit: string) => ({ fields: { ...empty, ...lead.fields, limit } });
  if (!long && pass.tokens > LIMITS.effects) return limited(phrases.HEADS_LONG({ tokens: pass.tokens }));
  const [layers, heads] = perHead(engine.carried);
  const count = layers * heads;
  const memo = progressOf.get(pass) ?? new Map<string, Progress>();
  progressOf.set(pass, memo);
  const name = JSON.stringify([target, target_at ?? -1]);
  const progress = memo.get(name) ?? { effects: [], ms: 0 };
  memo.set(name, progress);
  const { effects } = progress;
  const begin = performance.now();
  while (effects.length < count && performance.now() - begin < PATIENCE) {
    const since = performance.now();
    const [layer, head] = [Math.floor(effects.length / heads), effects.length % heads];
    effects.push([layer, head, await lead.change(layer, head)]);
    progress.ms += performance.now() - since;
  }
  if (effects.length < count) {
    if (!long && (progress.ms / effects.length) * count > MOST) return limited(phrases.HEADS_MANY({ heads: count }));
    return { fields: { again: true, done: effects.length / count } };
  }
  const strongest = [...effects].sort((a, b) => Math.abs(b[2]) - Math.abs(a[2])).slice(0, SHOWN);
  return { fields: { ...empty, ...lead.fields, heads: strongest, rows: strongest.map(() => -1) } };
};

/** Of a vector that is the mean of all tokens; what reads single tokens takes a gradient. */
export const shares: Answering<"shares"> = (engine, { pass }) => {
  const { carried } = engine;
  const { kind, pooling } = carried.answer;
  const why_not =
    kind !== "vectors"
      ? phrases.NO_VECTOR({ model: String(carried.header.model) })
      : pooling === "mean"
        ? ""
        : NEEDS_PYTHON;
  if (why_not) return { fields: { how: "", said: "", why_not } };
  const vector = vectorOf(engine, pass);
  const states = pass.stream.at(-1)!;
  const { tokens } = pass;
  const square = vector.reduce((sum, x) => sum + x * x, 0) * tokens;
  const values = new Float64Array(tokens);
  for (let n = 0; n < states.length; n++)
    values[Math.floor(n / vector.length)]! += (states[n]! * vector[n % vector.length]!) / square;
  return answerOf({ how: "pooling", said: phrases.POOLED, why_not: "" }, { shares: [values, null] });
};
