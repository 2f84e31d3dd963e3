// What the Why tab says of a split, for every case: more or less, against one key, nothing to compare, a part tried.

import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { SCORE_TERMS } from "../src/generated/vocabulary";
import { createView } from "../src/state/view";
import type { Part, Split } from "../src/state/whystate";
import {
  cancelWords,
  exactWords,
  moreWords,
  scoreWords,
  sumWords,
  triedWords,
  whereWords,
} from "../src/tabs/why/splitwords";
import { bench, overviewOf, TOKENS } from "./fake";

const view = createView(bench(overviewOf(TOKENS)).store, signal(false));
const SPLIT: Split = {
  ...{ layer: 2, head: 1, query: 3, key: 2, total: 3.73, model: 3.73, gap: 3e-7, notes: [] },
  ...{ side: "query", against: "others", through_mlps: false, weight: 0.415, other_weight: 0.1, seen: 5 },
  ...{ ratio: 41.6, spread: 3, absolute: 11.2, others: { count: 0, value: 0 }, largest: [], heads: null, mlps: null },
  kinds: [
    ["word", -0.5],
    ["mlp", 1.46],
    ["bias", 1.05],
  ],
};
const more = (change: Partial<Split>) => moreWords(view, { ...SPLIT, ...change });
const MEAN = "at a token with the mean score of the other 4 (geometric mean of their weights)"; // of 5 that it sees
const AT = "In L2·H1, “sat” looks at “cat”";

describe("how much more it looks there", () => {
  it.each<[Partial<Split>, string]>([
    [{}, `42 times as much as ${MEAN}.`],
    [{ ratio: 1234.5 }, `1,200 times as much as ${MEAN}.`],
    [{ ratio: 0.31 }, `only 0.31 times as much as ${MEAN}.`],
    [{ ratio: null, total: 0.02 }, `about as much as ${MEAN}.`],
    [{ ratio: 2e5 }, `over 100,000 times as much as ${MEAN}.`],
    [{ ratio: 2e-5 }, `less than a ten-thousandth as much as ${MEAN}.`],
    [{ against: 1 }, "42 times as much as at “the”."],
    [{ seen: 2 }, "42 times as much as at the other one."],
    [{ against: null, ratio: null }, "with a score of 3.73."],
  ])("%j", (change, words) => {
    expect(more(change)).toBe(`${AT} ${words}`);
  });
  it("is said exactly for who asks", () => {
    expect(exactWords(view, SPLIT)).toBe(
      "e^3.73 ≈ 41.6 times the geometric mean of its weights on the other 4 tokens; weight 0.415; plain mean of the other 4: 0.100.",
    );
    expect(exactWords(view, { ...SPLIT, ratio: 2e5 })).toMatch(/^e\^3\.73 times the geometric mean/);
    expect(exactWords(view, { ...SPLIT, against: null, other_weight: null })).toBe(
      "The raw score, nothing subtracted; weight 0.415.",
    );
    expect(scoreWords(view, SPLIT)).toBe(`${AT} with a score of 3.73.`);
  });
});

describe("where it comes from", () => {
  it("is the largest part of its sign", () => {
    expect(whereWords(SPLIT)).toBe("The largest part comes from the MLPs: 1.46 of 3.73.");
    expect(whereWords({ ...SPLIT, total: -0.4 })).toBe(
      "The word embedding alone would make −0.50; the other parts bring it up to −0.40.",
    );
    expect(whereWords({ ...SPLIT, total: 0.9 })).toBe(
      "The MLPs alone would make 1.46; the other parts bring it down to 0.90.",
    );
    expect(whereWords({ ...SPLIT, total: -2 })).toBe("The largest part comes from the word embedding: −0.50 of −2.00.");
    const head = (value: number) => ({ kind: "head", layer: 4, head: 0, value, token: null, fetched: null });
    const kinds: Split["kinds"] = [
      ["bias", 1.35],
      ["head", 0.9],
    ];
    expect(whereWords({ ...SPLIT, kinds, largest: [head(-0.9), head(0.52)] })).toBe(
      "The largest part comes from the biases: 1.35 of 3.73. Of earlier heads, most comes from L4·H0: 0.52.",
    );
    expect(whereWords({ ...SPLIT, spread: null })).toBe("Its parts cancel: next to nothing is left.");
  });
  it("says what a family adds to q·k, each term with its own reason", () => {
    const kinds = (kind: string): Split["kinds"] => [
      ["word", 0.4],
      [kind, 3.33],
    ];
    const because = (kind: string, change: Partial<Split> = {}) =>
      whereWords({ ...SPLIT, kinds: kinds(kind), ...change });
    expect(because("relative position")).toBe(
      "The largest part comes from the relative position: 3.33 of 3.73, because of where the key stands relative to the query, whatever the two are.",
    );
    expect(because("layout", { total: 2 })).toBe(
      "The layout alone would make 3.33, because of where the two stand on the page; the other parts bring it down to 2.00.",
    );
    for (const kind of SCORE_TERMS) expect(because(kind)).toMatch(/, because of /);
    expect(because("bias")).not.toContain("because");
  });
  it("adds up, or says that it does not", () => {
    expect(sumWords({ total: 3.72921, model: 3.72924 })).toBe("The parts add up to the model’s own 3.7292.");
    expect(sumWords({ total: 3.7292, model: 3.7301 })).toBe("The parts add up to 3.7292; the model’s own is 3.7301.");
  });
  it("says how much cancels", () => {
    expect(cancelWords(SPLIT)).toBe("Some cancel: without their signs the parts add up to 3.0 times as much.");
    expect(cancelWords({ ...SPLIT, spread: 1.02 })).toBe("Hardly any of it cancels.");
    expect(cancelWords({ ...SPLIT, spread: null, absolute: 1.5, total: 0.02 })).toBe(
      "Without their signs the parts add up to 1.50, with them to 0.02.",
    );
  });
});

describe("a part tried", () => {
  const part: Part = { kind: "mlp", layer: 4, head: null, value: 1.19, token: null, fetched: null };
  it.each<[number, Partial<Split>, number, string]>([
    [
      5.4,
      {},
      1.19,
      "MLP of layer 4 adds 1.19. Switched off, the lead rises from 3.73 to 5.40: later parts change too.",
    ],
    [2, {}, 1.19, "MLP of layer 4 adds 1.19. Switched off, the lead falls from 3.73 to 2.00: later parts change too."],
    [2.54, {}, 1.19, "MLP of layer 4 adds 1.19. Switched off, the lead falls from 3.73 to 2.54, as the split says."],
    [
      4.92,
      {},
      -1.19,
      "MLP of layer 4 takes away 1.19. Switched off, the lead rises from 3.73 to 4.92, as the split says.",
    ],
    [3.731, {}, 0.001, "MLP of layer 4 adds 0.00. Switched off, the lead stays 3.73, as the split says."],
    [3.731, {}, 1.19, "MLP of layer 4 adds 1.19. Switched off, the lead stays 3.73: later parts make up for it."],
    [
      2,
      { against: null },
      1.19,
      "MLP of layer 4 adds 1.19. Switched off, the score falls from 3.73 to 2.00: later parts change too.",
    ],
  ])("%f %j %f", (after, change, value, words) => {
    expect(triedWords({ ...SPLIT, ...change }, { ...part, value }, after)).toBe(`In the split, ${words}`);
  });
});
