// The page's arithmetic against a float64 reference in Python (tests/wire/make_compute_vectors.py).
import { describe, expect, it, test } from "vitest";
import text from "../../tests/wire/compute_vectors.json?raw";
import { rowWeights, type Slice, scores, sliceFrom, visible, weightsIn } from "../src/compute/attention";
import { columnMeans, extremes, type Grid, grid, type TokenSide, units } from "../src/compute/grid";
import { largest } from "../src/compute/largest";
import { n80Chance, setWeights } from "../src/compute/neuronchance";
import { contrast, contrastSet, expectedJaccard, products, reuse } from "../src/compute/neurons";
import { heldCells, weightCells } from "../src/compute/windows";
import { digitsOf } from "../src/head/scale";
import type { Arrays } from "../src/kernel/wire";

type Values = { shape: number[]; values: (number | string)[] };
type Pair = {
  query: number;
  key: number;
  products: Values;
  contrast: Values;
  net: number;
  n80: number;
  set: number[];
  jaccard: number;
  chance: number;
  alone?: number; // these where there is a set
  rest?: number;
  lot?: number;
  lot_sd?: number;
};
type Head = {
  name: string;
  S: number;
  K: number;
  d: number;
  fields: { scaling: number; mask: string; terms?: { name: string; of: string }[] };
  arrays: Record<string, Values>;
  visible: Values;
  scores: Values;
  attention: Values;
  neurons: Pair[];
};
type GridCase = {
  words: boolean;
  hide_special: boolean;
  labels: string[];
  pieces: number[][];
  values: Values;
  renormalized: Values;
  row_sum: Values;
};
const vectors: {
  heads: Head[];
  grids: { side: TokenSide; attention: Values; cases: GridCase[] }[];
  n80_chance: { d: number; keys: number; rank: number; limits: [number, number][] }[];
  expected_jaccard: { a: number; b: number; d: number; value: number }[];
} = JSON.parse(text);

const numbers = ({ values }: Values) => values.map(Number);

function sliceOf(head: Head): Slice {
  const arrays: Arrays = {};
  for (const [name, stored] of Object.entries(head.arrays)) {
    const [places, isExact] = [name.endsWith(".by") && stored.shape.length === 1, name === "lse"];
    const Type = name === "bits" ? Uint8Array : places ? Uint16Array : isExact ? Float64Array : Float32Array;
    arrays[name] = { dtype: "", shape: stored.shape, data: Type.from(numbers(stored)) };
  }
  return sliceFrom(head.fields, arrays);
}

/** Every number equal within `tolerance`, NaN and infinities exactly. */
function expectClose(found: ArrayLike<number>, wanted: number[], tolerance: number) {
  expect(found.length).toBe(wanted.length);
  wanted.forEach((value, n) => {
    if (Number.isFinite(value)) expect(Math.abs(found[n]! - value), `[${n}]`).toBeLessThanOrEqual(tolerance);
    else expect(found[n], `[${n}]`).toBe(value);
  });
}

describe.each(vectors.heads)("$name", (head) => {
  const slice = sliceOf(head);
  const { S, K } = head;
  const rows = Array.from({ length: S }, (_, i) => i);
  // a float32 bias is what the kernel sends, the reference adds the same in float64
  const exact = 1e-12;

  it("knows its shape and who sees whom", () => {
    expect([slice.S, slice.K, slice.d]).toEqual([S, K, head.d]);
    const seen = rows.flatMap((i) => Array.from({ length: K }, (_, j) => Number(visible(slice, i, j))));
    expect(seen).toEqual(numbers(head.visible));
  });

  it("scores and attention by row", () => {
    expectClose(
      rows.flatMap((i) => [...scores(slice, i)]),
      numbers(head.scores),
      exact,
    );
    expectClose(
      rows.flatMap((i) => [...rowWeights(slice, i)]),
      numbers(head.attention),
      exact,
    );
  });

  it("attention of all queries, in float32", () => {
    expectClose(weightCells(slice).matrix!, numbers(head.attention), 6e-8);
  });

  it("attention of any window, without the rest of its rows", () => {
    for (const [top, bottom, left, right] of [
      [0, 1, 0, K],
      [S - 1, S, K - 1, K],
      [0, S, K >> 1, K],
      [S >> 1, S, 0, Math.min(K, 5)],
    ] as const)
      expectClose(
        weightsIn(slice, top, bottom, left, right),
        rows.slice(top, bottom).flatMap((i) => numbers(head.attention).slice(i * K + left, i * K + right)),
        6e-8,
      );
  });

  it.each(head.neurons)("neurons of query $query and key $key", (pair) => {
    const parts = contrast(slice, pair.query, pair.key);
    expectClose(products(slice, pair.query, pair.key), numbers(pair.products), exact);
    expectClose(parts, numbers(pair.contrast), exact);
    const found = contrastSet(parts);
    expectClose([found.net, found.n80], [pair.net, pair.n80].map(Number), exact);
    expect(found.set).toEqual(pair.set);
    const overlap = reuse(slice, pair.query, pair.key, weightCells(slice));
    expectClose([overlap.jaccard, overlap.chance], [pair.jaccard, pair.chance].map(Number), exact);
    if (pair.set.length === 0) return;
    const made = setWeights(slice, pair.query, pair.key, pair.set);
    expectClose([made.alone, made.rest], [pair.alone!, pair.rest!], exact);
    expect(Math.abs(made.lot - pair.lot!)).toBeLessThanOrEqual(0.4 * pair.lot_sd! + exact); // four errors of 100 draws
  });
});

