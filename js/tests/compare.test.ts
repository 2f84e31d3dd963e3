// Two runs compared: names of aligned units, and the window that a selection opens.

import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import type { View } from "../src/state/view";
import {
  comparingOf,
  differenceOf,
  type Maps,
  named,
  otherOf,
  type Pair,
  startOf,
  unitsOf,
  windowOf,
} from "../src/tabs/compare/comparison";

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

const PAIRS: Pair[] = [
  ["[CLS]", "[CLS]", 0],
  ["old", null, 1],
  [null, "new", 1],
  ["cat", "cat", 2],
];

describe("unitsOf", () => {
  const pins = (only: boolean, beside: boolean) => unitsOf(PAIRS, { only }, beside).map(({ pin }) => pin);

  it("pins units by their place, aligned ones among themselves, and beside a run by its tokens", () => {
    expect(pins(false, false)).toEqual([0, 1, 2, 3]);
    expect(pins(true, false)).toEqual([0, null, null, 1]);
    expect(pins(false, true)).toEqual([0, 1, null, 2]);
  });
});

/** An Explorer of "the cat", as far as what is compared depends on it. */
function viewOf(chosen: object, changes: object[] = []) {
  const [query, key] = [signal<number | null>(null), signal<number | null>(null)];
  const data = { queries: PAIRS, keys: null, only: false };
  const view = {
    overview: { text: "the cat", text_pair: "", changes, trace: "t", map: "self" },
    page: {
      compareWith: signal({ run: "", text: "", text_pair: "", ...chosen }),
      alignedOnly: signal(false),
      lone: signal(null),
    },
    synced: {
      truncation: signal(false),
      query,
      key,
      put: (values: Record<string, number>) => {
        if ("query" in values) query.value = values.query!;
        if ("key" in values) key.value = values.key!;
      },
    },
    focus: { query: 2, key: 0 },
    answers: { get: () => ({ state: "answered", value: data }) },
  };
  return view as unknown as View & { page: { alignedOnly: { value: boolean } } };
}

describe("otherOf", () => {
  it("is a text, or the run without changes where there are some, and never the run itself", () => {
    expect(otherOf(viewOf({}))).toBeNull();
    expect(otherOf(viewOf({ text: "a dog" }))).toEqual(["text", "a dog", "", ""]);
    expect(otherOf(viewOf({ text: "the cat" }))).toBeNull();
    expect(otherOf(viewOf({ text: "the cat", text_pair: "a dog" }))).toEqual(["text", "the cat", "a dog", ""]);
    expect(otherOf(viewOf({ text: "the cat" }, [{}]))).toEqual(["text", "the cat", "", ""]);
    expect(otherOf(viewOf({ run: "original" }))).toBeNull();
    expect(otherOf(viewOf({ run: "original" }, [{}]))).toEqual(["original"]);
  });
});

describe("comparingOf", () => {
  const runsOf = (view: View) => {
    const answer = comparingOf(view);
    if (answer?.state !== "answered") throw new Error("not answered");
    return answer.value;
  };

  it("follows the tokens of the run shown, and keeps a word that only the other text has", () => {
    const view = viewOf({ text: "a dog" });
    expect([runsOf(view).query, runsOf(view).key]).toEqual([3, 0]); // what is in focus
    runsOf(view).pick({ query: 1 });
    expect([view.synced.query.value, runsOf(view).query]).toEqual([1, 1]);
    runsOf(view).pick({ key: 2 }); // "new"
    expect([view.synced.key.value, runsOf(view).query, runsOf(view).key]).toEqual([null, 1, 2]);
    runsOf(view).pick({ query: 0 });
    expect([runsOf(view).query, runsOf(view).key]).toEqual([0, 2]);
    view.synced.put({ query: 2 } as never); // chosen elsewhere
    expect([runsOf(view).query, runsOf(view).key]).toEqual([3, 0]);
  });

  it("leaves out what one text lacks where aligned words are asked for", () => {
    const view = viewOf({ text: "a dog" });
    view.page.alignedOnly.value = true;
    expect(runsOf(view).queries).toEqual([PAIRS[0], PAIRS[3]]);
    expect([runsOf(view).query, runsOf(view).key]).toEqual([1, 0]);
    runsOf(view).pick({ key: 1 });
    expect(view.synced.key.value).toBe(2);
    view.synced.put({ query: 1 } as never);
    expect(runsOf(view).query).toBeNull();
  });
});
