// The answer over how loud a head is, each an exact run of the layers from the head's on: as bertlens/whatif/loudness.py.

import type { LoudnessFields } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { LOUDNESS } from "../../generated/vocabulary";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { baseOf, isSilent, type Scale } from "../changes";
import { cosine, type Pass, run } from "../forward";
import { type Answering, answerOf, type Engine, onTop, type Shown } from "../runs";
import type { Encoded } from "../tokenizer";
import { answersOf, namedAnswers } from "./beforeafter";
import { numbersAt, readTogether, sharesOf, vectorOf } from "./output";
import { targetOf } from "./targets";

interface Curves {
  fields: Pick<LoudnessFields, "kind" | "unit" | "rows"> & Partial<Pick<LoudnessFields, "why_not">>;
  columns: number[][]; // of each row, its number at each factor
  shares?: Float64Array[]; // of a text's vector, at each factor
}

/** Of the run without what covers the change; that of 1 is that run itself. */
async function passesOf(
  engine: Engine,
  encoded: Encoded,
  base: Pass,
  changesTo: (factor: number) => Scale[],
  signal: AbortSignal,
): Promise<Pass[]> {
  const passes: Pass[] = [];
  for (const factor of LOUDNESS)
    passes.push(factor === 1 ? base : await onTop(engine.weights, encoded, base, changesTo(factor), signal));
  return passes;
}

async function curvesOf(
  engine: Engine,
  shown: Shown,
  changesTo: (factor: number) => Scale[],
  name: string,
  at: number,
  signal: AbortSignal,
): Promise<Curves> {
  const { encoded, original, texts } = shown;
  const { kind } = engine.carried.answer;
  const target = name ? targetOf(engine, shown, name, at) : null;
  for (const { layer } of changesTo(1))
    if (shown.pass.changes.some((one) => isSilent(one, layer))) throw new Error(phrases.LAYER_SILENT({ layer }));
  const changes = changesTo(1).reduce(baseOf, shown.pass.changes);
  const rerun = (one: Encoded) => run(engine.weights, one, changes, signal);
  const pass = changes.length === shown.pass.changes.length ? shown.pass : await rerun(encoded);
  const without = { ...shown, pass };
  const answer = await answersOf(engine, without);
  if (answer.why_not) throw new Error(answer.why_not);
  const fields = { kind: answer.kind, unit: answer.unit };
  if (kind === "vectors" && texts[1]) {
    const vectors: Float32Array[][] = [];
    for (const text of texts) {
      const encoding = engine.encode(text);
      const passes = await passesOf(engine, encoding, await rerun(encoding), changesTo, signal);
      vectors.push(passes.map((of) => vectorOf(engine, of).slice()));
    }
    const [a, b] = vectors as [Float32Array[], Float32Array[]];
    return {
      fields: { ...fields, rows: [[-1, phrases.TEXTS_ALIKE]] },
      columns: [a.map((one, n) => cosine(one, b[n]!))],
    };
  }
  const passes = await passesOf(engine, encoded, pass, changesTo, signal);
  if (kind === "vectors") {
    const shares = passes.flatMap((of) => sharesOf(engine, of) ?? []);
    const score = (of: Pass) => (of === original ? 1 : cosine(vectorOf(engine, original), vectorOf(engine, of)));
    return { fields: { ...fields, rows: [[-1, phrases.EMBEDDING_ALIKE]] }, columns: [passes.map(score)], shares };
  }
  const named = namedAnswers(engine, without, target);
  for (const place of new Set(named.map(({ position }) => position))) readTogether(engine, passes, place);
  const columns = named.map(({ position, number }) => passes.map((of) => numbersAt(engine, of, position)[number]!));
  return { fields: { ...fields, rows: named.map((one) => [one.position, one.name]) }, columns };
}

export const loudness: Answering<"loudness"> = async (engine, shown, question, signal) => {
  const { layer, head, partners = [], target = "", target_at = -1 } = question;
  const changesTo = (factor: number) =>
    [[layer, head] as const, ...partners].map(([layer, head]): Scale => ({ kind: "scale", layer, head, factor }));
  const place = { layer, head, factors: [...LOUDNESS] };
  const nothing = { kind: "", unit: "", rows: [] };
  const {
    fields,
    columns,
    shares = [],
  } = await curvesOf(engine, shown, changesTo, target, target_at, signal).catch((error: Error): Curves => {
    signal.throwIfAborted();
    if (error.message === NEEDS_PYTHON) throw error;
    return { fields: { ...nothing, why_not: error.message }, columns: [] };
  });
  const values = Float32Array.from(LOUDNESS.flatMap((_, n) => columns.map((column) => column[n]!)));
  const flat = Float32Array.from(shares.flatMap((of) => [...of]));
  return answerOf(
    { ...place, why_not: "", ...fields },
    {
      values: [values, [LOUDNESS.length, columns.length]],
      ...(shares.length > 0 ? { shares: [flat, [LOUDNESS.length, shares[0]!.length]] } : {}),
    },
  );
};
