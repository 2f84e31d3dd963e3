// Long maps: cells, windows and blocks of them against naive float64 versions; nothing of S × S is made.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Slice } from "../src/compute/attention";
import { grid, type Unit } from "../src/compute/grid";
import { blocksOf, emptySweep, sweep } from "../src/compute/sweep";
import { heldCells, measuredCells, weightCells } from "../src/compute/windows";
import { around, levelsOf, partAt, picture, Tiles } from "../src/compute/zoom";
import type { Measure } from "../src/generated/vocabulary";
import { inSlices } from "../src/state/idle";

/** Numbers that look random, always the same. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const [S, D, BAND] = [4096, 8, 64];
const draw = random(7);
const floats = (n: number, size = 1) => Float32Array.from({ length: n }, () => size * (2 * draw() - 1));
const [q, k] = [floats(S * D, 3), floats(S * D, 3)];
const norms = floats(S).map((one) => Math.abs(one) + 0.1);
const MASKS = {
  full: { kind: "full" },
  causal: { kind: "band", left: Number.POSITIVE_INFINITY, right: 0 },
  band: { kind: "band", left: BAND, right: BAND },
} as const;
const sees = (mask: keyof typeof MASKS, i: number, j: number) =>
  mask === "full" || (mask === "causal" ? j <= i : Math.abs(i - j) <= BAND);

/** All of a row in float64, by the softmax itself. */
function reference(mask: keyof typeof MASKS, i: number, measure: Measure, size = S): Float64Array {
  const score = (j: number) => {
    let sum = 0;
    for (let n = 0; n < D; n++) sum += q[i * D + n]! * k[j * D + n]!;
    return sees(mask, i, j) ? Math.exp(sum / 2) : 0;
  };
  const scores = Float64Array.from({ length: size }, (_, j) => score(j));
  const total = scores.reduce((a, b) => a + b, 0);
  const weights = scores.map((one) => one / total);
  if (measure === "weight") return weights;
  const passed = weights.map((one, j) => one * norms[j]!);
  if (measure === "norm") return passed;
  const all = passed.reduce((a, b) => a + b, 0);
  return weights.map((one, j) => one - passed[j]! / all);
}

const slices = new Map<string, Slice>();
/** A head of `size` tokens; the kernel sends the log-sum-exp of its rows. */
function slice(mask: keyof typeof MASKS, size = S): Slice {
  const name = `${mask}${size}`;
  if (slices.has(name)) return slices.get(name)!;
  const lse = Float64Array.from({ length: size }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < size; j++) {
      let score = 0;
      for (let n = 0; n < D; n++) score += q[i * D + n]! * k[j * D + n]!;
      if (sees(mask, i, j)) sum += Math.exp(score / 2);
    }
    return Math.log(sum);
  });
  const one = {
    S: size,
    K: size,
    d: D,
    scaling: 0.5,
    mask: MASKS[mask],
    terms: [],
    q: q.slice(0, size * D),
    k: k.slice(0, size * D),
    lse,
  };
  slices.set(name, one);
  return one;
}

const near = (found: number, wanted: number) => Math.abs(found - wanted) <= 1e-6 + 1e-5 * Math.abs(wanted);

describe.each(["full", "causal", "band"] as const)("a head of 4,096 tokens, mask %s", (mask) => {
  const weights = weightCells(slice(mask));
  it.each(["weight", "norm", "difference"] as const)("has its cells by %s", (measure) => {
    const cells = measuredCells(weights, norms, measure);
    expect(cells.matrix).toBeUndefined();
    for (let n = 0; n < 200; n++) {
      const i = Math.floor(draw() * S);
      // every other one at the edge of what the query sees
      const edge = i + (n % 4 === 1 ? -BAND : BAND) + (n % 8 < 4 ? 0 : 1);
      const j =
        n % 2 && mask !== "full"
          ? Math.min(S - 1, Math.max(0, mask === "causal" ? i + (n % 3) : edge))
          : Math.floor(draw() * S);
      const wanted = reference(mask, i, measure);
      expect(near(cells.at(i, j), wanted[j]!), `${i} ${j}: ${cells.at(i, j)} for ${wanted[j]}`).toBe(true);
      if (n > 4) continue;
      expect(cells.row(i).every((one, at) => near(one, wanted[at]!))).toBe(true);
      const from = Math.min(j, S - 9);
      const part = cells.window(i, i + 1, from, from + 9);
      expect([...part].every((one, at) => near(one, wanted[from + at]!))).toBe(true);
    }
  });
});

