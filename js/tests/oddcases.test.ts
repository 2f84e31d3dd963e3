// Sentences at odd values: 0, 1, 2, all, none, ties, NaN, negative, one word. What a reader would hold of each.
import { describe, expect, it } from "vitest";
import {
  type Effect,
  habitPieces,
  type Look,
  lookPieces,
  louderPieces,
  plain,
  withoutPieces,
} from "../src/front/claims";
import { amount } from "../src/paint/format";
import { isMuch } from "../src/parts/phrasing";
import { inExplorer } from "../src/search/case";
import { turnedWords } from "../src/search/claim";
import { unjudged } from "../src/search/judgement";
import { orderAfter } from "../src/search/order";
import { OWN, type Search } from "../src/search/state";
import { wordAbout } from "../src/search/triptych";
import { explainedWords } from "../src/tabs/task/taskwords";

const NUMBER = "(less than )?([−+]?[\\d,]+(?:\\.\\d+)?)";
const MOVES = new RegExp(`(falls?|rises?) from ${NUMBER} to (?:≈ )?${NUMBER}`, "g");
const asNumber = (text: string) => Number(text.replaceAll(",", "").replace("−", "-"));

/** What is wrong with a sentence as it is read. */
function faultsOf(text: string): string[] {
  const faults: string[] = [];
  if (/\bNaN\b|\bnan\b|undefined|null|Infinity/.test(text)) faults.push("no number");
  if (/-0\.0+\b|[−+]0\.0+(?![\d])/.test(text)) faults.push("a sign before 0");
  if (/\+less/.test(text)) faults.push("a sign before words");
  if (/(?<![\d.,·])1 (?!is\b|has\b|does\b|was\b|as\b)[a-z]+s\b/.test(text)) faults.push("1 of several");
  if (/\bpatch[s]\b|\bchoicess\b/.test(text)) faults.push("plural");
  for (const [, n, m] of text.matchAll(/(?<![\d.,])(\d+) of (\d+)(?![\d.])/g))
    if (Number(n) > Number(m)) faults.push("n of m");
  for (const [, verb, isBound, from, toBound, to] of text.matchAll(MOVES)) {
    const [a, b] = [asNumber(from!), asNumber(to!)];
    const down = verb!.startsWith("fall");
    if (isBound && down && b > -0.005) faults.push("falls from less");
    if (toBound && !down && a > -0.005) faults.push("rises to less");
    if (down ? b >= a && !toBound : b <= a && !isBound) faults.push(`${verb} the other way`);
  }
  return faults;
}

const cross = <T extends object>(axes: { [K in keyof T]: T[K][] }): T[] =>
  (Object.entries(axes) as [string, unknown[]][]).reduce<object[]>(
    (rows, [name, values]) => rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  ) as T[];

const VALUES = [0, 0.001, 0.0049, 0.005, 0.3333, 0.5, 0.9849, 0.9999, 1, -0.001, -0.4, Number.NaN];
const BESTS = [null, ...[1, 2, 144].map((tried) => ({ head: "L2·H3", tried, change: 0.0121, least: 0.04 }))];
const EFFECT: Effect = {
  ...{ head: "L5·H7", kind: "words", lone: false, name: "cat", where: "", from: 0.66, to: 0.27, factor: 1 },
  ...{ about: false, changeCount: 0, carrier: null, best: null, sure: false },
};
const LOOK: Look = {
  ...{ head: "L5·H7", hovered: false, value: 0.7, even: 0.07, noun: "word", itself: false },
  query: { text: "[MASK]", special: false },
  key: { text: "cat", special: false },
};

