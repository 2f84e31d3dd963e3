// @vitest-environment happy-dom
// Geometry of the arcs over a sentence.
import { describe, expect, it } from "vitest";
import { arcsOf, habitArcs, habitOf, linesOf, type Scene } from "../src/front/sentence/arcs";
import { fittedType } from "../src/front/sentence/lettering";
import type { Box } from "../src/state/frontstate";

/** Words of some widths in lines of a page; `turned`: from right to left. */
function laid(widths: number[], turned = false, page = 900, height = 40): Box[] {
  let [x, y] = [0, 200];
  return widths.map((width) => {
    if (x + width > page) [x, y] = [0, y + 90];
    const left = turned ? page - x - width : x;
    x += width + 10;
    return { left, right: left + width, top: y, bottom: y + height };
  });
}

const scene = (boxes: (Box | null)[], weights: number[], more: Partial<Scene> = {}): Scene => ({
  boxes,
  weights,
  markers: boxes.map(() => false),
  asker: boxes.length - 1,
  loudness: 1,
  size: 40,
  width: 900,
  room: 180,
  stroke: 20,
  ...more,
});

const random = (seed: number) => () => {
  seed = (seed * 16807) % 2147483647;
  return seed / 2147483647;
};
const shares = (n: number, next: () => number) => {
  const numbers = Array.from({ length: n }, () => next() ** 5);
  const sum = numbers.reduce((a, b) => a + b);
  return numbers.map((one) => one / sum);
};

