// Two texts: parts of pairs by pieces and words, what is drawn together, the largest pairs, sentences on the sum.
import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import type { View } from "../src/state/view";
import {
  digitsFor,
  foldedOf,
  gapWords,
  largestOf,
  pairAt,
  splitOf,
  triedOf,
  unitsOf,
} from "../src/tabs/similarity/splits";
import { placesOf } from "../src/tabs/similarity/tokenplaces";
import { type Similar, splitNameOf, withSplit } from "../src/tabs/similarity/twotexts";

/** [CLS] un ##fit cats [SEP], a word of two pieces. */
const side = (prompt = false) => ({
  text: "unfit cats",
  read: "unfit cats",
  tokens: ["[CLS]", "un", "##fit", "cats", "[SEP]"],
  words: [[0], [1, 2], [3], [4]],
  names: ["[CLS]", "unfit", "cats", "[SEP]"],
  special: [true, false, false, false, true],
  own: [false, !prompt, !prompt, true, false],
});

/** Cell (i, j) is i + 10 j, with a row of biases where they are. */
function data(more: Partial<Similar> = {}, rows = 5): Similar {
  const numbers = Float64Array.from({ length: rows * 5 }, (_, n) => Math.floor(n / 5) + 10 * (n % 5));
  return {
    sides: [side(), side()],
    tasks: ["", ""],
    function: "cosine",
    value: 0.71034,
    why_not: "",
    splits: ["output", "input"],
    notes: [],
    runs: 4,
    removable: "",
    terms: [["a·b / ‖a‖‖b‖", 0.71034]],
    gap: 2e-7,
    pairs: { shape: [rows, 5], data: numbers },
    ...more,
  };
}

const total = (values: ArrayLike<number>) => Array.from(values).reduce((sum, value) => sum + value, 0);

describe("splitOf", () => {
  it("sums the pieces of words on both sides", () => {
    const split = splitOf(data(), true);
    expect(split.a.map(({ label }) => label)).toEqual(["[CLS]", "unfit", "cats", "[SEP]"]);
    expect(split.a.map(({ word }) => word)).toEqual([null, 0, 1, null]);
    expect(split.cells![1 * 4 + 1]).toBe(11 + 12 + 21 + 22);
    expect(total(split.cells!)).toBe(total(splitOf(data(), false).cells!));
  });

  it("has biases as a row of their own, and no cells where there is no sum", () => {
    const { a, b, cells } = splitOf(data({}, 6), true);
    expect(a.at(-1)).toEqual({ label: "bias", at: [5], own: false, word: null });
    expect(b).toHaveLength(4);
    expect(total(cells!)).toBe(total(data({}, 6).pairs!.data));
    expect(splitOf(data({ pairs: null }), true).cells).toBeNull();
  });

  it("knows a piece that is a whole word", () => {
    expect(unitsOf(side(), false).map(({ word }) => word)).toEqual([null, null, null, 1, null]);
    expect(unitsOf(side(true), true).map(({ word }) => word)).toEqual([null, null, 0, null]);
  });

  it("begins the text behind a blank of the prompt that is a piece of its first word", () => {
    const own = [false, false, true, true, false]; // ␣ of the prompt, สุนัข and นอน of the text
    const units = unitsOf({ ...side(), own }, true);
    expect(units.map(({ own, word }) => [own, word])).toEqual([
      [false, null],
      [true, 0],
      [true, 1],
      [false, null],
    ]);
  });
});

describe("foldedOf", () => {
  it("leaves nothing out: own words, others together, the template together", () => {
    for (const most of [1, 2, 24]) {
      const folded = foldedOf(splitOf(data({}, 6), true), data().sides, most)!;
      expect(total(folded.rowSums)).toBe(total(data({}, 6).pairs!.data));
      expect(total(folded.colSums)).toBe(total(folded.rowSums));
      expect(folded.cells.map(total)).toEqual(folded.rowSums);
    }
    const { rows, cols } = foldedOf(splitOf(data({}, 6), true), data().sides, 1)!;
    expect(rows.map(({ label, kind }) => [label, kind])).toEqual([
      ["unfit", "unit"], // has more than "cats"
      ["1 others", "others"],
      ["[CLS] [SEP] bias", "template"],
    ]);
    expect(cols.map(({ label }) => label)).toEqual(["unfit", "1 others", "[CLS] [SEP]"]);
  });

  it("calls a prompt so", () => {
    const sides: Similar["sides"] = [side(true), side()];
    expect(foldedOf(splitOf(data({ sides }), true), sides)!.rows.map(({ label }) => label)).toEqual([
      "cats",
      "[CLS] prompt [SEP]",
    ]);
  });
});

/** s without word i and word j of two each. */
const without = { shape: [3, 3], data: [0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.65, 0.2, 0.15] };

describe("largestOf", () => {
  it("lists the largest own pairs; with the remainder and the template they are everything", () => {
    for (const most of [1, 3, 9]) {
      const found = largestOf(splitOf(data(), true), null, most);
      const parts = found.pairs.map(({ part }) => part!);
      expect(parts).toEqual([...parts].sort((x, y) => y - x));
      expect(found.pairs.length + found.others.count).toBe(4);
      expect(total(parts) + found.others.sum + found.template).toBe(total(data().pairs!.data));
      expect(found.pairs[0]).toMatchObject({ a: 1, b: 1, part: 66, tried: null });
    }
  });

  it("without parts goes by what goes only with both", () => {
    const found = largestOf(splitOf(data({ pairs: null }), true), without, 2);
    expect(found.pairs.map(({ a, b, part }) => [a, b, part])).toEqual([
      [2, 1, null],
      [2, 2, null],
    ]);
    expect(found.pairs[0]!.tried!.own).toBeCloseTo(0.7 - 0.65 - 0.6 + 0.2);
    expect(found.others.sum).toBe(0);
  });
});

