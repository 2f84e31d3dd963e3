// @vitest-environment happy-dom
// Which words the answer rests on: its sentences, its numbers, its file; nothing is run before it is opened.
import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, it } from "vitest";
import { createView, ViewContext } from "../src/state/view";
import {
  type Attributed,
  type FaithfulRow,
  faithWords,
  legendWords,
  restsOn,
  withWords,
  writer,
} from "../src/tabs/matter/answerwords";
import { WhichWords } from "../src/tabs/matter/whichwords";
import { bench, hello, overviewOf, pack, settled } from "./fake";

const WORDS = ["[CLS]", "not", "it", "it", "[SEP]"];
const N = Number.NaN;
const overviewWith = (more = {}) => createView(bench(overviewOf(WORDS, more)).store, signal(false)).overview;
const CHANGED = { changes: [{ id: 0, label: "L2·H2 off", about: "", off: [2, 2], code: "whatif.off(2, 2)" }] };

const found = (values: number[], more: Partial<Attributed> = {}) => ({
  ...{ attribution: "occlusion", label: "logit of “cat”", kind: "words", unit: "logits", signed: true },
  ...{ removal: "mask", why_not: "", runs: 126, removable: [3] },
  ...more,
  values: Float64Array.from(values),
});
const said = (values: number[], more: Partial<Attributed> = {}, overview = overviewWith()) =>
  restsOn(found(values, more), overview);

describe("the sentence", () => {
  it("names what raises the number most, and what lowers it more", () => {
    expect(said([N, 0.31, 0.12, -0.2, N])).toBe(
      "The logit of “cat” rests most on “not” (+0.310) and “it” (2) (+0.120), by occlusion.",
    );
    expect(said([N, -0.42, 0.12, 0.3, N])).toBe(
      "The logit of “cat” rests most on “it” (3) (+0.300) and “it” (2) (+0.120); “not” (−0.420) counts against it, by occlusion.",
    );
    expect(said([N, 0.31, -0.1, 0, N])).toBe("The logit of “cat” rests most on “not” (+0.310), by occlusion.");
  });
  it("says where nothing raises it, or nothing does anything", () => {
    expect(said([N, -0.42, -0.12, 0, N])).toBe(
      "No token raises the logit of “cat”; “not” (−0.420) lowers it most, by occlusion.",
    );
    expect(said([N, 0, 0, 0, N])).toBe("No token changes the logit of “cat”, by occlusion.");
    expect(said([N, N, N, N, N])).toBe("No token changes the logit of “cat”, by occlusion.");
  });
  it("tells flows without a sign", () => {
    const flow = { attribution: "attention × gradient", signed: false };
    expect(said([0.01, 0.08, 0.02, 0, 0.03], flow)).toBe(
      "The logit of “cat”: most flows to it from “not” (0.080) and “[SEP]” (0.030), by attention × gradient.",
    );
  });
  it("is of what this model answers with", () => {
    const vector = { kind: "embedding", label: "cosine with the embedding before", unit: "cosine" };
    expect(said([N, 0.2, 0, 0, N], vector)).toMatch(/^The text’s vector rests most on “not” \(\+0.200\)/);
    expect(said([N, 0.2, 0, 0, N], vector, overviewWith(CHANGED))).toMatch(/^The cosine with the vector before rests/);
    const span = { kind: "span", label: "start and end logits of “the cat”" };
    expect(said([N, 0.2, 0, 0, N], span)).toMatch(/^The sum of start and end logits of “the cat” rests most/);
    const pair = { kind: "similarity", label: "similarity of the two texts", unit: "cosine" };
    expect(said([N, 0.2, 0, 0, N], pair)).toMatch(/^The similarity of the two texts rests most/);
  });
});

it("writes all numbers with as many decimals as give the largest two", () => {
  const write = writer(found([N, 0.00123, -0.0001, 0, N]));
  expect([0.00123, -0.0001, 0, N, 1e-9].map(write)).toEqual(["+0.0012", "−0.0001", "0.0000", "–", "0.0000"]);
  expect(writer(found([12.3456, -1]))(12.3456)).toBe("+12.346");
  expect(legendWords(found([N, 1]))).toBe(
    "In logits: + raises the number, − lowers it. Here one token at a time is replaced by the mask token. In the table above it is hidden from the heads instead. –: always stays in.",
  );
  expect(legendWords(found([0, 1], { attribution: "attention × gradient", signed: false }))).toBe(
    "How much flows; no unit.",
  );
});

const ROW: FaithfulRow = {
  ...{ n: 10, bins: [1, 2, 5], model: -4.7, rankings: 20 },
  ...{ comprehensiveness: 4.3173, comprehensiveness_beats: 19, random_comprehensiveness: 2.0251 },
  ...{ random_comprehensiveness_error: 0.2467, sufficiency: -0.0002, sufficiency_beats: 18 },
  ...{ random_sufficiency: 10.563, random_sufficiency_error: 0.356 },
};

