// What a change does to a run: which heads look elsewhere, see bertlens/whatif/heads_moved.py, and what heads do to the answer.

import type { Questions } from "../../generated/vocabulary";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { jsdTerm } from "../arithmetic";
import type { Change } from "../changes";
import type { Pass } from "../forward";
import { type Answering, answerOf, type Engine, perHead, runsOf, type Shown } from "../runs";
import { rowOf } from "./attentionmaps";
import { type Metric, metricsOf } from "./metrics";
import { targetOf } from "./targets";

/** Whether something that is changed comes before a head's weights, or is one of them. */
const canDiffer = (changes: readonly Change[], layer: number, head: number) =>
  changes.some(
    (one) =>
      one.kind === "hide" ||
      one.kind === "dim" ||
      one.layer < layer ||
      (one.kind === "cut" && one.layer === layer && (one.head ?? head) === head),
  );

/** (L·H) Jensen-Shannon divergence of a head's rows in two runs, nats, mean over queries; NaN where they cannot differ. */
export function moved(before: Pass, after: Pass, heads: number): Float32Array {
  const { tokens, layers, changes } = after;
  const out = new Float32Array(layers.length * heads).fill(Number.NaN);
  for (let layer = 0; layer < layers.length; layer++)
    for (let head = 0; head < heads; head++) {
      if (!canDiffer(changes, layer, head)) continue;
      let sum = 0;
      for (let query = 0; query < tokens; query++) {
        const [p, q] = [before, after].map((pass) => rowOf(pass, layer, head, query, heads)) as [
          Float64Array,
          Float64Array,
        ];
        let divergence = 0;
        for (let j = 0; j < tokens; j++) divergence += jsdTerm(p[j]!, q[j]!);
        sum += Math.max(0, divergence);
      }
      out[layer * heads + head] = sum / tokens;
    }
  return out;
}

export const movedBy: Answering<"moved"> = ({ carried }, { original, pass }) =>
  answerOf({}, { moved: [moved(original, pass, carried.shape.heads), perHead(carried)] });

/** The number of the answer that is asked about. Refuses one that this answer has not. */
function metricOf(engine: Engine, shown: Shown, { metric, target, target_at }: Questions["matters"]): Metric {
  if (!engine.carried.answer.kind) throw new Error(NEEDS_PYTHON);
  const about = target ? targetOf(engine, shown, target, target_at) : null;
  const match = metricsOf(engine, shown, about).find((one) => one.name === metric);
  if (!match) throw new Error(NEEDS_PYTHON);
  return match;
}

/** Of each head (L, H): there is no estimate, the page asks for the exact ones. */
export const matters: Answering<"matters"> = (engine, shown, question) => {
  const { name } = metricOf(engine, shown, question);
  const size = perHead(engine.carried);
  const nothing = new Float32Array(size[0] * size[1]).fill(Number.NaN);
  return answerOf({ metric: name }, { values: [nothing, size] });
};

/** What switching off each head of a layer changes of a number of the answer, (H). */
export const mattersExact: Answering<"matters_exact"> = async (engine, shown, question, signal) => {
  const { name, score } = metricOf(engine, shown, question);
  const { layer } = question;
  const values = new Float32Array(engine.carried.shape.heads);
  for (let head = 0; head < values.length; head++) {
    const { base, variant } = await runsOf(engine, shown, { kind: "off", layer, head }, signal);
    values[head] = score(variant) - score(base);
  }
  return answerOf({ metric: name, layer }, { values: [values, null] });
};