it("names no pair whose part is but rounding", () => {
  const split = splitOf(data(), true);
  const none = largestOf({ ...split, cells: split.cells!.map((part) => 1e-9 * part) }, null);
  expect(none.pairs).toEqual([]);
  expect(largestOf(split, null).pairs.length).toBeGreaterThan(0);
});

describe("triedOf", () => {
  it("reads s without a's word, b's, both", () => {
    const { a, b } = splitOf(data(), true);
    const tried = triedOf(without, a[1]!, b[2]!)!;
    expect([tried.none, tried.a, tried.b, tried.both]).toEqual([0.7, 0.4, 0.5, 0.3]);
    expect(tried.own).toBeCloseTo(0.7 - 0.4 - 0.5 + 0.3);
    expect(triedOf(without, a[0]!, b[2]!)).toBeNull(); // [CLS] is not taken out
  });
});

describe("pairAt", () => {
  it("finds the units of two tokens, pieces or words", () => {
    expect(pairAt(splitOf(data(), true), [2, 3])).toEqual({ a: 1, b: 2 });
    expect(pairAt(splitOf(data(), false), [2, 3])).toEqual({ a: 2, b: 3 });
    expect(pairAt(splitOf(data(), true), [-1, -1])).toBeNull();
  });
});

describe("gapWords", () => {
  it("says that parts add up only where they do", () => {
    expect(gapWords(data())).toBe("The parts add up to the model’s own 0.7103, gap 2e−7.");
    expect(gapWords(data({ gap: 0.01 }))).toBe(
      "The parts add up to 0.7203, the model’s own number is 0.7103: gap 1e−2.",
    );
    expect(gapWords(data({ terms: undefined, gap: undefined }))).toBe("");
    expect(gapWords(data({ pairs: null }))).toBe("");
  });

  it("names all three terms of a distance", () => {
    const terms: Similar["terms"] = [
      ["2a·b", 3],
      ["−‖a‖²", -2],
      ["−‖b‖²", -1.5],
    ];
    expect(gapWords(data({ terms, gap: 0, value: -Math.sqrt(0.5), function: "euclidean" }))).toBe(
      "The parts add up to 2a·b. −d² = 2a·b − ‖a‖² − ‖b‖² = 3.0000 − 2.0000 − 1.5000 = −0.5000; the model’s own number is −d, −0.7071 (gap 0).",
    );
  });
});

describe("withSplit", () => {
  const long = Array.from({ length: 65 }, (_, n) => String(n));
  const viewOf = (of: string) => {
    const asked: string[] = [];
    const get = ({ op }: { op: string }) => {
      asked.push(op);
      return { state: "answered", value: { pairs: { shape: [1, 1], data: [1] }, gap: 0.5 } };
    };
    const similarTo = signal({ a: "", b: "", task_a: "", task_b: "" });
    const view = { page: { similarOf: signal(of), similarTo }, overview: {}, answers: { get } } as unknown as View;
    return { view, asked };
  };

  it("shows the exact split unless the other is asked for", () => {
    const first = viewOf("");
    expect(withSplit(first.view, data())).toMatchObject({ value: data() });
    expect(first.asked).toEqual([]);
    const input = viewOf("input");
    expect(withSplit(input.view, data())).toMatchObject({ value: { gap: 0.5, pairs: { data: [1] }, value: 0.71034 } });
    expect(input.asked).toEqual(["similar_input"]);
  });

  it("asks by itself where there is no other and the texts are short", () => {
    const only = data({ splits: ["input"], pairs: null, why_not: "reads one token" });
    expect(withSplit(viewOf("").view, only)).toMatchObject({ value: { gap: 0.5, why_not: "" } });
    const none = viewOf("none");
    expect(withSplit(none.view, only)).toMatchObject({ value: { pairs: null, why_not: "reads one token" } });
    const sides: Similar["sides"] = [{ ...side(), tokens: long }, side()];
    expect(splitNameOf(viewOf("").view, { ...only, sides })).toBeNull();
    expect(splitNameOf(viewOf("input").view, { ...only, sides })).toBe("input");
    expect(splitNameOf(viewOf("input").view, data({ splits: [] }))).toBeNull();
    expect(none.asked).toEqual([]);
  });
});

describe("placesOf", () => {
  it("writes the words that matter most while there is room, in their order, inside the width", () => {
    const places = placesOf([60, 60, 60, 60], [1, 4, 3, 2], 160);
    expect(places.map(({ written }) => written)).toEqual([false, true, true, false]);
    const all = placesOf([60, 60], [1, 2], 400);
    expect(all.every(({ written }) => written)).toBe(true);
    for (const list of [places, all]) {
      const xs = list.map(({ x }) => x);
      expect(xs).toEqual([...xs].sort((x, y) => x - y));
      expect(xs[0]).toBeGreaterThan(0);
    }
    expect(all.at(-1)!.x).toBeLessThan(400);
    expect(placesOf([], [], 100)).toEqual([]);
  });
});

it("digits follow the size of the number", () => {
  expect([0.71, -9, 31, 450].map(digitsFor)).toEqual([3, 3, 2, 1]);
});