describe("contrast set", () => {
  it("takes equal contributions by index, and stops at exactly 80 %", () => {
    expect(contrastSet(Float64Array.of(1, 1, 1, 1, 1))).toEqual({ set: [0, 1, 2, 3], n80: 4, net: 5 });
    expect(contrastSet(Float64Array.of(1, 3, 3, 2)).set).toEqual([1, 2, 3]); // 3 + 3 + 2 of 9
    expect(contrastSet(Float64Array.of(1, 3, 3, 1)).set).toEqual([0, 1, 2]);
  });
  it("is smaller than its positive part when other neurons work against it", () => {
    expect(contrastSet(Float64Array.of(4, 4, -6)).set).toEqual([0]); // net 2: the first alone passes 1.6
  });
  it("marks nothing where the net is not positive or not a number", () => {
    for (const parts of [[1, -1], [1, -2], [Number.NaN, 1], []]) {
      const { set, n80 } = contrastSet(Float64Array.from(parts));
      expect(set).toEqual([]);
      expect(n80).toBeNaN();
    }
  });
});

describe("neurons of random q and k", () => {
  it.each(vectors.n80_chance)("$d of them, key $rank of $keys", ({ d, keys, rank, limits }) => {
    const { low, median, high } = n80Chance(d, keys, rank)!;
    [low, median, high].forEach((found, n) => {
      expect(found).toBeGreaterThanOrEqual(limits[n]![0]);
      expect(found).toBeLessThanOrEqual(limits[n]![1]);
    });
  });
  it("says nothing of a key that never stands out, or alone", () => {
    expect(n80Chance(32, 20, 19)).toBeNull();
    expect(n80Chance(32, 1, 0)).toBeNull();
  });
});

it.each(vectors.expected_jaccard)("expected overlap of $a and $b out of $d", ({ a, b, d, value }) => {
  expect(expectedJaccard(a, b, d)).toBeCloseTo(value, 12);
});

describe("not a number", () => {
  it("spreads over its row and nowhere else", () => {
    const q = Float32Array.of(Number.NaN, 1, 2, 3);
    const lse = Float64Array.of(Number.NaN, Math.log(Math.exp(2) + Math.exp(3)));
    const slice: Slice = {
      S: 2,
      K: 2,
      d: 2,
      scaling: 1,
      terms: [],
      mask: { kind: "full" },
      q,
      k: Float32Array.of(1, 0, 0, 1),
      lse,
    };
    const found = weightCells(slice).matrix!;
    expect([found[0], found[1]]).toEqual([Number.NaN, Number.NaN]);
    expect(found[2]! + found[3]!).toBeCloseTo(1, 6);
  });
});

test("weights of a model that was rounded have the decimals that its rounding leaves", () => {
  const one = { dtype: "float32", shape: [1, 1], data: Float32Array.of(1) };
  const slice = (decimals?: number) => sliceFrom({ mask: "full", scaling: 1, decimals }, { q: one, k: one, lse: one });
  expect([slice(), slice(2), { ...slice(), S: 4096, K: 4096 }].map(digitsOf)).toEqual([3, 2, 4]);
});

describe("a model without q and k", () => {
  const attention = Float32Array.of(0.25, 0.75, 1, 0, 0.5, 0.5);
  const slice = sliceFrom({}, { attention: { dtype: "float32", shape: [3, 2], data: attention } });
  it("shows its attention as it is and says why there is nothing more", () => {
    expect([slice.S, slice.K]).toEqual([3, 2]);
    expect(weightCells(slice).matrix).toEqual(attention);
    expect([...rowWeights(slice, 1)]).toEqual([1, 0]);
    expect(() => scores(slice, 0)).toThrow("attention only");
    expect(() => contrast(slice, 0, 0)).toThrow("attention only");
  });
  it("is an error when nothing was sent, or a mask nobody knows", () => {
    expect(() => sliceFrom({ mask: "full" }, {})).toThrow("needs q and k");
    const one = { dtype: "float32", shape: [1, 1], data: Float32Array.of(1) };
    expect(() => sliceFrom({ mask: "bits" }, { q: one, k: one, lse: one })).toThrow("unknown mask: bits");
  });
});

const rowSums = ({ rows, values }: Grid) => rows.map((_, r) => values.row(r).reduce((a, b) => a + b, 0));

