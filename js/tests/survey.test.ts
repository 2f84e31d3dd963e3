// The corpus view's own arithmetic: where a value lies among the texts of a corpus, and how tables sort.
import { describe, expect, it } from "vitest";
import { sorted } from "../src/compute/sorted";
import type { SurveyFields } from "../src/generated/answers";
import { headColour, layerMarker } from "../src/paint/palette";
import { markerPath } from "../src/parts/chart";
import { alikeOf, allOf, binOf, fewOf, flagsOf, mostly, rankOf, readSurvey } from "../src/tabs/survey/corpusheads";
import { trustText } from "../src/tabs/survey/headmap";

const edges = [0, 1, 4, 9];

describe("binOf", () => {
  it("counts in bins and parts of bins", () => {
    expect([0, 0.25, 1, 2.5, 4, 9].map((value) => binOf(value, edges))).toEqual([0, 0.25, 1, 1.5, 2, 3]);
  });

  it("keeps what lies outside in the outer bins", () => {
    expect([binOf(-1, edges), binOf(100, edges)]).toEqual([0, 3]);
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

const [K, L, H, B] = [2, 3, 2, 4];
const NAMES = ["previous", "entropy"];
const HEADS = [K, L, H];

/** Numbers of a shape: each its own place, unless a function says otherwise. */
const filled = (shape: number[], of = (n: number) => n) => ({
  dtype: "float32",
  shape,
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, n) => of(n)),
});

const ALIKE = {
  tokens: 10,
  segments: 1,
  span: [8, 12],
  texts: 41,
  counts: { weight: [41, 5] },
  own: { weight: [17, 0] },
  own_span: { weight: [10, 10] },
  fewest: 8,
  level: 0.05,
};

function survey(alike: object = {}, arrays: object = {}, fields: object = {}) {
  return readSurvey({
    fields: {
      names: NAMES,
      counted: NAMES,
      by: ["weight"],
      texts: 1103,
      tokens: 20000,
      span: [4, 128],
      alike: { ...ALIKE, ...alike },
      gates: Array(L).fill(Array(H).fill("open")),
      shares: Array(L).fill(Array(H).fill(0.631)),
      gates_alike: true,
      ...fields,
    } as unknown as SurveyFields,
    arrays: {
      edges: filled([K, B + 1]),
      "bins.weight": filled([...HEADS, B]),
      "lower.weight": filled([2, ...HEADS]),
      "unusual.weight": filled(HEADS, (n) => Number(n === 3 || n === 4)),
      nearest: { dtype: "int32", shape: [L * H, 2], data: Int32Array.of(1, 2, 0, 2, 3, 0, 5, 2, 0, 1, 3, 4) },
      apart: filled([L * H, 2]),
      "own.statistics.weight": filled([2, K], (n) => [0.75, Number.NaN, 2, Number.NaN][n]!), // means, then most
      "own.heads.weight": filled([2, L, H], (n) => ({ 1: 0.25, [L * H + 1]: 1 })[n] ?? Number.NaN),
      ...Object.fromEntries(
        ["text", "sentence", "mean", "sd", "reach", "z"].map((n) => [`${n}.weight`, filled(HEADS)]),
      ),
      ...arrays,
    },
  });
}

describe("readSurvey", () => {
  it("finds each head's numbers in the flat arrays", () => {
    const data = survey();
    expect([data.n_layers, data.n_heads]).toEqual([L, H]);
    const at = ["entropy", "weight", 2, 1] as const; // place (1·3 + 2)·2 + 1
    expect([data.mean("entropy", "weight", "text", 2, 1), data.inText(...at), data.alikes("z", ...at)]).toEqual([
      11, 11, 11,
    ]);
    expect(data.lower(...at)).toEqual([11, 23]);
    expect([data.unusual("previous", "weight", 1, 1), data.unusual(...at)]).toEqual([true, false]);
    expect(NAMES.map((name) => data.count(name, "weight"))).toEqual([41, 5]);
    expect(Array.from(data.bins("entropy", "weight", 0, 1))).toEqual([28, 29, 30, 31]);
    expect(Array.from(data.edges("entropy"))).toEqual([5, 6, 7, 8, 9]);
    expect(data.nearest(1, 1)).toEqual([
      { layer: 2, head: 1, apart: 6 },
      { layer: 1, head: 0, apart: 7 },
    ]);
  });
});

describe("sentences of a survey", () => {
  it("name the texts that they are of", () => {
    expect([alikeOf(survey()), allOf(survey())]).toEqual([
      "41 texts of 8 to 12 tokens",
      "1,103 texts of 4 to 128 tokens",
    ]);
    expect(alikeOf(survey({ texts: 1, segments: 2, span: [3, 3] }))).toBe("1 pair of 3 tokens");
    expect(mostly(survey(), 0, 0)).toBe("mostly open, in 63 % of 41 texts of 8 to 12 tokens");
    const few = survey();
    few.shares[0]![0] = 0.34;
    expect(mostly(few, 0, 0)).toBe("most often open, in 34 % of 41 texts of 8 to 12 tokens");
    expect(mostly(survey({}, {}, { gates_alike: false }), 0, 0)).toMatch(/in 63 % of 1,103 texts of 4 to 128 tokens$/);
  });

  it("say how many flags texts nearest in length have, and how many 9 of 10 have at most", () => {
    expect(flagsOf(survey(), "weight", "previous")).toBe(
      "2 of 6 heads unusual beside 41 texts of 8 to 12 tokens; the corpus’s own of 10 tokens have 0.8 on average, and 9 of 10 of them at most 2 (n = 17)",
    );
    const hole = { "sentence.weight": filled(HEADS, (n) => (n === 4 ? Number.NaN : n)) };
    expect(flagsOf(survey({}, hole), "weight", "previous")).toMatch(/^1 of 5 heads unusual .* 0\.8 on average/);
    const none = { "sentence.weight": filled(HEADS, () => Number.NaN) };
    expect(flagsOf(survey({}, none), "weight", "previous")).toBe("this text has no such tokens");
    expect(flagsOf(survey(), "weight", [0, 1])).toBe(
      "0 of 2 statistics unusual beside 41 texts of 8 to 12 tokens; the corpus’s own of 10 tokens have 0.3 on average, and 9 of 10 of them at most 1 (n = 17)",
    );
  });

  it("say no more where the texts' own flags are not known", () => {
    expect(flagsOf(survey({ counts: { weight: [41, 41] } }), "weight", "entropy")).toBe(
      "0 of 6 heads unusual beside 41 texts of 8 to 12 tokens",
    );
  });

  it("say nothing of too few texts but their number", () => {
    const few = survey({ texts: 7, counts: { weight: [7, 0] } });
    expect(flagsOf(few, "weight", "previous")).toBe("too few texts of this length (7)");
    expect([fewOf(few, 7), fewOf(few, 8)]).toEqual(["too few texts of this length (7)", ""]);
  });

  it("rank a text as exactly as is known", () => {
    const ranked = (least: number, most: number, texts = 41) => {
      const lower = { "lower.weight": filled([2, ...HEADS], (n) => (n < K * L * H ? least : most)) };
      return rankOf(survey({ counts: { weight: [texts, 5] } }, lower), "weight", "previous", [0, 0]);
    };
    expect(ranked(3, 3)).toBe("3 of 41 texts of this length lie lower");
    expect(ranked(3, 5)).toBe("3 to 5 of 41 texts of this length lie lower");
    expect(ranked(1, 1)).toBe("1 of 41 texts of this length lies lower");
  });
});

describe("the map of heads", () => {
  it.each([false, true])("tells layers apart by colour and by marker (dark: %s)", (dark) => {
    const looks = Array.from({ length: 48 }, (_, layer) => ({
      colour: headColour(layer, dark),
      marker: markerPath(layerMarker(layer), 0, 0, 1),
    }));
    expect(new Set(looks.map(({ colour, marker }) => colour + marker)).size).toBe(48);
    for (const what of ["colour", "marker"] as const)
      expect(new Set(looks.slice(0, 8).map((look) => look[what])).size).toBe(8);
  });

  it("draws every marker within its size", () => {
    for (let kind = 0; kind < 8; kind++) {
      const path = markerPath(kind, 0, 0, 10);
      let [x, y, most] = [0, 0, 0];
      for (const [, step, rest] of path.matchAll(/([A-Za-z])([^A-Za-z]*)/g)) {
        const n = (rest!.match(/-?[\d.]+(e-?\d+)?/g) ?? []).map(Number);
        if (step === "M" || step === "L") [x, y] = [n.at(-2)!, n.at(-1)!];
        else if (step === "l" || step === "a") [x, y] = [x + n.at(-2)!, y + n.at(-1)!];
        else if (step === "h") x += n[0]!;
        else if (step === "v") y += n[0]!;
        else if (step === "H") x = n[0]!;
        else expect(step).toBe("z");
        most = Math.max(most, Math.abs(x), Math.abs(y));
      }
      expect(most, `marker ${kind}`).toBeLessThan(20.1); // the disc's arcs end a diameter away
      expect(most, `marker ${kind}`).toBeGreaterThan(8);
    }
  });

  it("says what its stress means", () => {
    expect(trustText({ stress: 0.2992, even_stress: 0.4087, nearest_kept: 19 }, 72)).toBe(
      "Stress 0.30: drawn distances are off by 30 % of the true ones (root mean square; 41 % if all heads were " +
        "equally far apart). The nearest head drawn is the nearest by distance for 19 of 72 heads.",
    );
  });
});