describe("arcs", () => {
  it("are six at most, the largest weights, wider for a larger weight; numbers cover neither each other nor a word", () => {
    for (let seed = 1; seed < 300; seed++) {
      const next = random(seed);
      const n = 2 + Math.floor(next() * 40);
      const boxes = laid(
        Array.from({ length: n }, () => 15 + 120 * next()),
        seed % 3 === 0,
      );
      const weights = shares(n, next);
      const asker = Math.floor(next() * n);
      const { arcs, numbers } = arcsOf(scene(boxes, weights, { asker }));
      const drawn = weights.map((w, j) => [w, j] as const).filter(([w, j]) => j !== asker && w >= 0.02);
      const largest = drawn.sort((a, b) => b[0] - a[0]).slice(0, 6);
      expect(arcs.map(({ word }) => word).reverse()).toEqual(largest.map(([, j]) => j));
      for (const [k, arc] of arcs.entries()) if (k > 0) expect(arc.width).toBeGreaterThanOrEqual(arcs[k - 1]!.width);
      const rims = numbers.map(({ x, y, width, height }) => ({
        left: x - width / 2,
        right: x + width / 2,
        top: y - height / 2,
        bottom: y + height / 2,
      }));
      const covered = (a: Box, b: Box, by = 0) =>
        a.left < b.right - by && b.left < a.right - by && a.top < b.bottom - by && b.top < a.bottom - by;
      for (const [k, rim] of rims.entries()) {
        expect(rim.left).toBeGreaterThanOrEqual(-1e-9);
        expect(rim.right).toBeLessThanOrEqual(900 + 1e-9);
        expect(rims.slice(k + 1).some((other) => covered(rim, other))).toBe(false);
        expect(boxes.some((box) => covered(rim, box, 3))).toBe(false);
      }
    }
  });
  it("between lines lead from the top of the lower word to the upper one from below; their numbers hide no other arc", () => {
    const points = (path: string) => {
      const [a, b, c, d] = path
        .slice(1)
        .split("C")
        .flatMap((part) => {
          const n = part.split(" ").map(Number);
          return n.flatMap((_, k) => (k % 2 === 0 ? [[n[k]!, n[k + 1]!]] : []));
        }) as [number, number][] as [[number, number], [number, number], [number, number], [number, number]];
      return Array.from({ length: 49 }, (_, n) => {
        const [u, v] = [n / 48, 1 - n / 48];
        const at = (k: 0 | 1) => v ** 3 * a[k] + 3 * u * v * v * b[k] + 3 * u * u * v * c[k] + u ** 3 * d[k];
        return { u, x: at(0), y: at(1) };
      });
    };
    for (let seed = 1; seed < 200; seed++) {
      const next = random(seed);
      const n = 12 + Math.floor(next() * 24);
      const boxes = laid(
        Array.from({ length: n }, () => 15 + 120 * next()),
        false,
        440,
        23,
      );
      const asker = Math.floor(next() * n);
      const { arcs, numbers } = arcsOf(scene(boxes, shares(n, next), { asker, width: 440, size: 27, room: 26 }));
      for (const { word, start, tip } of arcs) {
        const [from, to] = [boxes[asker]!, boxes[word]!];
        if (to.top === from.top) continue;
        const [lower, upper] = to.top < from.top ? [start, tip] : [tip, start];
        expect(lower[1]).toBeLessThanOrEqual(Math.max(from.top, to.top));
        expect(upper[1]).toBeGreaterThanOrEqual(Math.min(from.bottom, to.bottom));
      }
      for (const { x, y, width, height } of numbers.filter(({ plate }) => !plate))
        for (const { path, crossing } of arcs) {
          const seen = points(path).filter(({ u }) => !crossing || u < 0.16 || u > 0.8);
          const under = seen.filter((at) => Math.abs(at.x - x) < width / 2 - 4 && Math.abs(at.y - y) < height / 2 - 4);
          expect(under, `${seed}`).toEqual([]);
        }
    }
  });
  it("to markers are grey, from .05, and numbered only where that is the largest weight", () => {
    const boxes = laid([30, 60, 60, 60, 30]);
    const markers = [true, false, false, false, true];
    const drawn = (weights: number[]) => arcsOf(scene(boxes, weights, { markers, asker: 2 }));
    const small = drawn([0.3, 0.4, 0.2, 0.06, 0.04]);
    expect(small.arcs.map(({ word, marker }) => [word, marker])).toEqual([
      [3, false],
      [0, true],
      [1, false],
    ]);
    expect(small.numbers.map(({ word }) => word).sort()).toEqual([1, 3]);
    expect(drawn([0.5, 0.3, 0.1, 0.1, 0]).numbers.map(({ word }) => word)).toContain(0);
  });
  it("fade with the loudness and are dotted at 0, where the number stays", () => {
    const boxes = laid([60, 60, 60, 60, 60, 60]);
    const at = (loudness: number) => arcsOf(scene(boxes, [0.7, 0.1, 0.1, 0.05, 0.05, 0], { loudness }));
    const [loud, half, silent] = [at(1), at(0.5), at(0)];
    expect(half.arcs.at(-1)!.width).toBeCloseTo(loud.arcs.at(-1)!.width / 2, 6);
    expect(silent.arcs.every(({ dotted }) => dotted)).toBe(true);
    expect(silent.numbers[0]!.weight).toBe(0.7);
  });
  it("do not cross where they begin: the nearer word's begins further out", () => {
    const { arcs } = arcsOf(scene(laid([60, 60, 60, 60, 60, 60]), [0.2, 0.2, 0.2, 0.2, 0.1, 0.1]));
    const starts = arcs.sort((a, b) => a.tip[0] - b.tip[0]).map(({ start }) => start[0]);
    expect(starts).toEqual(starts.slice().sort((a, b) => b - a));
  });
  it("of a word alone are none; its number stands on it", () => {
    const markers = [true, false, true];
    const { arcs, numbers } = arcsOf(scene(laid([30, 60, 30]), [0.03, 0.95, 0.02], { markers, asker: 1 }));
    expect([arcs, numbers.map(({ weight }) => weight)]).toEqual([[], [0.95]]);
  });
});

it("above the first of several lines there is no more room than between them", () => {
  const stage = document.createElement("div");
  for (const words of [12, 60]) {
    const { one, room, gap } = fittedType(stage, [Array(words).fill("words").join(" ")], 440, false);
    expect([one, room + 10 <= gap + 5]).toEqual([false, true]); // 10: see sentence.css
  }
});

it("lines are told by the middle of their words", () => {
  const [first, second] = [
    { left: 0, right: 5, top: 0, bottom: 40 },
    { left: 0, right: 5, top: 90, bottom: 130 },
  ];
  expect(linesOf([second, first, null, { ...first, top: 4 }], 40)).toEqual([1, 0, -1, 0]);
});

it("a habit is measured: more than half of the weight of the words goes to the same neighbour", () => {
  const rows = (previous: number) =>
    Array.from({ length: 5 }, (_, i) =>
      Array.from({ length: 5 }, (_, j) => (j === i - 1 ? previous : (1 - previous) / 4)),
    );
  const markers = [true, false, false, false, false];
  expect(habitOf(rows(0.9), markers)).toBe(-1);
  expect(habitOf(rows(0.4), markers)).toBe(null);
  const drawn = habitArcs(scene(laid([30, 60, 60, 60, 60]), [], { markers, asker: 2 }), rows(0.9), -1);
  expect(drawn.map(({ word }) => word)).toEqual([2, 3]); // not the asker's, not to the marker
});
