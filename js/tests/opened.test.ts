// Whether the program may still move a view: it may where nobody has chosen, also once its pins went with their words.
import { expect, it } from "vitest";
import { isOfProgram, movedBy } from "../src/kernel/opened";

const PLACE = { layer: 1, head: 2, query: 4, key: null };

it("takes the pins that go with their words for its own, where nobody has chosen", () => {
  const now = { ...PLACE, opened: PLACE };
  expect(isOfProgram(now)).toBe(true);
  const moved = movedBy(now, { query: 5, key: null });
  expect(moved).toEqual({ query: 5, key: null, opened: { ...PLACE, query: 5 } });
  expect(isOfProgram({ ...now, ...moved })).toBe(true);
});

it("leaves what a reader has chosen, and a view that was opened at a place of theirs", () => {
  for (const opened of [PLACE, {}, undefined]) {
    const now = { ...PLACE, head: 3, opened };
    expect(isOfProgram(now)).toBe(false);
    expect(movedBy(now, { query: 5 })).toEqual({ query: 5 });
  }
});
