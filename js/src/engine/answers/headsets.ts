// Heads that move the answer together, where none does alone: as bertlens/whatif/head_sets.py.
import { toldChange } from "../../compute/logodds";
import type { Sets } from "../../generated/answers";
import type { HeadName } from "../../generated/vocabulary";
import type { Pass } from "../forward";
import { type Answering, onTop } from "../runs";
import { effectsOf, type FirstNumber, firstNumber, headsThatMatter, nameOf } from "./firstanswer";
import { TOGETHER } from "./output";

const PATIENCE = 100; // ms that a question may take before the others have their turn
const MOST = 6; // heads of a set
const CANDIDATES = 24; // heads that are tried in each step, those that move the number most alone

/** A set that grows: its run, and the heads that are tried with it. */
interface Progress {
  candidates: HeadName[];
  heads: Sets["heads"];
  pass: Pass; // with them off
  number: FirstNumber | null; // of that run, while other heads are tried
  tried: number;
  changes: number[];
}
const progressOf = new WeakMap<Pass, Map<string, Progress>>();

export const headSets: Answering<"head_sets"> = async (engine, shown, question, signal) => {
  const { target = "", target_at } = question;
  const { weights } = engine;
  const { encoded, original } = shown;
  const unchanged = { ...shown, pass: original };
  const empty: Sets = { name: "", unit: "", before: Number.NaN, heads: [], tried: 0, why_not: "" };
  const { fields } = await headsThatMatter(engine, unchanged, { target, target_at }, signal);
  if ("again" in fields) return { fields: { again: true, done: 0 } };
  if (fields.limit || fields.why_not) return { fields: { ...empty, why_not: fields.limit || fields.why_not } };
  const { name, unit, before } = fields;
  const offAt = ([layer, head]: HeadName) => ({ kind: "off", layer, head }) as const;
  const memo = progressOf.get(original) ?? new Map<string, Progress>();
  progressOf.set(original, memo);
  const key = nameOf(target, target_at);
  if (!memo.has(key)) {
    const size = (change: number) => Math.abs(toldChange(unit, before, change));
    const ranked = effectsOf(original, target, target_at).toSorted(([, , a], [, , b]) => size(b) - size(a));
    const [layer, head, change] = ranked[0]!;
    memo.set(key, {
      candidates: ranked.slice(0, CANDIDATES).map(([layer, head]) => [layer, head]),
      heads: [[layer, head, before + change]],
      pass: await onTop(weights, encoded, original, offAt([layer, head]), signal),
      ...{ number: null, tried: 0, changes: [] },
    });
  }
  const progress = memo.get(key)!;
  const { candidates, heads } = progress;
  const most = Math.min(MOST, candidates.length);
  const begin = performance.now();
  while (heads.length < most) {
    const partners = candidates.filter(([l, h]) => !heads.some(([layer, head]) => layer === l && head === h));
    progress.number ??= await firstNumber(engine, { ...unchanged, pass: progress.pass }, target, target_at, signal);
    const { number, changes } = progress;
    while (progress.tried < partners.length) {
      if (performance.now() - begin > PATIENCE)
        return { fields: { again: true, done: (heads.length - 1 + progress.tried / partners.length) / (most - 1) } };
      await number.run(...partners[progress.tried]!, signal);
      progress.tried++;
      if (number.waiting() === TOGETHER || progress.tried === partners.length) changes.push(...number.changes());
    }
    const numbers = changes.map((change) => number.fields.before + change);
    const distance = (n: number) => Math.abs(numbers[n]! - before);
    const furthest = numbers.reduce((best, _, n) => (distance(n) > distance(best) ? n : best), 0);
    const head = partners[furthest]!;
    progress.pass = await onTop(weights, encoded, progress.pass, offAt(head), signal);
    heads.push([...head, numbers[furthest]!]);
    Object.assign(progress, { number: null, tried: 0, changes: [] });
  }
  return { fields: { ...empty, name, unit, before, heads, tried: candidates.length } };
};
