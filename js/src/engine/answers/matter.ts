// Does it matter? The model's answer without a head, a cell, a token: as cell_matters of bertlens/widgets/answers/matter.py.
import * as phrases from "../../generated/phrases";
import { upTo } from "../../paint/format";
import { chipOf, type Fields, NEEDS_PYTHON } from "../asked";
import { type Change, covers } from "../changes";
import { type Answering, type Engine, runsOf, type Shown, type Two } from "../runs";
import { answersOf } from "./answers";

type Row = [position: number, name: string, before: number, after: number];

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
async function effectsOf(engine: Engine, shown: Shown, { before: pass, after: then }: Two): Promise<Effect[]> {
  const own = await answersOf(engine, { ...shown, pass });
  if (own.why_not || own.kind === "tags") throw new Error(NEEDS_PYTHON);
  if (own.kind === "embedding") {
    const changed = await answersOf(engine, { ...shown, pass: then });
    const [[position, name, , before], [, , , after]] = [own, changed].map((one) => (one.rows as Row[])[0]!) as [
      Row,
      Row,
    ];
    return [{ position, name, before, after, first: "", first_value: after }];
  }
  const both = await answersOf(engine, { ...shown, original: pass, pass: then });
  if (both.why_not) throw new Error(NEEDS_PYTHON);
  const groups = new Map<number, Row[]>();
  for (const row of both.rows as Row[]) {
    const place = own.kind === "words" ? row[0] : -1;
    groups.set(place, [...(groups.get(place) ?? []), row]);
  }
  return [...groups.values()].map((rows) => {
    const [before, after] = ([2, 3] as const).map((n) => rows.reduce((a, b) => (b[n] > a[n] ? b : a))) as [Row, Row];
    const first = after === before ? "" : after[1];
    return { position: before[0], name: before[1], before: before[2], after: before[3], first, first_value: after[3] };
  });
}

/** The place that changes most: where another answer comes first, else where the number moves most. */
function mostMoved(found: (Effect[] | string)[]): number {
  const made = found.filter((one) => typeof one !== "string");
  const sizes = (made[0] ?? []).map((_, at) => {
    const here = made.map((effects) => effects[at]!);
    const moved = Math.max(...here.map(({ before, after }) => Math.abs(after - before)));
    return moved + (here.some(({ first }) => first) ? 1e9 : 0);
  });
  return sizes.indexOf(Math.max(...sizes));
}

export const cellMatters: Answering = async (engine, shown, question, signal) => {
  const [layer, head, query, key] = ["layer", "head", "query", "key"].map((name) => question[name] as number) as [
    number,
    number,
    number,
    number,
  ];
  if (question.target) throw new Error(NEEDS_PYTHON);
  const changes: Change[] = [
    { kind: "off", layer, head },
    { kind: "cut", layer, head, query, key },
    { kind: "hide", token: key },
  ];
  const asked = [
    ["off", layer, head],
    ["cut", layer, head, query, key],
    ["hide", key],
  ];
  const found: (Effect[] | string)[] = [];
  for (const change of changes) {
    const runs = await runsOf(engine, shown, change, signal).catch((error: Error) => {
      if (error.message.includes("no key left")) return phrases.NO_KEY;
      throw error;
    });
    found.push(typeof runs === "string" ? runs : await effectsOf(engine, shown, runs));
  }
  const at = mostMoved(found);
  const { kind, unit } = await answersOf(engine, shown);
  const { pass } = shown;
  const { position, name, before } = (await effectsOf(engine, shown, { before: pass, after: pass }))[at]!;
  const rows = found.map((one, n): Fields => {
    const { label, code } = chipOf(changes[n]!, 0, shown.encoded.tokens);
    const cover = upTo(pass.changes.length).filter((place) => covers(pass.changes[place]!, changes[n]!));
    const row = { asked: asked[n], label, code, cover };
    if (typeof one === "string")
      return { ...row, why_not: one, name, before, after: null, first: "", first_value: null };
    const { position: _, ...effect } = one[at]!;
    return { ...row, why_not: "", ...effect };
  });
  const place = { layer, head, query, key, target: "", target_at: -1 };
  return { fields: { ...place, kind, unit, position, name, before, rows } };
};
