// The sentence of a head, for every measure, length and state: said of the numbers that are shown.

import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { sentences } from "../src/atlas/headvalues";
import { heldCells } from "../src/compute/windows";
import type { HeadName, Measure } from "../src/generated/vocabulary";
import { plural } from "../src/paint/format";
import { nounOf, separatorNames, specialNames } from "../src/parts/nouns";
import { describeAll, describe as sentenceOf, sentenceText, statistics } from "../src/parts/phrasing";
import { decodeOverview, type Overview } from "../src/state/overview";
import { createView } from "../src/state/view";
import { bench, HEADS, hello, LAYERS, overviewOf, pack, settled, TOKENS } from "./fake";

type Values = Record<string, number>;

const NAMES = ["previous", "next", "self", "first", "separator", "entropy", "k90"];
const overview = (values: Values, tokens = TOKENS, more: Partial<Overview> = {}): Overview => ({
  ...decodeOverview(overviewOf(tokens)),
  stats: NAMES,
  statistic: (_layer, _head, name) => values[name] ?? Number.NaN,
  ...more,
});
const said = (values: Values, ...more: [string[]?, Partial<Overview>?]) =>
  sentenceText(sentenceOf(overview(values, ...more), 1, 2));

const NOWHERE = { previous: 0.05, next: 0.05, self: 0.05, first: 0.05, separator: 0.09, entropy: 2, k90: 14.25 };

describe("all heads together", () => {
  const heads: HeadName[] = Array.from({ length: LAYERS * HEADS }, (_, n) => [Math.floor(n / HEADS), n % HEADS]);
  const said = (of: (n: number) => Values, even: Values, more: Partial<Overview> = {}, some = heads) =>
    describeAll(
      {
        ...decodeOverview(overviewOf(TOKENS)),
        statistic: (l, h, name) => of(l * HEADS + h)[name] ?? Number.NaN,
        even: (_l, _h, name) => even[name] ?? Number.NaN,
        ...more,
      },
      some,
    );
  const EVEN = { special: 0.1429, first: 0.07, previous: 0.066, next: 0.066 };
  it("are counted by the half of their weight, with what even rows would give", () => {
    const rows = (n: number): Values => ({
      special: n < 3 ? 0.5 : 0.49,
      previous: n === 4 ? 0.9 : 0.1,
      next: n === 5 ? 0.5 : 0.2,
    });
    const [names, n] = [specialNames(decodeOverview(overviewOf(TOKENS))).replace(", ", " and "), heads.length];
    expect(said(rows, EVEN)).toBe(
      `3 of ${n} rest on ${names} (half or more; evenly 0.14), 2 look at a neighbour (0.07).`,
    );
    expect(said(rows, {}, {}, heads.slice(4))).toBe(
      `None of ${n - 4} rests on ${names} (half or more), 2 look at a neighbour.`,
    );
  });
  it("are not told where half is hardly more than even, where some are to come, and where there is one", () => {
    const rows = () => ({ special: 0.8, previous: 0.1, next: 0.1 });
    expect(said(rows, EVEN)).toMatch(/^\d+ of \d+ rest/);
    expect(said(rows, { ...EVEN, special: 0.3 })).toBe("");
    expect(said(rows, EVEN, { pending: [1] })).toBe("");
    expect(said(rows, EVEN, {}, heads.slice(0, 1))).toBe("");
  });
  it("rest on the first word where the template has no tokens", () => {
    const plain = decodeOverview(overviewOf(["so", "it", "goes", "on"]));
    const side = { ...plain.queries, special: [0, 0, 0, 0] };
    const words = said(() => ({ first: 0.6, previous: 0, next: 0 }), EVEN, { ...plain, queries: side, keyside: side });
    expect(words).toContain("rest on the first word, “so” (half or more");
  });
});

