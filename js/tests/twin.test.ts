// Two sentences: which words are the same, bars in pairs and their order, heads by either, and when there is a story.
import { describe, expect, it } from "vitest";
import { plain } from "../src/front/claims";
import { faultOf, headPairs, inOrder, pairNames } from "../src/front/twin/barpairs";
import { effectPairPieces, lookPairPieces, storyPieces } from "../src/front/twin/sentences";
import { wordPairs } from "../src/front/twin/wordpairs";

const words = (text: string) => text.split(" ");
const rows = (numbers: Record<string, number>) => Object.entries(numbers).map(([name, value]) => ({ name, value }));

describe("words of two sentences", () => {
  it("are the same in order, and the others are told", () => {
    const { below, onlyAbove, onlyBelow } = wordPairs(words("he is a doctor"), words("she is not a doctor"));
    expect([...below]).toEqual([
      [1, 1],
      [2, 3],
      [3, 4],
    ]);
    expect([onlyAbove, onlyBelow]).toEqual([[0], [0, 2]]);
  });
  it("are as many as in the longest common run, counted by trying all", () => {
    const longest = (a: string[], b: string[]): number => {
      if (a.length === 0 || b.length === 0) return 0;
      const [x, ...rest] = a;
      const at = b.indexOf(x!);
      return Math.max(longest(rest, b), at < 0 ? 0 : 1 + longest(rest, b.slice(at + 1)));
    };
    for (let seed = 1; seed < 200; seed++) {
      let state = seed;
      const random = (n: number) => {
        state = (state * 48271) % 2147483647;
        return state % n;
      };
      const text = () => Array.from({ length: random(7) }, () => "abc"[random(3)]!);
      const [a, b] = [text(), text()];
      const { below, onlyAbove, onlyBelow } = wordPairs(a, b);
      expect(below.size).toBe(longest(a, b));
      expect(below.size + onlyAbove.length).toBe(a.length);
      expect(below.size + onlyBelow.length).toBe(b.length);
      const pairs = [...below];
      expect(pairs.every(([i, j]) => a[i] === b[j])).toBe(true);
      expect(pairs.every(([, j], n) => n === 0 || j > pairs[n - 1]![1])).toBe(true);
    }
  });
});

describe("bars in pairs", () => {
  const above = rows({ milk: 0.324, bread: 0.06, water: 0.05, air: 0.01, meat: 0.01 });
  const below = rows({ cat: 0.66, dog: 0.03, bird: 0.004, boy: 0.003, man: 0.002 });
  it("stand in the order of the lower's numbers, with the best of either", () => {
    expect(pairNames(above, below)).toEqual(["cat", "dog", "milk", "bread", "water"]);
    expect(pairNames(below, above)).toEqual(["milk", "bread", "water", "cat", "dog"]);
  });
  it("have the best of the upper though five below are larger", () => {
    const few = rows({ x: 0.001 });
    const many = rows({ a: 0.5, b: 0.2, c: 0.1, d: 0.09, e: 0.08, f: 0.02 });
    expect(pairNames(few, many)).toEqual(["a", "b", "c", "d", "x"]);
  });
  it("stand by what is known of all of them once it is", () => {
    const pairs = [
      { name: "cat", above: 0, below: 0.6 },
      { name: "milk", above: 0.3, below: 0.0001 },
      { name: "bread", above: 0.06, below: 0.0002 },
      { name: "x", above: 0.5, below: null },
    ];
    expect(inOrder(pairs).map(({ name }) => name)).toEqual(["cat", "bread", "milk", "x"]);
  });
  it("keep an order of their own, as tags have", () => {
    expect(pairNames(rows({ "B-X": 0.9, O: 0.1 }), rows({ O: 0.8, "B-X": 0.2 }), true)).toEqual(["O", "B-X"]);
    expect(pairNames([], [])).toEqual([]);
  });
});

it("heads stand by what they do to either, where both are known", () => {
  const above = Float32Array.of(-0.1, 0.02, Number.NaN, 0);
  const below = Float32Array.of(0, -0.3, 0.9, 0.05);
  expect(headPairs(above, below, 2).map(({ layer, head }) => [layer, head])).toEqual([
    [0, 1],
    [0, 0],
    [1, 1],
  ]);
});

describe("a story", () => {
  const milk = { name: "milk", now: 0.324, without: 0.126 };
  const cat = { name: "cat", now: 0.66, without: 0.266 };
  it("is one where both guesses differ, both are sure, and the head moves one by more than 0.10", () => {
    expect(faultOf(milk, cat)).toBe("");
    expect(faultOf({ ...milk, without: 0.32 }, cat)).toBe("");
    expect(faultOf({ ...milk, name: "cat" }, cat)).toBe("same");
    expect(faultOf({ ...milk, now: 0.0999 }, cat)).toBe("unsure");
    expect(faultOf({ ...milk, now: 0.1, without: 0.1 }, cat)).toBe("");
    expect(faultOf({ ...milk, without: 0.23 }, { ...cat, without: 0.57 })).toBe("no head");
    expect(faultOf({ ...milk, without: null }, { ...cat, without: null })).toBe("unknown");
    expect(faultOf({ ...milk, without: null }, { ...cat, without: 0.65 })).toBe("unknown");
  });
  it("is told, or that there is none and why", () => {
    expect(plain(storyPieces(milk, cat, 1))).toBe("One word turns milk into cat.");
    expect(plain(storyPieces(milk, cat, 2))).toBe("Two words turn milk into cat.");
    expect(plain(storyPieces(milk, cat, 0))).toBe("Both say the same: change a word in one.");
    expect(plain(storyPieces({ ...cat, now: 0.324 }, cat, 1))).toBe(
      "The best guess stays cat (0.32 above, 0.66 below): no story here.",
    );
    expect(plain(storyPieces({ ...milk, now: 0.07 }, cat, 1))).toBe(
      "No story here: the model is not sure of milk (0.07) or cat (0.66).",
    );
    expect(plain(storyPieces({ ...milk, without: 0.3 }, { ...cat, without: 0.6 }, 1))).toBe(
      "One word turns milk into cat, but no head alone moves either by more than 0.10.",
    );
  });
});

it("says where a head looks in both, and what is left without it", () => {
  const word = (text: string, special = false, itself = false) => ({ text, special, itself });
  expect(plain(lookPairPieces("L5·H7", word("milk"), word("cat")))).toBe("L5·H7 looks at milk above, at cat below.");
  expect(plain(lookPairPieces("L5·H7", word("milk"), word("milk")))).toBe("L5·H7 looks at milk in both.");
  expect(plain(lookPairPieces("L5·H7", word("milk"), word("[CLS]", true)))).toBe(
    "L5·H7 looks at milk above, rests on [CLS] below.",
  );
  expect(plain(lookPairPieces("L5·H7", null, word("x", false, true)))).toBe(
    "L5·H7 looks nowhere much above, at itself below.",
  );
  const pair = effectPairPieces({ name: "he", from: 0.909, to: 0.78 }, { name: "she", from: 0.832, to: 0.832 });
  expect(plain(pair)).toBe("Without it, he falls from 0.91 to 0.78 above, she stays at 0.83 below.");
  expect(plain(effectPairPieces({ name: "", from: 0, to: 0.08 }, { name: "", from: 0, to: 0.09 }))).toBe(
    "Without it, the vector turns by 0.08 above, by 0.09 below.",
  );
  const same = { name: "he", from: 0.909, to: 0.78 };
  expect(plain(effectPairPieces(same, { ...same }))).toBe("Without it, he falls from 0.91 to 0.78 in both.");
});
