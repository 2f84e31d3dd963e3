// Why a question finds one passage before another: what each word puts into the difference of two cosines, exactly, as
// bertlens/search/score_difference.py and bertlens/search/view/case_answers.py have it.

import type { CaseText, SearchCase } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { quotation } from "../../paint/quotes";
import { isNothing, ranked } from "../../paint/ranked";
import type { Arc, Pair, Side, Sides } from "../shapes";
import { type Reading, sumOf } from "./reading";

export type Readings = Sides<Reading>;
export type Sums = Map<string, number>;

const WORDS = 2; // of the question that a sentence names
const ARCS = 4; // of a word of the question to either passage
const PASSAGES = ["wrong", "right"] as const;

const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, one, n) => sum + one * b[n]!, 0);
export const cosine = (a: Float64Array, b: Float64Array): number =>
  dot(a, b) / Math.max(Math.sqrt(dot(a, a) * dot(b, b)), 1e-12);
export const scoresOf = ({ query, wrong, right }: Sides<{ vector: Float64Array }>): Pair => [
  cosine(query.vector, wrong.vector),
  cosine(query.vector, right.vector),
];

/** Numbers with their signs, and with the decimals that tell them from 0. */
export const signedNumbers = (numbers: number[]): string[] =>
  numbers.map((number) => ranked([number])[0]!.replace(/^(?=\d)/, number > 0 ? "+" : ""));

export const SUBJECTS: Sides<string> = {
  query: "The question",
  wrong: "The wrong passage",
  right: "The right passage",
};

/** What each word puts in, wherever it stands. */
function sumsOf({ keys }: Reading, parts: number[]): Sums {
  const sums: Sums = new Map();
  keys.forEach((key, row) => {
    if (key) sums.set(key, (sums.get(key) ?? 0) + parts[row]!);
  });
  return sums;
}

/** The first of the largest. */
const largest = (sums: Sums): [key: string, sum: number] =>
  [...sums].reduce((most, one) => (one[1] > most[1] ? one : most), ["", Number.NEGATIVE_INFINITY]);

export class Contrast {
  readonly scores: Pair;
  /** What each row puts into the score of the wrong and of the right passage; null where they are no sums. */
  private ofQuery: [number[], number[]] | null = null;
  private ofPassages: [number[], number[]] | null = null;
  private scales: Pair;

  constructor(
    readonly readings: Readings,
    readonly whyNot: string,
  ) {
    this.scores = scoresOf(readings);
    const { query } = readings;
    const length = Math.sqrt(dot(query.vector, query.vector));
    this.scales = PASSAGES.map((side) => {
      const { vector } = readings[side];
      return 1 / Math.max(length * Math.sqrt(dot(vector, vector)), 1e-12);
    }) as Pair;
    if (whyNot) return;
    const products = (of: Reading, by: Reading, n: number) =>
      of.sums!.map((sum) => dot(sum, by.vector) * this.scales[n]!);
    this.ofQuery = PASSAGES.map((side, n) => products(query, readings[side], n)) as [number[], number[]];
    this.ofPassages = PASSAGES.map((side, n) => products(readings[side], query, n)) as [number[], number[]];
  }

  get difference(): number {
    return this.scores[0] - this.scores[1];
  }

  /** What each row of a text puts into the difference. */
  parts(side: Side): number[] | null {
    if (!this.ofQuery || !this.ofPassages) return null;
    if (side === "query") return this.ofQuery[0].map((part, row) => part - this.ofQuery![1][row]!);
    return side === "wrong" ? this.ofPassages[0] : this.ofPassages[1].map((part) => 0 - part);
  }

  /** What each word of a text puts into the difference, the same word of the other passage counted against it. */
  gains(side: Side): Sums {
    const sums = sumsOf(this.readings[side], this.parts(side)!);
    if (side === "query") return sums;
    const passage = side === "wrong" ? "right" : "wrong";
    const opposite = sumsOf(this.readings[passage], this.parts(passage)!);
    return new Map([...sums].map(([key, sum]) => [key, sum + (opposite.get(key) ?? 0)]));
  }

  /** The word of the wrong passage that the split names. */
  get named(): string {
    if (this.whyNot) return "";
    const [key, gain] = largest(this.gains("wrong"));
    return gain > 0 ? key : "";
  }

  nameOf(side: Side, key: string): string {
    const { names, keys } = this.readings[side];
    return names[keys.indexOf(key)]!;
  }

