// What the model answers: of a text how its vector changed, of two texts their similarity.
import { type Fields, NEEDS_PYTHON } from "../asked";
import { cosine, pooled, run } from "../forward";
import type { Engine, Run } from "../runs";

export const METRIC = "similarity"; // of a text's vector with that of the run without changes

/** Of a text the cosine of its vector with that of the run without changes; of two texts their similarity. */
export async function answersOf({ carried, weights, encode }: Engine, { texts, original, pass }: Run): Promise<Fields> {
  const nothing = { metrics: [], choices: [], places: [] };
  const refused = { ...nothing, kind: "", unit: "", said: "", rows: [], why_not: NEEDS_PYTHON };
  if (!carried.vectors) return refused;
  const found = { ...nothing, unit: "cosine", said: "mean of all tokens", why_not: "" };
  if (!texts[1]) {
    const metrics = [[METRIC, "cosine with the embedding before", "cosine"]];
    const after = pass === original ? 1 : cosine(pooled(original), pooled(pass));
    return {
      ...found,
      metrics,
      kind: "embedding",
      rows: [[-1, "cosine of the embedding with the one before", 1, after]],
    };
  }
  if (pass.changes.some(({ kind }) => kind !== "off")) return refused;
  const vectors = [];
  for (const changes of [original.changes, pass.changes])
    for (const text of texts) vectors.push(pooled(await run(weights, encode(text), changes)));
  const [a, b, c, d] = vectors as [Float32Array, Float32Array, Float32Array, Float32Array];
  const rows = [[-1, "similarity of the two texts", cosine(a, b), cosine(c, d)]];
  return { ...found, kind: "similarity", rows };
}
