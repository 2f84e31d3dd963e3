// What the first answer rests on: the heads that matter most to it, the tokens of a text's vector. As
// bertlens/widgets/answers/first_answer.py, but that there is no estimate here: every head is run.
import { inOrder } from "../../compute/inorder";
import { toldChange } from "../../compute/logodds";
import type { MatterHeads } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { LIMITS } from "../../generated/vocabulary";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { baseOf, type Change } from "../changes";
import { cosine, type Pass, run } from "../forward";
import { type Answering, answerOf, type Engine, onTop, perHead, runsOf, type Shown } from "../runs";
import type { Encoded } from "../tokenizer";
import { answersOf } from "./beforeafter";
import { isLone } from "./metrics";
import { best, headInput, logitsFrom, numbersAt, numbersOf, sharesOf, TOGETHER, vectorOf } from "./output";
import { targetOf } from "./targets";

const PATIENCE = 100; // ms that a question may take before the others have their turn
const MOST = 20_000; // ms that all heads may take unasked
const SHOWN = 8; // heads

type Effect = MatterHeads["heads"][number];
type NumberFields = Pick<MatterHeads, "kind" | "name" | "position" | "unit" | "before">;

/** The number of the answer's first bar, and what becomes of it without a head. */
export interface FirstNumber {
  fields: NumberFields;
  /** Runs without it, and keeps what the change is yet to be read from. */
  run(layer: number, head: number, signal: AbortSignal): Promise<void>;
  waiting(): number;
  /** The changes of the runs that wait, which then do no longer. */
  changes(): number[];
}

/** `outcome`: what is kept of a run. `changes`: of several at once. */
function firstNumberOf<T>(
  fields: NumberFields,
  outcome: (change: Change, signal: AbortSignal) => Promise<T>,
  changes: (outcomes: T[]) => number[],
): FirstNumber {
  const outcomes: T[] = [];
  const run: FirstNumber["run"] = async (layer, head, signal) => {
    outcomes.push(await outcome({ kind: "off", layer, head }, signal));
  };
  return { fields, run, waiting: () => outcomes.length, changes: () => changes(outcomes.splice(0)) };
}

/** Heads that were run of a run, in their order, and how long that took. */
interface Progress {
  lead: FirstNumber;
  effects: Effect[];
  ms: number;
}
const progressOf = new WeakMap<Pass, Map<string, Progress>>();

export const nameOf = (target = "", at = -1): string => JSON.stringify([target, at]);

/** Of a run the heads that were run so far, in their order. */
export const effectsOf = (pass: Pass, target?: string, at?: number): Effect[] =>
  progressOf.get(pass)?.get(nameOf(target, at))?.effects ?? [];

async function inTurn(encodings: readonly Encoded[], passOf: (encoded: Encoded, n: number) => Promise<Pass>) {
  const passes: Pass[] = [];
  for (const [n, encoded] of encodings.entries()) passes.push(await passOf(encoded, n));
  return passes;
}

export async function firstNumber(
  engine: Engine,
  shown: Shown,
  name: string,
  at: number | undefined,
  signal: AbortSignal,
): Promise<FirstNumber> {
  const { weights, encode } = engine;
  const { original, pass, texts } = shown;
  const answer = await answersOf(engine, shown, name, at);
  if (answer.why_not) throw new Error(answer.why_not);
  const { kind, unit } = answer;
  const [position, label, , value] = answer.rows[0]!;
  const asTheyAre = (changes: number[]) => changes;
  if (kind === "embedding") {
    const turned = (one: Pass) =>
      one === original ? 0 : 1 - cosine(vectorOf(engine, original), vectorOf(engine, one));
    const fields = { kind, name: phrases.EMBEDDING_TURNED, position, unit: "1 − cosine", before: 1 - value };
    const outcome = async (off: Change, signal: AbortSignal) => {
      const { base, variant } = await runsOf(engine, shown, off, signal);
      return turned(variant) - turned(base);
    };
    return firstNumberOf(fields, outcome, asTheyAre);
  }
  if (kind === "similarity") {
    const encodings = texts.map((text) => encode(text));
    const passes = (changes: readonly Change[], signal: AbortSignal) =>
      inTurn(encodings, (encoded) => run(weights, encoded, changes, signal));
    const alike = ([a, b]: Pass[]) => cosine(vectorOf(engine, a!), vectorOf(engine, b!));
    const bases = await passes(pass.changes, signal);
    const outcome = async (off: Change, signal: AbortSignal) => {
      const changes = baseOf(pass.changes, off);
      const plain = changes.length === pass.changes.length ? bases : await passes(changes, signal);
      const variants = await inTurn(encodings, (encoded, n) => onTop(weights, encoded, plain[n]!, off, signal));
      return alike(variants) - alike(plain);
    };
    return firstNumberOf({ kind, name: label, position, unit, before: value }, outcome, asTheyAre);
  }
  const number = name ? targetOf(engine, shown, name, at).number : best(numbersAt(engine, original, position), 1)[0]!;
  const isMean = position < 0 && engine.carried.answer.pooling !== "first";
  const token = isMean ? undefined : Math.max(position, 0);
  const outcome = async (off: Change, signal: AbortSignal) => {
    const { base, variant } = await runsOf(engine, shown, off, signal, token);
    return { before: numbersAt(engine, base, position)[number]!, input: headInput(engine, variant, position) };
  };
  const fields = { kind, name: isLone(engine) ? "" : label, position, unit, before: value };
  return firstNumberOf(fields, outcome, (outcomes) => {
    const inputs = outcomes.map(({ input }) => input);
    return logitsFrom(engine, inputs).map((logits, n) => numbersOf(engine, logits)[number]! - outcomes[n]!.before);
  });
}