it("says how faithful the order is, beside chance, and what the columns are called", () => {
  const [out, left] = faithWords(found([1]), ROW, false);
  expect(out![0]).toBe(
    "Taking out those it names first (1, 2 or 5 of 10 tokens, their mean) moves the logit of “cat” by −4.317; as many at random, by −2.025 ± 0.247: better than 19 of 20 random orders.",
  );
  expect(left![0]).toBe(
    "Leaving in only those moves it by 0; only as many at random, by −10.563 ± 0.356: better than 18 of 20 random orders.",
  );
  expect(out![1]).toMatch(/^comprehensiveness 4.3173, more is better; random 2.0251/);
  expect(left![1]).toMatch(/^sufficiency -0.0002, less is better/);
  const [one] = faithWords(found([1], { kind: "embedding" }), { ...ROW, bins: [1], n: 1 }, false);
  expect(one![0]).toMatch(
    /^Taking out those it names first \(1 of 1 tokens?\) moves the cosine with the vector before/,
  );
});

it("puts the tokens below the changes in a file", () => {
  const table = { columns: ["change", "after"], rows: [["L0·H0 off", 0.5]], facts: [["number", "x"]] as never };
  expect(withWords(table, null, overviewWith())).toBe(table);
  const both = withWords(table, found([N, 0.5]), overviewWith());
  expect(both.columns).toEqual(["change", "after", "method", "position", "token", "value"]);
  expect(both.rows).toEqual([
    ["L0·H0 off", 0.5, null, null, null, null],
    [null, null, "occlusion", 0, "[CLS]", null],
    [null, null, "occlusion", 1, "not", 0.5],
  ]);
  expect(both.facts!.at(-1)).toEqual(["number of the tokens", "the logit of “cat” (logits)"]);
});

describe("the section", () => {
  const opened = async (tokens = WORDS, kernel = true) => {
    const b = bench(overviewOf(tokens, { subject: "text" }));
    const view = createView(b.store, signal(false));
    const root = document.createElement("div");
    render(
      <ViewContext.Provider value={view}>
        <WhichWords />
      </ViewContext.Provider>,
      root,
    );
    await hello(b, kernel);
    const open = async () => {
      view.page.whatif.words.value = { ...view.page.whatif.words.value, open: true };
      await settled();
    };
    return { b, view, root, open, text: () => root.textContent! };
  };
  const give = (values: number[], more: Partial<Attributed> = {}) => {
    const { values: data, ...fields } = found(values, more);
    const packed = pack({ values: { shape: [data.length], data } });
    return [{ ...fields, arrays: packed.index }, [packed.data]] as never as [never];
  };

  it("asks when it is opened, then shows each token; the method and the test are asked for", async () => {
    const { b, view, root, open, text } = await opened();
    expect(text()).toBe("Which words does the answer rest on?");
    expect(() => b.take("which_words")).toThrow("nobody asks");
    await open();
    b.take("which_words", { attribution: "occlusion" }).give(...give([N, 0.31, 0.12, -0.2, N]));
    await settled();
    expect(text()).toContain("The logit of “cat” rests most on “not” (+0.310) and");
    expect(root.querySelectorAll("li")).toHaveLength(5);
    expect(root.querySelectorAll("li.bl-most")).toHaveLength(2);
    expect([...root.querySelectorAll("li .bl-number")].map((one) => one.textContent)).toEqual([
      ...["–", "+0.310", "+0.120", "−0.200", "–"],
    ]);
    const bars = [...root.querySelectorAll<HTMLElement>("li i")].map(({ style }) => [style.left, style.width]);
    const [zero, all] = [20 / 0.51, 100 / 0.51]; // from −0.2 to 0.31
    for (const [n, left, width] of [
      [0, 0, 0],
      [1, zero, 0.31 * all],
      [2, zero, 0.12 * all],
      [3, 0, 0.2 * all],
    ] as const)
      expect(bars[n]!.map(Number.parseFloat).map(Math.round)).toEqual([left, width].map(Math.round));
    expect(() => b.take("faithful")).toThrow("nobody asks");
    [...root.querySelectorAll("button")].find((one) => one.textContent!.includes("126 runs"))!.click();
    await settled();
    b.take("faithful", { attribution: "occlusion" }).give({ rows: [ROW] } as never);
    await settled();
    expect(text()).toContain("better than 19 of 20 random orders");
    view.page.whatif.words.value = { open: true, method: "linearised", run: "" };
    await settled();
    b.take("which_words", { attribution: "linearised" }).give({
      ...found([]),
      why_not: "No.",
      values: undefined,
    } as never);
    await settled();
    expect(text()).toContain("No.");
    expect(root.querySelectorAll("li")).toHaveLength(0);
  });
  it("says what it costs where the text is long", async () => {
    const { b, root, open, text } = await opened(Array.from({ length: 100 }, (_, n) => `w${n}`));
    await open();
    expect(() => b.take("which_words")).toThrow("nobody asks");
    expect(text()).toContain("the model reads the text of 100 tokens once for each token");
    [...root.querySelectorAll("button")].find((one) => one.textContent === "Run it")!.click();
    await settled();
    expect(b.take("which_words").message.attribution).toBe("occlusion");
  });
});
