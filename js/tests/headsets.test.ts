// Heads that are taken together: which set is told first, and how many of them a run changes.
import { expect, it } from "vitest";
import { openingOf, type Sets, sizeIn } from "../src/front/headsets";
import { replaced } from "../src/front/sentence/verbs";
import type { HeadName } from "../src/generated/vocabulary";
import type { Overview } from "../src/state/overview";

const HEADS: HeadName[] = [
  [1, 9],
  [1, 11],
  [2, 11],
];

it("opens at the first set that moves the answer by 0.20", () => {
  const of = (before: number, ...values: number[]) =>
    openingOf({ before, heads: values.map((value, n) => [0, n, value]) } as unknown as Sets);
  expect([of(0.99, 0.98, 0.94, 0.78, 0.4), of(0.3, 0.31, 0.5), of(0.99, 0.98, 0.9), of(0.5)]).toEqual([3, 2, 0, 0]);
});

it("a run is one of theirs where it has the first of them alike, and nothing else", () => {
  const size = (...changes: object[]) => {
    const nothing = { off: null, scale: null };
    return sizeIn({ changes: changes.map((one) => ({ ...nothing, ...one })) } as unknown as Overview, HEADS);
  };
  const scale = (n: number, factor: number) => ({ scale: [...HEADS[n]!, factor] });
  expect(size()).toBe(0);
  expect(size(scale(0, 0.4), scale(1, 0.4))).toBe(2);
  expect(size(scale(2, 2), scale(0, 2), scale(1, 2))).toBe(3);
  expect(size(...HEADS.slice(0, 2).map((off) => ({ off })))).toBe(2);
  expect(size(scale(0, 0.4))).toBe(-1); // that of one head
  expect(size(scale(1, 0.4), scale(2, 0.4))).toBe(-1);
  expect(size(scale(0, 0.4), scale(1, 0.5))).toBe(-1);
  expect(size(scale(0, 0.4), scale(1, 0.4), {})).toBe(-1); // and a word is hidden
  expect(size({ off: [1, null] })).toBe(-1);
});

it("a slot stands where its word stood, and where a blank would be a token of its own joins what is before it", () => {
  const place = { start: 4, end: 7 };
  expect(replaced("The cat sat.", place, "[MASK]", false)).toBe("The [MASK] sat.");
  expect(replaced("The cat sat.", place, "<mask><mask>", true)).toBe("The<mask><mask> sat.");
  expect(replaced("cat sat.", { start: 0, end: 3 }, "<mask>", true)).toBe("<mask> sat.");
  expect(replaced("(cat) sat.", { start: 1, end: 4 }, "<mask>", true)).toBe("(<mask>) sat.");
});