  get said(): string {
    if (this.whyNot) return phrases.NO_SUMS({ why: this.whyNot });
    if (this.readings.wrong.text === this.readings.right.text) return phrases.SAME_PASSAGES;
    const beside = Math.max(...this.scores.map(Math.abs));
    const best = [...this.gains("query")]
      .filter(([, gain]) => gain > 0)
      .sort(([, a], [, b]) => b - a)
      .slice(0, WORDS)
      .filter(([, gain]) => !isNothing(gain, beside));
    if (best.length === 0) return phrases.NO_PREFERENCE;
    const numbers = signedNumbers([...best.map(([, gain]) => gain), this.difference]);
    const listed = best.map(([key], n) => `${quotation(this.nameOf("query", key))} (${numbers[n]})`).join(" and ");
    const prefer = best.length === 1 ? "prefers" : "prefer";
    const sentence = phrases.PREFERENCE({ words: listed, prefer, total: numbers.at(-1)! });
    const answer = this.answer(best.map(([key]) => key));
    return answer ? `${sentence}: ${answer}.` : `${sentence}.`;
  }

  /** What in the wrong passage answers words of the question, and what the right passage has of it. */
  private answer(keys: string[]): string {
    const { query } = this.readings;
    const asking = sumOf(
      query.sums!.filter((_, row) => keys.includes(query.keys[row]!)),
      query.vector.length,
    );
    const [wrong, right] = PASSAGES.map((side, n) =>
      sumsOf(
        this.readings[side],
        this.readings[side].sums!.map((sum) => dot(sum, asking) * this.scales[n]!),
      ),
    ) as [Sums, Sums];
    const [key, gain] = largest(new Map([...wrong].map(([key, part]) => [key, part - (right.get(key) ?? 0)])));
    if (!key || gain <= 0 || isNothing(gain, Math.max(...this.scores.map(Math.abs)))) return "";
    const [share, opposite] = [wrong.get(key)!, right.get(key)];
    const [number, opponent] = ranked([share, ...(opposite === undefined ? [] : [opposite])]) as [string, string?];
    const name = quotation(this.nameOf("wrong", key));
    if (share < largest(wrong)[1] || share <= 0)
      return opponent ? phrases.LEAD({ name, number, right: opponent }) : phrases.LEAD_ALONE({ name, number });
    const clause = opponent ? phrases.IN_RIGHT({ number: opponent }) : phrases.LACKING;
    return phrases.ANSWER({ name, number, other: clause, does: `answers ${keys.length === 1 ? "it" : "them"} most` });
  }

  /** The largest arcs of each word of the question to the words of either passage. */
  private get arcs(): SearchCase["arcs"] {
    const { query } = this.readings;
    const arcs: SearchCase["arcs"] = {};
    for (const [n, side] of PASSAGES.entries()) {
      const { keys, sums, vector } = this.readings[side];
      const rows = new Map<string, number[]>();
      keys.forEach((key, row) => {
        if (key) rows.set(key, [...(rows.get(key) ?? []), row]);
      });
      const words = [...rows.values()].map((places) => ({
        at: places[0]!,
        sum: sumOf(
          places.map((row) => sums![row]!),
          vector.length,
        ),
      }));
      arcs[side] = query.keys.flatMap((key, row) =>
        key
          ? words
              .map(({ at, sum }): Arc => [row, at, dot(query.sums![row]!, sum) * this.scales[n]!])
              .sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]))
              .slice(0, ARCS)
              .filter(([, , part]) => !isNothing(part))
          : [],
      );
    }
    return arcs;
  }

  private text(side: Side): CaseText {
    const { pieces, names, keys } = this.readings[side];
    return { pieces, names, keys, parts: this.parts(side) };
  }

  /** All of a case but for what is known of its passages. */
  fields(notes: string[]): Omit<SearchCase, "passages" | "wrong" | "right" | "judged"> {
    const sum = this.parts("query")?.reduce((total, part) => total + part, 0);
    return {
      scores: this.scores,
      said: this.said,
      why_not: this.whyNot,
      crosses: false,
      notes,
      texts: { query: this.text("query"), wrong: this.text("wrong"), right: this.text("right") },
      arcs: this.whyNot ? {} : this.arcs,
      named: this.named,
      ...(sum === undefined ? {} : { gap: sum - this.difference }),
    };
  }
}