describe("where a head looks", () => {
  it("is said of the largest share first, and of one more", () => {
    const values = { previous: 0.12, next: 0.61, self: 0.099, first: 0.2, separator: 0.1, entropy: 1.234 };
    expect(said(values)).toBe("L1·H2 looks at the next word (61 %); 20 % rests on [CLS].");
    const { more } = sentenceOf(overview(values), 1, 2);
    expect(more).toEqual([
      "12 % goes to the previous word",
      "entropy 1.2 nats",
      "by weight, mean over all rows",
      "named is what gets 10 % or more, and twice what even rows would give, or that and half of the rest",
    ]);
  });
  it.each([
    [{ next: 0.5 }, "L1·H2 looks at the next word (50 %)."],
    [{ next: 0.49 }, "L1·H2 looks partly at the next word (49 %)."],
    [{ previous: 0.1 }, "L1·H2 looks partly at the previous word (10 %)."],
    [{ self: 1 }, "L1·H2 looks at the word itself (100 %)."],
    [{ first: 0.7, self: 0.2 }, "L1·H2 looks partly at the word itself (20 %); 70 % rests on [CLS]."],
    [{ separator: 0.3 }, "L1·H2 rests partly on [SEP] (30 %)."],
  ])("%j", (values, sentence) => {
    expect(said({ ...NOWHERE, ...values })).toBe(sentence);
  });
  it("names no shares that add up to more than all: where one cell counts for two of them, the larger stays", () => {
    expect(said({ previous: 0.6, first: 0.55, self: 0.35, entropy: 1 })).toBe(
      "L1·H2 looks at the previous word (60 %); 35 % goes to the word itself.",
    );
    expect(said({ previous: 0.5, first: 0.5, entropy: 1 })).toContain("50 % rests on [CLS]");
  });
  it("is no place where none holds a tenth: then it says how many words hold nine tenths of a row", () => {
    expect(said(NOWHERE)).toBe("L1·H2 spreads over about 14 words.");
    expect(said({ ...NOWHERE, k90: 1234.4 })).toBe("L1·H2 spreads over about 1,234 words.");
    expect(said({ ...NOWHERE, k90: 2.2 })).toBe("L1·H2 picks about 2 words at a time.");
    expect(said({ ...NOWHERE, k90: 1.2 })).toBe("L1·H2 picks about 1 word at a time.");
  });
  it("names words that all rows look at, by the mean over rows, [CLS] and separators apart", () => {
    const row = [0.05, 0.05, 0.4, 0.3, 0.2];
    const weights = heldCells(Float32Array.from([row, row, row, row, row].flat()), 5);
    const of = (values: Values, tokens = TOKENS) =>
      sentenceText(sentenceOf(overview({ ...NOWHERE, ...values }, tokens), 0, 0, weights));
    expect(of({})).toBe("L0·H0 looks partly at “cat” (40 %); 30 % goes to “sat”.");
    expect(of({ next: 0.5 })).toBe("L0·H0 looks at the next word (50 %); 40 % goes to “cat”.");
    expect(of({}, ["[CLS]", "cat", "cat", "sat", "[SEP]"])).toContain("at “cat” (2) (40 %)");
  });
  it("is said of a token by the name that it has here", () => {
    const shares = { ...NOWHERE, next: 0.6, first: 0.2 };
    expect(said(shares, ["The", "cat", "sat"])).toBe(
      "L1·H2 looks at the next word (60 %); 20 % goes to the first word, “The”.",
    );
    expect(said({ ...NOWHERE, first: 0.9 }, ["\u202e", "b"])).toBe("L1·H2 looks at the first word, “⟨U+202E⟩” (90 %).");
    const split = decodeOverview(overviewOf(["[CLS]", "un", "##told", "[SEP]"])).queries;
    split.words = [-1, 0, 0, -1];
    const ofPieces = { queries: split, keyside: split };
    expect(said(shares, TOKENS, ofPieces)).toContain("looks at the next token (60 %)");
    const patches = { rows: 2, cols: 2, tokens: [1, 2, 3, 4], picture: null };
    expect(said({ ...NOWHERE, next: 0.6 }, TOKENS, { patches })).toContain("looks at the next patch (60 %)");
  });
});

