// What is said of a cell, of a row and of how the picture is read: true for every measure, filter, mask and length.

import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { statusText } from "../src/frame/statusline";
import type { Traits } from "../src/generated/vocabulary";
import { headingWords, howWords, meanHeading, mostWords } from "../src/head/cellwords";
import { shadesInWords, shadesOf } from "../src/head/running";
import { createView, type View } from "../src/state/view";
import { bench, floats, headAnswer, overviewOf, settled, TOKENS } from "./fake";

// [CLS] the cat sat [SEP]
const WEIGHTS = [
  [0.2, 0.2, 0.2, 0.2, 0.2],
  [0.1, 0.1, 0.5, 0.2, 0.1],
  [0.1, 0.5, 0.1, 0.2, 0.1],
  [0.4, 0.1, 0.3, 0.2, 0],
  [1, 0, 0, 0, 0],
];
const [THE, CAT, SAT] = [1, 2, 3];

interface Options {
  weights?: number[][];
  tokens?: string[];
  norms?: number[]; // ‖f(x)‖ of the head shown
  map?: { said_as: string; values: number[][] };
  dark?: boolean;
  mask?: string; // of a head with queries and keys
  overview?: Record<string, unknown>;
}

/** A view of given weights, with what its measure and its map need. */
async function viewOf(more: Partial<Traits> = {}, options: Options = {}): Promise<View> {
  const { weights = WEIGHTS, tokens = TOKENS, norms, map, mask, dark = false, overview = {} } = options;
  const data = Float32Array.from(weights.flat());
  const b = bench(
    overviewOf(tokens, {
      inputs: { attention: { shape: [weights.length, weights[0]!.length], data } },
      measures: ["weight", "norm", "difference"],
      layer_maps: map ? [{ name: "mine", label: "Mine", about: "", symbol: "M", said_as: map.said_as }] : [],
      ...overview,
    }),
    { ...more, layer_map: map ? "mine" : "", layer: mask ? 1 : 0 },
  );
  const S = tokens.length;
  const masked = (answer: ReturnType<typeof headAnswer>) =>
    mask ? { ...answer, fields: { ...answer.fields, mask } } : answer;
  await b.drain(({ op, layer, head }) =>
    op === "norms"
      ? floats("norms", [4, S], Float32Array.from([...norms!, ...norms!, ...norms!, ...norms!]))
      : op === "layer_map"
        ? floats("values", [S, S], Float32Array.from(map!.values.flat()))
        : masked(headAnswer(tokens, Number(layer), Number(head))),
  );
  await settled();
  return createView(b.store, signal(dark));
}

/** What is said of it where nothing else is asked. */
const said = async (...asked: Parameters<typeof viewOf>) => statusText(await viewOf(...asked));

