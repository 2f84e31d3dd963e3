// What kind of gate each head is, and the cells that made it one: as gate_labels and gate_evidence of
// bertlens/widgets/answers/gate_answers.py, whose measures are bertlens/measures/gates.
import { gateLabel } from "../../compute/gatelabel";
import * as phrases from "../../generated/phrases";
import { GATE_LEAST_CONTENT, GATE_LEVEL, GATE_PATTERNS, GATE_RISE, GATE_VIEWS } from "../../generated/vocabulary";
import { mapOf, type Pass } from "../forward";
import { type Answering, answerOf, layersOf, perHead, type Shown } from "../runs";
import type { Weights } from "../weights";
import { type Frame, frameOf, type PatternScores, patternScores } from "./gatepatterns";

const NAMES = Object.keys(GATE_PATTERNS);
type GateView = (typeof GATE_VIEWS)[number];
const PATIENCE = 100; // ms of work between two other questions

/** What a score has to reach; null where no score gives a label. */
const leastAt = (n: number, threshold: number): number | null =>
  n < GATE_LEAST_CONTENT ? null : threshold + GATE_RISE * Math.max(0, 1 / n - 1 / GATE_LEVEL);

const frames = new WeakMap<Shown["encoded"], Frame>();
const scoresByHead = new WeakMap<Pass, Map<number, Record<GateView, number[]>>>(); // scores of a head

function framed({ encoded }: Shown): Frame {
  if (!frames.has(encoded)) frames.set(encoded, frameOf(encoded.special, encoded.segments));
  return frames.get(encoded)!;
}

const strongest = ({ scores }: PatternScores) =>
  NAMES.map((gate) => Math.max(...GATE_PATTERNS[gate]!.map((pattern) => scores[pattern] ?? Number.NaN)));

function scoresOf(weights: Weights, shown: Shown, layer: number, head: number): Record<GateView, number[]> {
  const { values, stride } = mapOf(weights, shown.pass, layer, head);
  const [full, content] = GATE_VIEWS.map((view) =>
    strongest(patternScores(values, stride, framed(shown), view === "content")),
  );
  return { full: full!, content: content! };
}

/** All heads, or those of a layer; "again" where it takes long: what is done is kept. */
export const gates: Answering<"gates"> = ({ carried, weights }, shown, { threshold, margin, layer }) => {
  const [layers, heads] = perHead(carried);
  const selection = layersOf(carried, layer);
  const cache = scoresByHead.get(shown.pass) ?? new Map<number, Record<GateView, number[]>>();
  scoresByHead.set(shown.pass, cache);
  const until = performance.now() + PATIENCE;
  const pairs = selection.flatMap((layer) => Array.from({ length: heads }, (_, head) => [layer, head] as const));
  for (const [layer, head] of pairs) {
    const at = layer * heads + head;
    if (cache.has(at)) continue;
    if (performance.now() > until) return { fields: { again: true, done: cache.size / (layers * heads) } };
    cache.set(at, scoresOf(weights, shown, layer, head));
  }
  const n = framed(shown).content.length;
  const floor = leastAt(n, threshold);
  const scores = (view: GateView) => pairs.map(([layer, head]) => cache.get(layer * heads + head)![view]);
  const labels = (view: GateView) => {
    const headLabels = scores(view).map((one) => gateLabel(NAMES, one, floor, margin));
    return selection.map((_, n) => headLabels.slice(n * heads, (n + 1) * heads));
  };
  const array = (view: GateView) =>
    [Float32Array.from(scores(view).flat()), [selection.length, heads, NAMES.length]] as const;
  return answerOf(
    {
      ...{ names: NAMES, threshold, margin, content_tokens: n, least: floor },
      labels: { full: labels("full"), content: labels("content") },
    },
    { full: array("full"), content: array("content") },
  );
};

/** Which cells of content tokens i and j made a pattern, among content tokens. */
function isCell({ columns, width, blocks, targets }: PatternScores, { content }: Frame, pattern: string) {
  const isNear = (i: number, j: number) => Math.abs(content[j]! - content[i]!) === 1;
  const cells: Record<string, (i: number, j: number) => boolean> = {
    self: (i, j) => i === j,
    next: (i, j) => j === i + 1 && isNear(i, j),
    previous: (i, j) => j === i - 1 && isNear(i, j),
    after: (i, j) => j > i,
    before: (i, j) => j < i,
    "both neighbours": (i, j) => i !== j && Math.abs(j - i) <= width,
    "content columns": (_, j) => columns.includes(j),
    "far peaks": (i, j) => targets[i] === j && Math.abs(j - i) > 1,
    block: (i, j) => blocks.some(([from, to]) => from <= i && i < to && from <= j && j < to),
    unstructured: () => true,
  };
  return cells[pattern] ?? (() => false);
}

/** Where the cells are, in words. */
function detailOf({ columns, width, blocks }: PatternScores, { content }: Frame, pattern: string): string {
  const plural = (count: number) => (count > 1 ? "s" : "");
  if (pattern === "both neighbours") return phrases.BAND({ width, s: plural(width) });
  if (pattern === "content columns")
    return phrases.COLUMNS({ s: plural(columns.length), places: columns.map((at) => content[at]).join(", ") });
  const starts = blocks.slice(1).map(([from]) => content[from]);
  return pattern === "block" ? phrases.CUT_BEFORE({ places: starts.join(" and ") }) : "";
}

/** The pattern that won for a gate, its cells, eight to a byte, and how much of the words' attention lies on them. */
export function evidenceOf(values: Float32Array, stride: number, frame: Frame, gate: string, isContent: boolean) {
  const { content, special } = frame;
  const tokens = content.length + special.length;
  const patterns = patternScores(values, stride, frame, isContent);
  const score = (pattern: string) => patterns.scores[pattern] ?? 0;
  const pattern = GATE_PATTERNS[gate]!.reduce((best, one) => (score(one) > score(best) ? one : best));
  const isMeasured = pattern in patterns.scores;
  const counts = isMeasured ? isCell(patterns, frame, pattern) : () => false;
  const hasSpecial = isMeasured && ["special columns", "unstructured"].includes(pattern);
  const cells = new Uint8Array(Math.ceil(tokens ** 2 / 8));
  let mass = 0;
  for (const [i, query] of content.entries()) {
    let [on, total] = [0, 0];
    const add = (key: number, isOn: boolean) => {
      const at = query * tokens + key;
      const weight = values[query * stride + key]!;
      if (isOn) cells[at >> 3]! |= 128 >> (at & 7);
      [on, total] = [on + (isOn ? weight : 0), total + weight];
    };
    for (const [j, key] of content.entries()) add(key, counts(i, j));
    if (!isContent) for (const key of special) add(key, hasSpecial);
    mass += on / Math.max(total, 1e-12) / content.length;
  }
  const detail = isMeasured ? detailOf(patterns, frame, pattern) : "";
  return { pattern, detail, mass: content.length > 0 ? mass : null, cells };
}

export const evidence: Answering<"evidence"> = ({ weights }, shown, { layer, head, gate, view }) => {
  if (!(gate in GATE_PATTERNS)) throw new Error("no such gate");
  const { values, stride } = mapOf(weights, shown.pass, layer, head);
  const { cells, ...proof } = evidenceOf(values, stride, framed(shown), gate, view === "content");
  return answerOf({ layer, head, gate, ...proof }, { cells: [cells, null] });
};