describe("beside what the length gives", () => {
  /** Rows of a model that looks at all alike, or, causal, at all that is not ahead: counted here, cell by cell. */
  function evenly(tokens: string[], causal = false): Values {
    const rows = tokens.map((_, i) =>
      tokens.map((__, j) => (causal && j > i ? 0 : 1 / (causal ? i + 1 : tokens.length))),
    );
    const mean = (of: (i: number, j: number) => boolean) =>
      rows.reduce((sum, row, i) => sum + row.reduce((s, one, j) => (of(i, j) ? s + one : s), 0), 0) / tokens.length;
    return {
      ...{ previous: mean((i, j) => j === i - 1), next: mean((i, j) => j === i + 1), self: mean((i, j) => i === j) },
      ...{ first: mean((_, j) => j === 0), separator: mean((_, j) => tokens[j] === "[SEP]"), entropy: 1 },
      k90: Math.ceil(0.9 * tokens.length - 1e-6),
    };
  }
  const pair = ["[CLS]", "it", "was", "[SEP]", "the", "cat", "sat", "here", "[SEP]"];
  const short = ["[CLS]", "cat", "[SEP]"];
  const of = (tokens: string[], values: Values, causal = false) => {
    const even = evenly(tokens, causal);
    return said({ ...even, ...values }, tokens, { even: (_l, _h, name) => even[name]! });
  };
  it("an even row has no favourite: of a pair of nine tokens both [SEP] have 22 %, of three tokens each has 33 %", () => {
    expect(evenly(pair).separator).toBeCloseTo(2 / 9);
    expect(of(pair, {})).toBe("L1·H2 spreads over about 9 words.");
    expect(of(pair, { separator: 0.43, k90: 7.6 })).toBe("L1·H2 spreads over about 8 words.");
    expect(of(pair, { separator: 0.45 })).toBe("L1·H2 rests partly on [SEP] (45 %).");
    expect(of(pair, { next: 0.21 })).toBe("L1·H2 looks partly at the next word (21 %).");
    expect(of(short, {})).toBe("L1·H2 spreads over about 3 words.");
    expect(of(short, { separator: 0.6, k90: 2.4 })).toBe("L1·H2 spreads over about 2 words.");
    expect(of(short, { separator: 0.7, k90: 2 })).toBe("L1·H2 rests on [SEP] (70 %).");
    expect(of(["[CLS]", "[SEP]"], { first: 0.9, separator: 0.1, k90: 1 })).toBe("L1·H2 rests on [CLS] (90 %).");
    expect(of(["[CLS]", "[SEP]"], { first: 1, separator: 0, k90: 1 })).toBe("L1·H2 rests on [CLS] (100 %).");
  });
  it("rows that do not look ahead give the first word more", () => {
    const words = "a b c d e f g h i".split(" ");
    expect(of(words, {}, true)).toBe("L1·H2 spreads over about 9 words."); // of which the first has 31 %
    expect(of(words, { first: 0.6 }, true)).not.toContain("first");
    expect(of(words, { first: 0.64 }, true)).toBe("L1·H2 looks at the first word, “a” (64 %).");
  });
  it("is told for who asks, with the rule; words that all look at are beside it too", () => {
    const even = evenly(pair);
    const values = { ...even, separator: 0.5 };
    const known = overview(values, pair, { even: (_l, _h, name) => even[name]! });
    expect(sentenceOf(known, 1, 2).more.at(-2)).toBe("by weight, mean over all rows; even rows would give [SEP] 22 %");
    const row = (most: number) => pair.map((_, j) => (j === 5 ? most : (1 - most) / 8));
    const told = (most: number) =>
      sentenceText(
        sentenceOf(
          { ...known, statistic: (_l, _h, name) => even[name]! },
          0,
          0,
          heldCells(Float32Array.from(pair.flatMap(() => row(most))), 9),
        ),
      );
    expect(told(0.21)).toBe("L0·H0 spreads over about 9 words.");
    expect(told(0.23)).toBe("L0·H0 looks partly at “cat” (23 %).");
  });
});

describe("a head of which there is little to say", () => {
  it("is not a number, or not computed yet", () => {
    expect(said({})).toBe("L1·H2 is not a number: its attention holds NaN or infinity.");
    expect(said(NOWHERE, TOKENS, { pending: [1] })).toBe("L1·H2 is not computed yet.");
  });
  it("sees one token alone", () => {
    expect(said({ self: 1, first: 1, entropy: 0 }, ["[CLS]"])).toBe(
      "L1·H2 sees one word: there is no other to look at.",
    );
  });
  it("leaves out what does not exist for this map", () => {
    expect(said({ first: 0.5, entropy: 1 })).toBe("L1·H2 rests on [CLS] (50 %).");
  });
  it("is sorted by those statistics only that there are", () => {
    expect(statistics(overview({ previous: 0, entropy: 1 }))).toEqual(["previous", "entropy"]);
    expect(statistics(overview({}, TOKENS, { nan_layer: 0 }))).toHaveLength(NAMES.length); // some heads have them
  });
});