const ROWS = 1500; // long, and yet swept in a moment
const units = (size: number, pieces: number): Unit[] =>
  Array.from({ length: Math.ceil(size / pieces) }, (_, n) => ({
    label: `t${n}`,
    pieces: Array.from({ length: Math.min(pieces, size - n * pieces) }, (_, p) => n * pieces + p),
    segment: 0,
    special: n === 0,
  }));

describe("a long grid", () => {
  const size = 3000;
  const weights = weightCells(slice("causal", size));
  it("merges words and hides tokens where it is looked at, as a short one does", () => {
    const words = units(size, 2).slice(1);
    const found = grid(weights, words, words, { renormalize: true });
    expect(found.values.matrix).toBeUndefined();
    expect(found.peak).toBe(Number.POSITIVE_INFINITY); // not known yet
    for (const r of [0, 7, 1498]) {
      const rows = words[r]!.pieces.map((i) => reference("causal", i, "weight", size));
      const mean = words.map((word) => word.pieces.reduce((sum, j) => sum + (rows[0]![j]! + rows[1]![j]!) / 2, 0));
      const held = mean.reduce((a, b) => a + b, 0);
      expect(found.values.row(r).every((one, c) => near(one, mean[c]! / held))).toBe(true);
      expect(near(found.values.at(r, r >> 1), mean[r >> 1]! / held)).toBe(true);
    }
    expect(found.values.column(3).every(Number.isNaN)).toBe(true); // its rows have to be computed first
  });
});

describe("blocks", () => {
  const values = floats(70 * 90);
  it.each([1, 4, 13, 128])("of %d cells along a side hold the largest by size and the sum", (edge) => {
    const { rows, cols, max, sum } = blocksOf(values, 90, edge);
    expect([rows, cols]).toEqual([Math.ceil(70 / edge), Math.ceil(90 / edge)]);
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < cols; c++) {
        const cells: number[] = [];
        for (let i = r * edge; i < Math.min(70, (r + 1) * edge); i++)
          for (let j = c * edge; j < Math.min(90, (c + 1) * edge); j++) cells.push(values[i * 90 + j]!);
        expect(max[r * cols + c]).toBe(cells.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)));
        expect(sum[r * cols + c]).toBeCloseTo(
          cells.reduce((a, b) => a + b, 0),
          4,
        );
      }
  });
});

/** All of it at once. */
function run(job: Iterator<void>): void {
  while (!job.next().done);
}

describe("a sweep of a long map", () => {
  const cells = measuredCells(weightCells(slice("full", ROWS)), norms.subarray(0, ROWS), "difference");
  const all = new Float32Array(ROWS * ROWS);
  for (let i = 0; i < ROWS; i++) all.set(reference("full", i, "difference", ROWS), i * ROWS);
  const state = emptySweep(cells);
  run(sweep(cells, state));
  it("knows what is true of all cells", () => {
    const { peak, largest, sums } = cells.swept.value!;
    const sorted = all.map(Math.abs).sort().reverse();
    expect(near(peak, sorted[0]!)).toBe(true);
    expect(largest.map((n) => Math.abs(all[n]!))).toEqual([...sorted.subarray(0, 1000)]);
    expect(largest).toHaveLength(1000);
    for (const j of [0, 700, ROWS - 1]) {
      let sum = 0;
      for (let i = 0; i < ROWS; i++) sum += all[i * ROWS + j]!;
      expect(Math.abs(sums[j]! - sum)).toBeLessThan(1e-4);
      expect(near(cells.column(j)[9]!, all[9 * ROWS + j]!)).toBe(true);
    }
  });
  const naive = (row: number, col: number, edge: number, by: "max" | "mean") => {
    const part: number[] = [];
    for (let i = row; i < Math.min(ROWS, row + edge); i++)
      for (let j = col; j < Math.min(ROWS, col + edge); j++) part.push(all[i * ROWS + j]!);
    return by === "max"
      ? part.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a))
      : part.reduce((a, b) => a + b, 0) / part.length;
  };
  it.each(["max", "mean"] as const)("is seen by %s at every level, also at its end", (by) => {
    const tiles = new Tiles(cells);
    const size = { rows: ROWS, cols: ROWS };
    for (const level of levelsOf(size, 200)) {
      for (const from of [0, 333, ROWS]) {
        const part = partAt(size, level, 200, from, 1000);
        run(tiles.fill(level, part));
        const { values, cols } = picture(size, state.blocks, tiles, level, part, by);
        for (const n of [0, cols - 1, values.length - 1, Math.floor(draw() * values.length)]) {
          const [r, c] = [Math.floor(n / cols), n % cols];
          const wanted = naive(part.row + r * level.edge, part.col + c * level.edge, level.edge, by);
          expect(near(values[n]!, wanted), `${JSON.stringify(level)} ${r} ${c}`).toBe(true);
        }
      }
    }
  });
});

