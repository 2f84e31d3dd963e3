// Two runs compared: names of aligned units, and the window that a selection opens.
import { describe, expect, it } from "vitest";
import { differenceOf, type Maps, named, type Pair, startOf, windowOf } from "../src/tabs/compare/data";

describe("named", () => {
  it("takes a's name, else b's, and tells names apart that come again", () => {
    const pairs: Pair[] = [
      ["the", "the", 0],
      ["cat", null, 1],
      [null, "dog", 1],
      ["the", null, 2],
      [null, "the", 2],
    ];
    expect(named(pairs)).toEqual(["the (0)", "cat", "dog", "the (2)", "the (b 2)"]);
  });
});

describe("startOf", () => {
  it("opens a window that shows the unit, as the kernel does", () => {
    for (const size of [5, 128, 129, 300, 1000])
      for (let unit = 0; unit < size; unit++) {
        const from = startOf(size, unit);
        const shown = windowOf(
          Array.from({ length: size }, (_, n) => n),
          from,
        );
        expect(shown).toContain(unit);
        expect(shown.length).toBe(Math.min(size, 128));
      }
    expect([0, 95, 96, 250].map((unit) => startOf(300, unit))).toEqual([0, 0, 64, 172]);
    expect(startOf(300, null)).toBe(0);
  });
});

describe("differenceOf", () => {
  it("is b − a, and nothing at gaps", () => {
    const maps = { a: Float32Array.of(0.25, Number.NaN), b: Float32Array.of(0.75, 1) } as Maps;
    expect([...differenceOf(maps)]).toEqual([0.5, Number.NaN]);
  });
});