describe.each(vectors.grids[0]!.cases)("grid, words $words, special hidden $hide_special", (wanted) => {
  const { attention } = vectors.grids[0]!;
  const side = { ...vectors.grids[0]!.side, continuation: "##" };
  const n = side.tokens.length;
  const shown = units(side, wanted.words).filter((unit) => !(wanted.hide_special && unit.special));
  it("has these units", () => {
    expect(shown.map((unit) => unit.label)).toEqual(wanted.labels);
    expect(shown.map((unit) => unit.pieces)).toEqual(wanted.pieces);
    expect(shown.map((unit) => unit.segment)).toEqual(wanted.pieces.map((pieces) => side.segments[pieces[0]!]));
  });
  it("sums columns, averages rows, and says what the shown columns hold", () => {
    const found = grid(heldCells(Float32Array.from(numbers(attention)), n), shown, shown);
    expectClose(found.values.matrix!, numbers(wanted.values), 1e-7);
    expect(found.peak).toBe(Math.max(...found.values.matrix!));
    expectClose(rowSums(found), numbers(wanted.row_sum), 2e-7);
    const renormalized = grid(heldCells(Float32Array.from(numbers(attention)), n), shown, shown, { renormalize: true });
    expectClose(renormalized.values.matrix!, numbers(wanted.renormalized), 1e-7);
  });
});

it("leaves a row that holds nothing at 0 when renormalising", () => {
  const one = (label: string, piece: number) => ({ label, pieces: [piece], segment: 0, special: false });
  const found = grid(heldCells(Float32Array.of(1, 0), 2), [one("a", 0)], [one("b", 1)], { renormalize: true });
  expect([...found.values.matrix!]).toEqual([0]);
});

it("does not merge words of the two sentences that carry the same number", () => {
  const side = { tokens: ["a", "b"], words: [0, 0], segments: [0, 1], special: [0, 0] };
  expect(units(side, true).map((unit) => unit.label)).toEqual(["a", "b"]);
});

it("a bare blank before a word is no letter of it", () => {
  const side = { tokens: ["␣", "สุนัข", "นอน", "␣"], words: [0, 0, 1, 2], segments: [0, 0, 0, 0], special: [0, 0, 0, 0] };
  expect(units(side, true).map(({ label, pieces }) => [label, pieces])).toEqual([
    ["สุนัข", [0, 1]],
    ["นอน", [2]],
    ["␣", [3]],
  ]);
});

it("column means are over rows", () => {
  const found = columnMeans(heldCells(Float32Array.of(1, 2, 3, 5, 6, -7), 3));
  expect([...found!]).toEqual([3, 4, -2]);
});

describe("extremes", () => {
  const map = (rows: number, row: (r: number) => number[]) =>
    Float32Array.from(Array.from({ length: rows }, (_, r) => row(r)).flat());

  it("is the largest size, and the colours of a small map end there", () => {
    expect(extremes(Float32Array.of(0.1, -0.8, 0.5, 0.2), 2)).toEqual({
      peak: Math.fround(0.8),
      top: Math.fround(0.8),
    });
    expect(extremes(new Float32Array(0), 0)).toEqual({ peak: 0, top: 0 });
  });

  it("does not let one cell pale a map of many rows", () => {
    const values = map(65, (r) => [r === 7 ? 0.5 : 0.25 / 16, 0]);
    expect(extremes(values, 65)).toEqual({ peak: 0.5, top: 0.5 / 16 });
    expect(extremes(values.subarray(0, 128), 64).top).toBe(0.5);
  });

  it("keeps the largest where most rows have one, or none has any", () => {
    expect(
      extremes(
        map(65, () => [1, 0]),
        65,
      ).top,
    ).toBe(1);
    expect(
      extremes(
        map(65, (r) => [r === 0 ? 1 : 0, 0]),
        65,
      ).top,
    ).toBe(1);
  });
});

describe("largest", () => {
  const positions = (values: number[], most: number, minimum = 0) => largest(values, most, minimum);

  it("is by size, equal ones in order, and counts all that reach the minimum", () => {
    expect(positions([0.2, -0.9, 0.5, 0.5, 0.1], 3)).toEqual({ positions: [1, 2, 3], passed: 5 });
    expect(positions([0.2, -0.9, 0.5], 9, 0.2)).toEqual({ positions: [1, 2, 0], passed: 3 });
    expect(positions([0.2, Number.NaN, 0.5], 2, 0.3)).toEqual({ positions: [2], passed: 1 });
  });

  it("agrees with sorting", () => {
    const values = Array.from({ length: 500 }, (_, n) => Math.round(40 * Math.sin(n * n)) / 40); // many are equal
    const sorted = values.map((_, n) => n).sort((a, b) => Math.abs(values[b]!) - Math.abs(values[a]!) || a - b);
    for (const most of [1, 7, 100, 499, 500]) expect(positions(values, most).positions).toEqual(sorted.slice(0, most));
  });
});
