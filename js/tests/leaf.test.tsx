// Leaves: the parts of a score as they are printed add up, and what is said of a head among those that were run.
import { describe, expect, it } from "vitest";
import type { HeadsThatMatter } from "../src/state/frontanswers";
import type { Overview } from "../src/state/overview";
import type { Matter } from "../src/state/whatif";
import type { Split } from "../src/state/whystate";
import { headsRun, rankWords } from "../src/tabs/matter/cellverdict";
import { leafLines } from "../src/tabs/why/whyleaf";

/** Numbers that nobody chose. */
function* numbers(seed: number) {
  let state = seed;
  while (true) {
    state = (1103515245 * state + 12345) % 2147483648;
    yield (state / 2147483648 - 0.5) * 4;
  }
}

function splitOf(seed: number, layer = 4, across = 3): Split {
  const next = numbers(seed);
  const one = () => next.next().value as number;
  const heads = Float32Array.from({ length: layer * across }, () => 0.4 * one());
  const kinds = ["word", "position", "head", "mlp", "bias"].map((kind): [string, number] => [
    kind,
    kind === "head" ? heads.reduce((sum, value) => sum + value, 0) : one(),
  ]);
  const total = kinds.reduce((sum, [, value]) => sum + value, 0);
  return { layer, heads, kinds, total, largest: [] } as unknown as Split;
}

describe("the parts of a score", () => {
  it("as they are printed add up to the sum, whatever they are", () => {
    for (let seed = 1; seed < 200; seed++) {
      const split = splitOf(seed);
      const lines = leafLines(split, []);
      const sum = lines.reduce((all, { value }) => all + value, 0);
      expect(sum, String(seed)).toBe(Math.round(1000 * split.total));
      expect(lines.every(({ value }) => Number.isInteger(value))).toBe(true);
    }
  });

  it("have a line above the bound, the rest is one; counted by a loop of its own", () => {
    const split = splitOf(7);
    const single = [...split.kinds.filter(([kind]) => kind !== "head").map(([, value]) => value), ...split.heads!];
    let sizes = 0;
    for (const value of single) sizes += Math.abs(value);
    const large = single.filter((value) => Math.abs(value) >= 0.05 * sizes).sort((a, b) => Math.abs(b) - Math.abs(a));
    const shown = large.slice(0, 5);
    const lines = leafLines(split, []);
    expect(lines.slice(0, -1).map(({ value }) => value)).toEqual(shown.map((value) => Math.round(1000 * value)));
    expect(lines.at(-1)!.name).toBe(`${single.length - shown.length} smaller parts`);
  });

  it("are named by their layers, and a head by the token that it fetched", () => {
    const split = splitOf(3);
    split.heads!.fill(0);
    split.heads![7] = 9;
    split.kinds.find(([kind]) => kind === "mlp")![1] = 5;
    split.largest = [{ kind: "head", layer: 2, head: 1, value: 9, token: 1, fetched: 8 }];
    const names = leafLines(split, ["a", "cat"]).map(({ name }) => name);
    expect(names[0]).toBe("L2·H1, from “cat”");
    expect(names).toContain("MLPs of layers 0–3");
  });
});

describe("a head among those that were run", () => {
  const matter = (head: number) => ({ layer: 0, head, rows: [{ name: "cat" }] }) as unknown as Matter;
  const all = { heads: [[0, 2, -0.4]], tried: 4, name: "cat" } as unknown as HeadsThatMatter;
  const overview = { n_heads: 4 } as Overview;

  it("has its place by the size of its change, and all of them where all were run", () => {
    const value = { ...all, changes: Float32Array.from([0.1, -0.2, -0.4, 0]) };
    const ran = headsRun(value, overview);
    expect(ran.map(([, head]) => head)).toEqual([0, 1, 2, 3]);
    expect(rankWords(matter(2), ran, value)).toBe("the largest of 4 heads run");
    expect(rankWords(matter(0), ran, value)).toBe("the 3rd largest of 4 heads run");
  });

  it("has none where the number is another one, or an estimate", () => {
    const value = { ...all, tried: 1, changes: Float32Array.from([0.1, -0.2, -0.4, 0]) };
    const ran = headsRun(value, overview);
    expect(ran).toEqual([[0, 2, -0.4]]);
    expect(rankWords(matter(1), ran, value)).toBe("");
    expect(rankWords(matter(2), ran, { ...value, name: "dog" })).toBe("");
  });
});
