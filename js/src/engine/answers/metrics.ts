// The numbers of an answer that heads are switched off for. As `asked` of bertlens/whatif/before_after.py.

import * as phrases from "../../generated/phrases";
import { quotation } from "../../paint/quotes";
import { cosine, type Pass } from "../forward";
import type { Engine, Run } from "../runs";
import { best, logitsAt, placesOf, softmax, vectorOf, WHOLE } from "./output";
import { nameOf, type Target } from "./targets";

/** A number of a run of this text. */
export interface Metric {
  name: string;
  label: string;
  unit: string;
  score(pass: Pass): number;
}

const metric = (name: string, label: string, unit: string, score: Metric["score"]): Metric => ({
  ...{ name, label, unit, score },
});

/** Whether the answer is one number without a name of its own. */
export const isLone = ({ carried: { answer } }: Engine): boolean =>
  answer.kind === "labels" && answer.names.length === 1 && answer.names[0] === "LABEL_0";

/** Of the answer that the original run gave first, or of a target. */
export function metricsOf(engine: Engine, shown: Run, target: Target | null): Metric[] {
  const { original, encoded } = shown;
  const { kind, one: isDistribution } = engine.carried.answer;
  if (kind === "vectors") {
    const score = (pass: Pass) => cosine(vectorOf(engine, original), vectorOf(engine, pass));
    return shown.texts[1] ? [] : [metric("similarity", phrases.EMBEDDING_KEPT, "cosine", score)];
  }
  const places = placesOf(engine, shown);
  if (kind === "tags") return [ofTags(engine, original, places, encoded.tokens, target)];
  const at = kind === "labels" ? WHOLE : (target?.position ?? places[0]!);
  const two = best(logitsAt(engine, original, at), 2);
  const top = target?.number ?? two[0]!;
  const name = quotation(nameOf(engine, shown, top, at));
  const where = kind === "words" && places.length > 1 ? ` at ${at}` : "";
  const logit = (pass: Pass, n: number) => logitsAt(engine, pass, at)[n]!;
  const base = softmax(logitsAt(engine, original, at));
  const divergence = metric("divergence", phrases.DIVERGENCE({ where }), "nats", (pass) => {
    const variant = softmax(logitsAt(engine, pass, at));
    return base.reduce((sum, p, n) => (p > 0 ? sum + p * Math.log(p / variant[n]!) : sum), 0);
  });
  const label = isLone(engine) ? "logit" : phrases.LOGIT({ name, where });
  const main = metric("logit", label, "logits", (pass) => logit(pass, top));
  if (kind === "labels") return isDistribution ? [main, divergence] : [main];
  const second = two.find((n) => n !== top)!;
  const lead = phrases.LOGIT_OVER({ name, other: quotation(nameOf(engine, shown, second, at)), where });
  return [
    main,
    metric("difference", lead, "nats", (pass) => logit(pass, top) - logit(pass, second)),
    metric(
      "probability",
      phrases.PROBABILITY({ name, where }),
      "0 to 1",
      (pass) => softmax(logitsAt(engine, pass, at))[top]!,
    ),
    divergence,
  ];
}

/** A target's logit, or the sum of those of the tokens' own labels. */
function ofTags(engine: Engine, original: Pass, places: number[], tokens: string[], target: Target | null): Metric {
  if (target) {
    const { position, number, name } = target;
    const label = phrases.TOKEN_LOGIT({ name: quotation(name), token: quotation(tokens[position]!), position });
    return metric("logit", label, "logits", (pass) => logitsAt(engine, pass, position)[number]!);
  }
  const labels = places.map((place) => best(logitsAt(engine, original, place), 1)[0]!);
  const score = (pass: Pass) => places.reduce((sum, at, n) => sum + logitsAt(engine, pass, at)[labels[n]!]!, 0);
  return metric("logit", phrases.TOKEN_LOGITS, "logits", score);
}