describe("a cell", () => {
  it.each([
    [THE, CAT, "“the” gives “cat” 0.500 of its attention, more than any other word. "],
    [THE, SAT, "“the” gives “sat” 0.200 of its attention; only “cat” gets more. "],
    [SAT, SAT, "“sat” gives “sat” 0.200 of its attention; 2 words get more. "],
    [0, CAT, "“[CLS]” gives “cat” 0.200 of its attention; no word gets more. "],
  ])("of weights: %i, %i", async (query, key, words) => {
    expect(await said({ query, key })).toBe(`${words}Spread evenly it would be 0.200.`);
  });
  it("where special tokens are hidden, of the words shown alone", async () => {
    const hidden = { hide_special: true };
    expect(await said({ query: SAT, key: CAT, ...hidden })).toBe(
      "“sat” gives “cat” 0.300 of its attention, more than any other word shown. Spread evenly it would be 0.200.",
    );
    expect(await said({ query: SAT, key: SAT, ...hidden })).toContain("; of the words shown only “cat” gets more.");
    expect(await said({ query: SAT, key: THE, ...hidden })).toContain("; 2 words shown get more.");
    expect(await said({ query: SAT, key: CAT, ...hidden, renormalize: true })).toBe(
      "“sat” gives “cat” 0.500 of its attention to what is shown, more than any other word shown.",
    );
  });
  it("where pieces are merged, of words, with the even part of all their pieces", async () => {
    const tokens = ["[CLS]", "un", "##told", "cat", "[SEP]"];
    const side = {
      tokens,
      words: [-1, 0, 0, 1, -1],
      segments: [0, 0, 0, 0, 0],
      special: [1, 0, 0, 0, 1],
      continuation: "##",
    };
    const merged = { units: "words" as const, query: 3, key: 1 };
    expect(await said(merged, { tokens, overview: { queries: side } })).toBe(
      "“cat” gives “untold” 0.400 of its attention; no word gets more. Spread evenly it would be 0.400.",
    );
    expect(await said({ ...merged, units: "pieces" }, { tokens, overview: { queries: side } })).toContain(
      "3 tokens get more",
    );
  });
  it("that a model cannot see, and the even part of those that it can", async () => {
    const causal = { mask: "causal" };
    expect(await said({ query: THE, key: SAT }, causal)).toBe("“the” cannot look at “sat”: the model does not let it.");
    expect(await said({ query: THE, key: 0 }, causal)).toMatch(
      / Spread evenly over all that it may look at, it would be 0\.500\.$/,
    );
  });
  it("that is no number, and one alone", async () => {
    const broken = WEIGHTS.map((row) => row.map(() => Number.NaN));
    expect(await said({ query: 1, key: 2 }, { weights: broken })).toBe("“the” and “cat” have no number here.");
    expect(await said({ query: 0, key: 0 }, { weights: [[1]], tokens: ["[CLS]"] })).toBe(
      "“[CLS]” gives “[CLS]” 1.000 of its attention. Spread evenly it would be 1.000.",
    );
  });
  it("of norms", async () => {
    const norms = [0.1, 1, 2, 3, 1]; // of “sat”: .04 .1 .6 .6 0
    const of = (query: number, key: number) => said({ query, key, measure: "norm" }, { norms });
    expect(await of(THE, CAT)).toBe("“the” takes 1.000 from “cat”, more than from any other word.");
    expect(await of(THE, SAT)).toBe("“the” takes 0.600 from “sat”, and more only from “cat”.");
    expect(await of(SAT, THE)).toBe("“sat” takes 0.100 from “the”, and more from 2 words.");
  });
  it("of differences", async () => {
    const of = (query: number, key: number, norms: number[]) => said({ query, key, measure: "difference" }, { norms });
    const norms = [0, 1, 1, 1, 1]; // nothing of [CLS] is passed on
    expect(await of(SAT, 0, norms)).toBe("“sat” looks at “[CLS]” more than it takes from it: +0.400.");
    expect(await of(SAT, CAT, norms)).toBe("“sat” takes from “cat” more than it looks at it: −0.200.");
    expect(await of(SAT, CAT, [1, 1, 1, 1, 1])).toBe("“sat” looks at “cat” as much as it takes from it.");
  });
  it.each([
    ["weight", "L0 Mine: “the” gives “cat” 0.500 of its attention, more than any other word."],
    ["norm", "L0 Mine: “the” takes 0.500 from “cat”, more than from any other word."],
    ["", "L0 Mine: 0.500 for “the” and “cat”."],
  ])("of a map of a layer that is told as %j", async (said_as, words) => {
    expect(await said({ query: THE, key: CAT }, { map: { said_as, values: WEIGHTS } })).toBe(words);
  });
});