describe("zoom", () => {
  const size = { rows: 4096, cols: 4096 };
  it("goes from all of the map to single cells, all of it as large as there is room, then in whole blocks and pixels", () => {
    const levels = levelsOf(size, 512);
    expect(levels[0]).toEqual({ edge: 8, px: 1 });
    expect(levels.slice(1, 4).map(({ edge }) => edge)).toEqual([4, 2, 1]);
    expect(levels.at(-1)).toEqual({ edge: 1, px: 24 });
    expect(partAt(size, levels[0]!, 512, 100, 100)).toEqual({ row: 0, col: 0, rows: 4096, cols: 4096 });
    for (const side of [171, 219, 350, 454, 505]) {
      const [first, second] = levelsOf(size, side);
      expect(first!.edge % 8).toBe(0); // of blocks that the sweep makes, 8
      expect(Math.ceil(4096 / first!.edge) * first!.px).toBeCloseTo(side, 9); // the room is used
      expect(first!.px).toBeGreaterThanOrEqual(0.85);
      expect(first!.px).toBeLessThan(1.8);
      expect(second!.px / second!.edge).toBeGreaterThan(1.4 * (first!.px / first!.edge));
      expect(partAt(size, first!, side, 100, 100)).toEqual({ row: 0, col: 0, rows: 4096, cols: 4096 });
    }
  });
  it("keeps the cell under the pointer, and ends at the map's ends", () => {
    const levels = levelsOf(size, 512);
    const [before, after] = [levels[0]!, levels[1]!];
    const to = around({ row: 0, col: 0, rows: 4096, cols: 4096 }, before, after, 256, 128);
    expect(to).toEqual({ row: 512, col: 1024 });
    expect(partAt(size, levels.at(-1)!, 512, 1e6, -5)).toEqual({ row: 4096 - 21, col: 0, rows: 21, cols: 21 });
  });
});

describe("work in slices", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  it("takes a slice a frame, ends where it is cancelled by another head, and is gone on with", () => {
    vi.useFakeTimers();
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => ++now); // each step takes a millisecond
    const cells = weightCells(slice("full", ROWS));
    const state = emptySweep(cells);
    let steps = 0;
    const rows = sweep(cells, state);
    const job: Iterator<void> = {
      next: () => {
        steps++;
        return rows.next();
      },
    };
    const stop = inSlices(job);
    vi.advanceTimersByTime(16);
    const taken = steps;
    expect(taken).toBeGreaterThan(3);
    expect(taken).toBeLessThanOrEqual(8);
    vi.advanceTimersByTime(16);
    expect(steps).toBe(2 * taken);
    stop();
    vi.advanceTimersByTime(1000);
    expect(steps).toBe(2 * taken);
    expect(cells.swept.value).toBeNull();
    inSlices(job);
    vi.advanceTimersByTime(100 * ROWS);
    expect(state.rowsDone).toBe(ROWS);
    expect(cells.swept.value).not.toBeNull();
  });
  it("does what is wanted first before what waits", () => {
    vi.useFakeTimers();
    const order: string[] = [];
    function* job(name: string): Generator<void> {
      order.push(name);
      yield;
    }
    inSlices(job("map"));
    inSlices(job("tiles"), { first: true });
    vi.advanceTimersByTime(200);
    expect(order).toEqual(["tiles", "map"]);
  });
  it("goes on with the others where a job fails, and says so", () => {
    vi.useFakeTimers();
    const order: string[] = [];
    function* job(name: string): Generator<void> {
      if (name === "broken") throw new Error(name);
      order.push(name);
      yield;
    }
    inSlices(job("broken"));
    inSlices(job("there"));
    expect(() => vi.advanceTimersByTime(200)).toThrow("broken");
    vi.advanceTimersByTime(200);
    inSlices(job("later"));
    vi.advanceTimersByTime(200);
    expect(order).toEqual(["there", "later"]);
  });
});

it("a map that came as it is stays as it is", () => {
  const values = floats(6);
  const held = heldCells(values, 3);
  expect(held.window(0, 2, 0, 3)).toEqual(values);
  expect([...held.column(1)]).toEqual([values[1], values[4]]);
  expect([...held.window(1, 2, 1, 3)]).toEqual([values[4], values[5]]);
});