describe("by the measure shown", () => {
  const NORM_NAMES = [...NAMES, "variation"];
  const NORMS = { ...NOWHERE, first: 0.64, next: 0.2, variation: 0.184 };
  const WEIGHTS = { ...NOWHERE, next: 0.59, first: 0.31 };
  async function shown(measure: Measure, norms: Values = NORMS, changes: unknown[] = []) {
    const b = bench(overviewOf(TOKENS, { measures: ["weight", "norm", "difference"], changes }), { measure });
    const view = createView(b.store, signal(false));
    const all = { ...view, overview: overview(WEIGHTS, TOKENS, { changes: view.overview.changes }) };
    const tell = () => sentenceText(sentences(all, measure)(1, 2));
    const before = tell();
    await hello(b);
    const asked = b.model.asked.find(({ message }) => message.op === "statistics");
    const count = LAYERS * HEADS;
    const stats = Float32Array.from({ length: count * NORM_NAMES.length }, (_, n) => norms[NORM_NAMES[n % 8]!]!);
    const { index, data } = pack({
      stats: { shape: [LAYERS, HEADS, NORM_NAMES.length], data: stats },
      received: { shape: [LAYERS, HEADS, 5], data: new Float32Array(count * 5) },
    });
    asked?.give({ names: NORM_NAMES, arrays: index }, [data]);
    await settled();
    return { before, after: tell() };
  }
  const BY_WEIGHT = "L1·H2 looks at the next word (59 %); 31 % rests on [CLS].";
  it("a weight looks", async () => {
    expect((await shown("weight")).after).toBe(BY_WEIGHT);
  });
  it("a norm takes; before the norms are here the weights are said, as weights", async () => {
    const { before, after } = await shown("norm");
    expect(before).toBe(BY_WEIGHT);
    expect(after).toBe("L1·H2 takes partly from the next word (20 %); 64 % comes from [CLS].");
  });
  it("a norm of no place", async () => {
    expect((await shown("norm", { ...NORMS, first: 0, next: 0 })).after).toBe(
      "L1·H2 takes from about 14 words at a time.",
    );
  });
  it("a difference says how much is taken elsewhere, and where nothing is that they agree", async () => {
    expect((await shown("difference")).after).toBe(
      "L1·H2 looks at the next word (59 %); 18 % of what it takes comes from elsewhere.",
    );
    expect((await shown("difference", { ...NORMS, variation: 0.004 })).after).toBe(
      "L1·H2 looks at the next word (59 %); weight and norm agree here.",
    );
  });
  it("a head that is switched off looks, and passes nothing on", async () => {
    const off = { id: 1, label: "", about: "", code: "", off: [1, 2] };
    expect((await shown("weight", NORMS, [off])).after).toBe(
      "L1·H2 is switched off: it looks at the next word (59 %) and passes nothing on; 31 % rests on [CLS].",
    );
    const other = { ...off, off: [1, 3] };
    expect((await shown("weight", NORMS, [other])).after).toBe(BY_WEIGHT);
  });
});

describe("names", () => {
  it("of special tokens are those of the text, each once", () => {
    const side = (tokens: string[], special: number[]) => ({ ...overview({}).keyside, tokens, special });
    const bert = side(["[CLS]", "a", "[SEP]", "b", "[SEP]"], [1, 0, 1, 0, 1]);
    expect(specialNames({ queries: bert, keyside: bert })).toBe("[CLS], [SEP]");
    expect(separatorNames(bert)).toBe("[SEP]");
    const roberta = side(["<s>", "a", "</s>", "</s>", "b", "</s>"], [1, 0, 1, 1, 0, 1]);
    expect(specialNames({ queries: roberta, keyside: roberta })).toBe("<s>, </s>");
    const gpt = side(["a", "b"], [0, 0]);
    expect(specialNames({ queries: gpt, keyside: gpt })).toBe("");
    expect(specialNames({ queries: gpt, keyside: roberta })).toBe("<s>, </s>");
  });
  it("of tokens are words unless one was split or named runs say otherwise", () => {
    expect(nounOf(overview({}))).toBe("word");
    expect(nounOf(overview({}, TOKENS, { spans: [["S", 0, 3]] }))).toBe("token");
    expect([plural("word"), plural("patch"), plural("word", 1)]).toEqual(["words", "patches", "word"]);
  });
});