describe("a row or a column", () => {
  it("has no cell that is most where all are alike, and says what chance gives where one is hardly more", async () => {
    expect(await said({ query: 0 })).toBe("“[CLS]” looks at all alike, 0.200 each.");
    const even = WEIGHTS.map((row) => row.map(() => 0.2));
    expect(await said({ key: CAT }, { weights: even })).toBe("all look at “cat” alike, 0.200 each.");
    const norms = [1, 1, 1, 1, 1];
    expect(await said({ query: 0, measure: "norm" }, { norms })).toBe("“[CLS]” takes from all alike, 0.200 each.");
    expect(await said({ query: SAT })).toMatch(/^“sat” looks most at “\S+”, 0\.\d+\./);
    const hardly = even.map((row) => row.map((_, j) => (j === CAT ? 0.3 : 0.175)));
    expect(await said({ query: SAT }, { weights: hardly })).toBe(
      "“sat” looks most at “cat”, 0.300. Spread evenly it would be 0.200.",
    );
  });
  it("of weights", async () => {
    expect(await said({ query: THE })).toBe("“the” looks most at “cat”, 0.500.");
    expect(await said({ key: CAT })).toBe("“cat” is looked at most by “the”, 0.500.");
    expect(await said({ query: 4, hide_special: true })).not.toContain("0.000");
    expect(await said({ key: 4, hide_special: false }, { weights: WEIGHTS.map((r) => [...r.slice(0, 4), 0]) })).toBe(
      "Nothing shown looks at “[SEP]”.",
    );
  });
  it("of norms and of differences", async () => {
    const norms = [0, 1, 1, 1, 1];
    expect(await said({ query: SAT, measure: "norm" }, { norms })).toBe("“sat” takes most from “cat”, 0.300.");
    expect(await said({ key: CAT, measure: "norm" }, { norms })).toBe("from “cat”, “the” takes most, 0.500.");
    expect(await said({ query: SAT, measure: "difference" }, { norms })).toBe(
      "“sat” differs most at “[CLS]”: it looks there more than it takes, +0.400.",
    );
    expect(await said({ key: CAT, measure: "difference" }, { norms })).toMatch(
      /^At “cat”, “sat” differs most: it takes there more than it looks, −0\.200\.$/,
    );
  });
  it("in words with several numbers, for a file", async () => {
    const view = await viewOf({ query: THE });
    expect(shadesInWords(view, shadesOf(view, false)!)).toBe(
      "“the” looks at: cat 0.500, sat 0.200, [CLS] 0.100, the 0.100, [SEP] 0.100",
    );
    expect(shadesInWords(view, shadesOf(view, true)!)).toMatch(/^who looks at “cat”: the 0\.500, /);
  });
  it("is never told of a map of a layer as what it is not", async () => {
    const view = await viewOf({ query: THE }, { map: { said_as: "", values: WEIGHTS } });
    expect(statusText(view)).toBe("L0 Mine: “the” has its largest number with “cat”, 0.500.");
    expect(headingWords(view.shownHead, "the", false).join("")).toBe("row of the");
    expect(headingWords(view.shownHead, "the", true).join("")).toBe("column of the");
    expect(meanHeading(view)).toBe("mean over the rows");
    expect(mostWords(view, shadesOf(view, true)!)).toContain("largest number");
  });
});

describe("how the picture is read", () => {
  const ROWS = "Each row is a word that looks, each column a word looked at.";
  it("where the row adds up to 1, where it does not, and why", async () => {
    expect(await said()).toBe(`${ROWS} Dark = much. A row adds up to 1. Click a cell.`);
    expect(await said({}, { dark: true })).toBe(`${ROWS} Bright = much. A row adds up to 1. Click a cell.`);
    expect(await said({ hide_special: true })).toBe(
      `${ROWS} Dark = much. A row adds up to 1 with the words not shown. Click a cell.`,
    );
    expect(await said({ hide_special: true, renormalize: true })).toContain("A row adds up to 1. Click");
    const sink = { weights: WEIGHTS.map((row) => row.map((one) => one / 2)) };
    expect(await said({}, sink)).toBe(`${ROWS} Dark = much. Click a cell.`);
  });
  it("by measure", async () => {
    const norms = [1, 1, 1, 1, 1];
    expect(await said({ measure: "norm" }, { norms })).toBe(
      "Each row is a word that takes, each column a word taken from. Dark = much. Click a cell.",
    );
    expect(await said({ measure: "difference" }, { norms })).toBe(
      "Each row is a word that looks and takes, each column a word looked at. Blue: looks more than it takes. Orange: takes more than it looks. Click a cell.",
    );
    expect(await said({}, { map: { said_as: "", values: WEIGHTS } })).toBe(
      "Each row and each column is a word. Dark = much.",
    );
    expect(await said({}, { map: { said_as: "norm", values: WEIGHTS } })).toContain("a word that takes, ");
  });
  it("by form", async () => {
    expect(await said({ mode: "lines" })).toBe(
      "Left the words that look, right those looked at. Strong = much. Click a word.",
    );
    expect(await said({ mode: "text" })).toBe(
      "Each word is shaded by how much the framed one looks at it. Dark = much.",
    );
    const to = await viewOf({ mode: "text" });
    to.page.textSide.value = "to";
    expect(howWords(to)).toBe("Each word is shaded by how much it looks at the framed one. Dark = much.");
  });
  it("of patches, and of nothing", async () => {
    const patches = { rows: 2, cols: 2, tokens: [1, 2, 3, 4], picture: null };
    expect(await said({}, { overview: { patches } })).toContain("Each row is a patch that looks");
    expect(await said({ hide_special: true }, { weights: [[1]], tokens: ["[CLS]"] })).toBe(
      "No tokens are left to show.",
    );
  });
});

it("says of a cell without attention where the attention goes, and no number that is not shown", async () => {
  expect(await said({ query: SAT, key: 4 })).toMatch(
    /^“sat” does not look at “\[SEP\]” here; most goes to “\[CLS\]”\./,
  );
  expect(await said({ query: SAT, key: CAT })).toContain("0.300");
});