export const headsThatMatter: Answering<"heads_that_matter"> = async (engine, shown, question, signal) => {
  const { target = "", target_at, long } = question;
  const { pass } = shown;
  const nothing = { kind: "", name: "", position: -1, unit: "", before: Number.NaN };
  const empty = { ...nothing, heads: [], rows: [], tried: 0, limit: "", limit_of_all: "", runs: 0, why_not: "" };
  const memo = progressOf.get(pass) ?? new Map<string, Progress>();
  progressOf.set(pass, memo);
  const name = nameOf(target, target_at);
  let progress = memo.get(name);
  try {
    progress ??= { lead: await firstNumber(engine, shown, target, target_at, signal), effects: [], ms: 0 };
  } catch (error) {
    signal.throwIfAborted();
    return { fields: { ...empty, why_not: (error as Error).message } };
  }
  memo.set(name, progress);
  const { lead, effects } = progress;
  const [layers, heads] = perHead(engine.carried);
  const count = layers * heads;
  const limited = (limit: string) => ({ fields: { ...empty, ...lead.fields, limit, runs: count >> 1 } });
  if (!long && pass.tokens > LIMITS.effects) return limited(phrases.HEADS_LONG({ tokens: pass.tokens }));
  const begin = performance.now();
  const tried = () => effects.length + lead.waiting();
  while (tried() < count && performance.now() - begin < PATIENCE) {
    const since = performance.now();
    await lead.run(Math.floor(tried() / heads), tried() % heads, signal);
    if (lead.waiting() === TOGETHER || tried() === count)
      for (const change of lead.changes())
        effects.push([Math.floor(effects.length / heads), effects.length % heads, change]);
    progress.ms += performance.now() - since;
  }
  if (tried() < count) {
    if (!long && (progress.ms / tried()) * count > MOST) return limited(phrases.HEADS_MANY({ heads: count }));
    return { fields: { again: true, done: tried() / count } };
  }
  const { unit, before } = lead.fields;
  const size = ([, , change]: Effect) => Math.abs(toldChange(unit, before, change));
  const strongest = inOrder(effects.map(size), SHOWN).map((n) => effects[n]!);
  const rows = strongest.map(() => -1);
  const changes = Float32Array.from(effects, ([, , change]) => change);
  const answer = { ...empty, ...lead.fields, heads: strongest, rows, tried: count };
  return answerOf(answer, { changes: [changes, [layers, heads]] });
};

/** Of a vector that is the mean of all tokens; what reads single tokens takes a gradient. */
export const shares: Answering<"shares"> = (engine, { pass }) => {
  const { answer, header } = engine.carried;
  const isVector = answer.kind === "vectors";
  const values = isVector ? sharesOf(engine, pass) : null;
  const why_not = isVector ? NEEDS_PYTHON : phrases.NO_VECTOR({ model: String(header.model) });
  if (!values) return { fields: { how: "", said: "", why_not } };
  return answerOf({ how: "pooling", said: phrases.POOLED, why_not: "" }, { shares: [values, null] });
};
