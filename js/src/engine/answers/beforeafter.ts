// What the model answers before the changes of a run and after: words at masks, labels, tags, the similarity of two texts,
// or of one how its vector changed. As bertlens/whatif/before_after.py.
import type { ModelAnswer } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { ANSWERS, CHOICES } from "../../generated/vocabulary";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { isOfHeads } from "../changes";
import { cosine, run } from "../forward";
import type { Answering, Engine, Run } from "../runs";
import { isLone, metricsOf } from "./metrics";
import { best, logitsAt, numbersAt, placesOf, vectorOf } from "./output";
import { nameOf, type Target, targetOf } from "./targets";

export type Row = ModelAnswer["rows"][number];

/** Of a run, its original before; with what is asked about first. Throws for a target that this run has not. */
export async function answersOf(engine: Engine, shown: Run, name = "", at?: number): Promise<ModelAnswer> {
  const { kind, unit, said: note, why_not } = engine.carried.answer;
  const target = name ? targetOf(engine, shown, name, at) : null;
  const nothing = { kind: "", unit: "", said: "", rows: [], metrics: [], choices: [], places: [] };
  try {
    if (!kind) throw new Error(why_not || NEEDS_PYTHON);
    const metrics = metricsOf(engine, shown, target).map((one): [string, string, string] => [
      one.name,
      one.label,
      one.unit,
    ]);
    const answer = { unit, said: note, metrics, choices: [] as string[], places: [] as number[], why_not: "" };
    if (kind === "vectors") return { ...answer, ...(await ofVectors(engine, shown)) };
    const places = placesOf(engine, shown);
    const rows = namedAnswers(engine, shown, target).map(({ position, name, number }): Row => {
      const [before, after] = pairAt(engine, shown, position);
      return [position, name, before[number]!, after[number]!];
    });
    if (kind === "words") {
      const logits = logitsAt(engine, shown.original, places[0]!);
      answer.choices = best(logits, CHOICES).map((n) => nameOf(engine, shown, n, places[0]!));
    } else answer.choices = isLone(engine) ? [] : engine.carried.answer.names;
    if (kind === "tags" || (kind === "words" && places.length > 1)) answer.places = places;
    const tags = places.map((place) => nameOf(engine, shown, best(pairAt(engine, shown, place)[0], 1)[0]!, place));
    return { ...answer, kind, rows, ...(kind === "tags" ? { tags } : {}) };
  } catch (error) {
    return { ...nothing, why_not: (error as Error).message };
  }
}

/** The number of every word or class at a place, before and after. */
const pairAt = (engine: Engine, { original, pass }: Run, place: number) =>
  [original, pass].map((one) => numbersAt(engine, one, place)) as [Float64Array, Float64Array];

/** The answers that are shown of a run and its original, of logits; what is asked about first. */
export function namedAnswers(engine: Engine, shown: Run, target: Target | null): Target[] {
  const places = placesOf(engine, shown);
  const isTags = engine.carried.answer.kind === "tags";
  const rows = isTags ? ofTags(engine, shown, places, target?.position) : ofPlaces(engine, shown, places);
  const isTheSame = (row: Target) => row.position === target?.position && row.name === target.name;
  return target ? [target, ...rows.filter((row) => !isTheSame(row))] : rows;
}

/** The best of either, those before first. */
const eitherOf = (pair: [Float64Array, Float64Array], count: number) => [
  ...new Set(pair.flatMap((numbers) => best(numbers, count))),
];

/** The best of either at each place, the best before first. */
function ofPlaces(engine: Engine, shown: Run, places: number[]): Target[] {
  return places.flatMap((position) => {
    const ids = eitherOf(pairAt(engine, shown, position), ANSWERS);
    return ids.map((number) => ({ position, number, name: nameOf(engine, shown, number, position) }));
  });
}

/** The own label of a token, of those whose own label's number changed most, and the other labels of the first. */
function ofTags(engine: Engine, shown: Run, places: number[], at?: number): Target[] {
  const rowOf = (position: number) => {
    const [base, variant] = pairAt(engine, shown, position);
    const number = best(base, 1)[0]!;
    const change = Math.abs(variant[number]! - base[number]!);
    return { position, number, name: nameOf(engine, shown, number, position), change };
  };
  const rows = places.map(rowOf);
  const countOf = (number: number) => rows.filter((row) => row.number === number).length;
  const commonest = rows.reduce(
    (most, { number }) => (countOf(number) > countOf(most) ? number : most),
    rows[0]?.number ?? -1,
  );
  const lead = at === undefined ? (rows.find(({ number }) => number !== commonest) ?? rows[0]) : rowOf(at);
  if (!lead) return [];
  const others = rows
    .filter(({ position }) => position !== lead.position)
    .sort((a, b) => b.change - a.change)
    .slice(0, ANSWERS - 1)
    .sort((a, b) => a.position - b.position);
  const { position } = lead;
  const numbers = eitherOf(pairAt(engine, shown, position), CHOICES).filter((number) => number !== lead.number);
  const rest = numbers
    .slice(0, CHOICES - 1)
    .map((number) => ({ position, number, name: nameOf(engine, shown, number, position) }));
  return [lead, ...others, ...rest];
}

/** Of a text the cosine of its vector with that of the run without changes; of two texts their similarity. */
async function ofVectors(engine: Engine, { texts, original, pass }: Run) {
  if (!texts[1]) {
    const similarity = pass === original ? 1 : cosine(vectorOf(engine, original), vectorOf(engine, pass));
    const rows: Row[] = [[-1, phrases.EMBEDDING_ALIKE, 1, similarity]];
    return { kind: "embedding", unit: "cosine", rows };
  }
  if (!pass.changes.every(isOfHeads)) throw new Error(NEEDS_PYTHON);
  const vectors: Float32Array[] = [];
  for (const changes of [original.changes, pass.changes])
    for (const text of texts)
      vectors.push(vectorOf(engine, await run(engine.weights, engine.encode(text), changes)).slice());
  const [a, b, c, d] = vectors as [Float32Array, Float32Array, Float32Array, Float32Array];
  const rows: Row[] = [[-1, phrases.TEXTS_ALIKE, cosine(a, b), cosine(c, d)]];
  return { kind: "similarity", rows };
}

export const answers: Answering<"answers"> = async (engine, shown, { target, target_at }) => ({
  fields: await answersOf(engine, shown, target, target_at),
});
