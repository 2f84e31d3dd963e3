// "Does it matter?" in a saved page: rows of heads and tokens, at the place where they change most.
import { signal } from "@preact/signals";
import { expect, it } from "vitest";
import type { Each } from "../src/state/effects";
import { createView } from "../src/state/view";
import { matterOf } from "../src/tabs/matter/singlechanges";
import { bench, HEADS, LAYERS, overviewOf, TOKENS } from "./fake";

const overview = createView(bench(overviewOf(TOKENS)).store, signal(false)).overview;
const rows = LAYERS * HEADS + TOKENS.length;
const place = { layer: 1, head: 2, query: 1, key: 3 };
const [head, token] = [HEADS + 2, LAYERS * HEADS + 3];

const eachOf = (changes: [row: number, at: number, change: number][], more: Partial<Each> = {}): Each => {
  const change = new Float32Array(rows * 2).fill(0.001);
  for (const [row, at, value] of changes) change[row * 2 + at] = value;
  const places: Each["places"] = [
    [2, "cat", 0.5],
    [4, "mat", 0.25],
  ];
  const none = { why_not: "", refused: [], first: [], cover: [], metrics: [], swept: new Float32Array() };
  return { ...none, kind: "words", unit: "probability", places, change, ...more };
};

it("takes the rows of the head and of the token, at the place that moves most", () => {
  const matter = matterOf(
    eachOf([
      [head, 1, 0.125],
      [token, 1, 2 ** -12],
      [head + 1, 0, 0.9],
    ]),
    overview,
    place,
  );
  expect([matter.position, matter.name, matter.before]).toEqual([4, "mat", 0.25]);
  expect(matter.rows.map(({ after }) => after)).toEqual([0.375, null, 0.25 + 2 ** -12]);
  expect(matter.rows.map(({ code }) => code)).toEqual(["whatif.off(1, 2)", "whatif.cut(1, 2, 1, 3)", "whatif.hide(3)"]);
  expect(matter.rows[1]!.why_not).toBe("needs Python: open the notebook");
});

it("prefers the place where another answer comes first", () => {
  const first: Each["first"] = [
    [token, 0, "dog", 0.75],
    [head + 1, 1, "sofa", 1],
  ];
  const matter = matterOf(eachOf([[head, 1, 0.125]], { first }), overview, place);
  expect(matter.name).toBe("cat");
  expect(matter.rows.map((row) => [row.first, row.first_value])).toEqual([
    ["", 0.5 + Math.fround(0.001)],
    ["", null],
    ["dog", 0.75],
  ]);
});

it("compares what the run has already with the run without it", () => {
  const first: Each["first"] = [[head, 0, "cat", 0.5]];
  const cover: Each["cover"] = [
    [
      head,
      [1],
      [
        ["dog", 0.625],
        ["mat", 0.5],
      ],
    ],
  ];
  const matter = matterOf(eachOf([[head, 0, -0.25]], { first, cover }), overview, place);
  expect([matter.name, matter.before]).toEqual(["cat", 0.5]); // of the run shown
  expect(matter.rows[0]).toMatchObject({ cover: [1], name: "dog", before: 0.625, after: 0.375, first: "cat" });
  expect(matter.rows[2]).toMatchObject({ cover: [], name: "cat", before: 0.5 });
});

it("says why a token cannot be hidden", () => {
  const refused: Each["refused"] = [[token, "nothing left to look at"]];
  const each = eachOf(
    [
      [token, 0, Number.NaN],
      [token, 1, Number.NaN],
      [head, 0, 0.25],
    ],
    { refused },
  );
  const matter = matterOf(each, overview, place);
  expect(matter.name).toBe("cat");
  expect(matter.rows[2]).toMatchObject({ why_not: "nothing left to look at", after: null, first_value: null });
});