describe("sentences of the first screen", () => {
  it("say what an answer does without a head", () => {
    const cases = cross<Partial<Effect>>({
      from: VALUES,
      to: VALUES,
      best: BESTS,
      kind: ["words", "labels", "similarity", "embedding"],
    });
    expect(cases.length).toBeGreaterThan(200);
    for (const one of cases) {
      const text = plain(withoutPieces({ ...EFFECT, ...one }));
      expect(faultsOf(text), text).toEqual([]);
      if (one.kind === "similarity") expect(text).not.toContain("the similarity has");
    }
  });
  it("say what a head that is louder or quieter does", () => {
    const factors = [0, 0.001, 0.0049, 0.5, 0.9999, 1.0001, 2];
    for (const one of cross<Partial<Effect>>({ factor: factors, from: VALUES, to: VALUES, sure: [false, true] })) {
      const [answer, passes] = louderPieces({ ...EFFECT, ...one }, LOOK).map(plain);
      expect(faultsOf(answer!), answer).toEqual([]);
      if (answer!.includes("L5·H7 at 1.00")) expect(passes).toBe("It passes on about what the model lets it.");
    }
  });
  it("say of a word that carries something alone that it carries", () => {
    for (const share of [-0.02, 0, Number.NaN])
      expect(plain(withoutPieces({ ...EFFECT, carrier: { word: "keeper", share } }))).not.toContain("carries");
  });
  it("say where a head looks: that it is not much only where more could be", () => {
    for (const one of cross<Partial<Look>>({
      value: [0, 0.001, 0.2, 0.5, 0.75, 0.95, 1, Number.NaN],
      even: [0.001, 1 / 3, 0.5, 0.6, 0.9, 1],
      noun: ["word", "token", "patch"],
      hovered: [false, true],
    })) {
      const text = plain(lookPieces({ ...LOOK, ...one }));
      expect(faultsOf(text), text).toEqual([]);
      if (text.includes("much; at")) expect(one.value!).toBeLessThan((1 + one.even!) / 2);
      if (one.value === 1) expect(text).not.toContain("much; at");
    }
    for (const share of [0.5, 0.9849, 0.9999, 1])
      for (const noun of ["word", "token", "patch"])
        for (const side of ["previous", "next"] as const)
          expect(faultsOf(plain(habitPieces({ side, share }, noun)))).toEqual([]);
    for (const even of [0.1, 0.3, 0.5, 0.6, 0.99, 1]) expect(isMuch(1, even)).toBe(true);
    expect([isMuch(0.2, 0.1), isMuch(0.19, 0.1), isMuch(0.8, 0.6), isMuch(0.79, 0.6)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe("sentences of a search", () => {
  it("say what became of an order", () => {
    const scores = [0, 0.3, 0.30000001, 0.4, -0.2, 7];
    for (const { a, b, c, d } of cross<{ a: number; b: number; c: number; d: number }>({
      a: scores,
      b: scores,
      c: scores,
      d: scores,
    })) {
      const text = turnedWords([a, b], [c, d]);
      expect(faultsOf(text), text).toEqual([]);
      const [from, to] = [...text.matchAll(/[−+]?\d+\.\d+/g)].map(([number]) => Math.sign(asNumber(number)));
      if (text.includes("the order stays")) expect(from! * to!, text).toBe(1);
      if (text.includes("turns")) expect(from! * to!, text).toBe(-1);
    }
    expect(orderAfter([0.5, 0.4], [0.4, 0.4])).toBe("both scores are equal");
    expect(orderAfter([0.4, 0.4], [0.4, 0.5])).toBe("one is ahead");
    expect([orderAfter([0.5, 0.4], [0.4, 0.5]), orderAfter([0.4, 0.5], [0, 0.1])]).toEqual([
      "the order turns",
      "the order stays",
    ]);
  });
  it("name nothing wrong or right where nobody judged", () => {
    const texts = [
      "The wrong passage is cut to 72 tokens.",
      "The right passage: 1 token is unknown",
      "in the right one 0.2, of the wrong one’s score",
      wordAbout("cat", { part: 0.4, wrong: 0.6, right: 0.2, places: 2 }),
    ];
    expect(texts.map(unjudged)).toEqual([
      "The one passage is cut to 72 tokens.",
      "The other passage: 1 token is unknown",
      "in the other one 0.2, of the one’s score",
      "cat: 0.4000 of the difference (0.6000 of the one’s score, 0.2000 of the other one’s), in 2 places",
    ]);
  });
  it("give the line of Python of the texts that are read", () => {
    const search = (typed: string | null, texts = OWN) =>
      ({ query: { value: "1" }, typed: { value: typed }, texts: { value: texts } }) as unknown as Search;
    const of = { wrong: "one", right: "manual" };
    expect(inExplorer(search(null), of)).toBe('r.contrast("1", "one", "manual").pairs[0].explore()');
    expect(inExplorer(search('so "typed"'), of)).toBe(
      'r.contrast("1", "one", "manual").rewritten(query="so \\"typed\\"").pairs[0].explore()',
    );
    expect(inExplorer(search("typed", { query: "anew", wrong: "w", right: null }), of)).toBe(
      'r.contrast("1", "one", "manual").rewritten(wrong="w", query="anew").pairs[0].explore()',
    );
  });
});

describe("sentences of counts", () => {
  it("agree with their number", () => {
    for (const noun of ["passage", "patch", "failure"]) {
      expect(faultsOf(amount(1, noun))).toEqual([]);
      expect(amount(2, noun)).toMatch(/s$/);
    }
    for (const beats of [0, 1, 20]) {
      const text = explainedWords({ words: "cat (+0.5)", comprehensiveness: 1, random: 0.2, beats } as never);
      expect(text).toContain(`${beats} of 20 random orders ${beats === 1 ? "does" : "do"} worse`);
    }
  });
  it("are held to what this looks for", () => {
    const wrong = [
      ["falls from less than 0.01 to 0.00", "falls from less"],
      ["stays at NaN", "no number"],
      ["12 of 10", "n of m"],
      ["1 questions", "1 of several"],
      [`lets ${"patch"}s look`, "plural"],
      ["rises from 0.50 to 0.50", "rises the other way"],
      ["(+less than 0.01)", "a sign before words"],
    ];
    for (const [text, fault] of wrong) expect(faultsOf(text!)).toContain(fault);
  });
});
