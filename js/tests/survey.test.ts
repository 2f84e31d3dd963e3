// The corpus view's own arithmetic: where a value lies among the texts of a corpus, and how tables sort.
import { describe, expect, it } from "vitest";
import { sorted } from "../src/parts/sorted";
import { binOf, rank, readSurvey } from "../src/views/survey/data";

const edges = [0, 1, 4, 9];

describe("binOf", () => {
  it("counts in bins and parts of bins", () => {
    expect([0, 0.25, 1, 2.5, 4, 9].map((value) => binOf(value, edges))).toEqual([0, 0.25, 1, 1.5, 2, 3]);
  });

  it("keeps what lies outside in the outer bins", () => {
    expect([binOf(-1, edges), binOf(100, edges)]).toEqual([0, 3]);
  });
});

describe("rank", () => {
  it("is the share of texts below, even within a bin", () => {
    expect(rank(4, [2, 6, 2], edges)).toBeCloseTo(0.8);
    expect(rank(2.5, [2, 6, 2], edges)).toBeCloseTo(0.5);
    expect([rank(0, [2, 6, 2], edges), rank(50, [2, 6, 2], edges)]).toEqual([0, 1]);
  });

  it("is not a number without texts", () => {
    expect(rank(1, [0, 0, 0], edges)).toBeNaN();
  });
});

describe("sorted", () => {
  it("sorts numbers both ways, what is not a number last", () => {
    const rows = [3, Number.NaN, 1, 2];
    expect(sorted(rows, (row) => row, true)).toEqual([3, 2, 1, Number.NaN]);
    expect(sorted(rows, (row) => row, false)).toEqual([1, 2, 3, Number.NaN]);
  });

  it("puts what is nothing last, too", () => {
    expect(sorted([2, null, 3], (row) => row, true)).toEqual([3, 2, null]);
    expect(sorted([2, null, 3], (row) => row, false)).toEqual([2, 3, null]);
  });

  it("sorts words by the alphabet, and numbers in them as numbers", () => {
    expect(sorted(["L10·H0", "L2·H11", "L2·H3"], (row) => row, false)).toEqual(["L2·H3", "L2·H11", "L10·H0"]);
    expect(sorted(["b", "c", "a"], (row) => row, false)).toEqual(["a", "b", "c"]);
  });
});

describe("readSurvey", () => {
  it("finds each head's numbers in the flat arrays", () => {
    const [K, L, H, B] = [2, 3, 2, 4];
    const count = (shape: number[]) => ({
      dtype: "float32",
      shape,
      data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, n) => n),
    });
    const heads = [K, L, H];
    const survey = readSurvey({
      fields: { names: ["previous", "next"], by: ["weight"], gates: Array(L).fill(Array(H).fill("open")) },
      arrays: {
        "text.weight": count(heads),
        "spreads.weight": count(heads),
        "sentence.weight": count(heads),
        "bins.weight": count([...heads, B]),
        edges: count([K, B + 1]),
      },
    });
    expect([survey.n_layers, survey.n_heads]).toEqual([L, H]);
    expect(survey.mean("next", "weight", "text", 2, 1)).toBe(11); // (1·3 + 2)·2 + 1
    expect(Array.from(survey.bins("next", "weight", 0, 1))).toEqual([28, 29, 30, 31]);
    expect(Array.from(survey.edges("next"))).toEqual([5, 6, 7, 8, 9]);
  });
});
