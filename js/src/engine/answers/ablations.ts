// Does it matter? The model's answer without a head, a cell, a token: as cell_matters of bertlens/widgets/answers/matter.py.
import type { MatterRow } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { NEEDS_PYTHON } from "../../kernel/needs";
import { upTo } from "../../paint/format";
import { type Change, covers } from "../changes";
import { chipOf } from "../chips";
import { type Answering, type Engine, type RunPair, runsOf, type Shown } from "../runs";
import { answersOf, type Row } from "./beforeafter";

/** What became of one place's first answer. */
interface Effect {
  position: number;
  name: string;
  before: number;
  after: number;
  first: string; // what comes first in its place, "" where it still does
  first_value: number;
}

/** Of two runs, place by place; rejects where the model's answer needs Python. */
async function effectsOf(engine: Engine, shown: Shown, { base: pass, variant: then }: RunPair): Promise<Effect[]> {
  const answer = await answersOf(engine, { ...shown, pass });
  if (answer.why_not || answer.kind === "tags") throw new Error(NEEDS_PYTHON);
  if (answer.kind === "embedding") {
    const changed = await answersOf(engine, { ...shown, pass: then });
    const [[position, name, , before], [, , , after]] = [answer.rows[0]!, changed.rows[0]!];
    return [{ position, name, before, after, first: "", first_value: after }];
  }
  const comparison = await answersOf(engine, { ...shown, original: pass, pass: then });
  if (comparison.why_not) throw new Error(NEEDS_PYTHON);
  const groups = new Map<number, Row[]>();
  for (const row of comparison.rows) {
    const place = answer.kind === "words" ? row[0] : -1;
    groups.set(place, [...(groups.get(place) ?? []), row]);
  }
  return [...groups.values()].map((rows) => {
    const [top, rival] = ([2, 3] as const).map((n) => rows.reduce((a, b) => (b[n] > a[n] ? b : a))) as [Row, Row];
    const name = rival === top ? "" : rival[1];
    return { position: top[0], name: top[1], before: top[2], after: top[3], first: name, first_value: rival[3] };
  });
}

/** The place that changes most: where another answer comes first, else where the number moves most. */
function mostMoved(outcomes: (Effect[] | string)[]): number {
  const lists = outcomes.filter((one) => typeof one !== "string");
  const sizes = (lists[0] ?? []).map((_, at) => {
    const column = lists.map((effects) => effects[at]!);
    const moved = Math.max(...column.map(({ before, after }) => Math.abs(after - before)));
    return moved + (column.some(({ first }) => first) ? 1e9 : 0);
  });
  return sizes.indexOf(Math.max(...sizes));
}

export const cellMatters: Answering<"cell_matters"> = async (engine, shown, question, signal) => {
  const { layer, head, query, key, target } = question;
  if (target) throw new Error(NEEDS_PYTHON);
  const changes: Change[] = [
    { kind: "off", layer, head },
    { kind: "cut", layer, head, query, key },
    { kind: "hide", token: key },
  ];
  const requests: MatterRow["asked"][] = [
    ["off", layer, head],
    ["cut", layer, head, query, key],
    ["hide", key],
  ];
  const outcomes: (Effect[] | string)[] = [];
  for (const change of changes) {
    const runs = await runsOf(engine, shown, change, signal).catch((error: Error) => {
      if (error.message.includes("no key left")) return phrases.NO_KEY;
      throw error;
    });
    outcomes.push(typeof runs === "string" ? runs : await effectsOf(engine, shown, runs));
  }
  const at = mostMoved(outcomes);
  const { kind, unit } = await answersOf(engine, shown);
  const { pass } = shown;
  const { position, name, before: baseline } = (await effectsOf(engine, shown, { base: pass, variant: pass }))[at]!;
  const rows = outcomes.map((one, n): MatterRow => {
    const { label, code } = chipOf(changes[n]!, 0, shown.encoded.tokens);
    const cover = upTo(pass.changes.length).filter((place) => covers(pass.changes[place]!, changes[n]!));
    const row = { asked: requests[n]!, label, code, cover };
    if (typeof one === "string")
      return { ...row, why_not: one, name, before: baseline, after: null, first: "", first_value: null };
    const { position: _, ...effect } = one[at]!;
    return { ...row, why_not: "", ...effect };
  });
  const place = { layer, head, query, key, target: "", target_at: -1 };
  return { fields: { ...place, kind, unit, position, name, before: baseline, rows } };
};
