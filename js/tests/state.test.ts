// What is derived from the selection: the displayed grid, the query and key in focus, the sheet of neurons, the lines.
import { beforeEach, describe, expect, it } from "vitest";
import { strongestKey } from "../src/compute/attention";
import { type Grid, grid as gridOf } from "../src/compute/grid";
import { chooseLines, type Series } from "../src/compute/linechoice";
import {
  cellFacts,
  type KeyOrder,
  type NeuronOrder,
  neuronSheet,
  softmaxSteps,
  termContrasts,
} from "../src/compute/neuronsheet";
import type { ScoreTerm } from "../src/compute/scoreterms";
import { heldCells, weightCells } from "../src/compute/windows";
import { TRAIT_NAMES, type Traits } from "../src/generated/vocabulary";
import { synced as bind } from "../src/kernel/synced";
import { addedText } from "../src/paint/format";
import { createHeadGrid } from "../src/state/headgrid";
import { bench, FakeModel, noise, overviewOf, TOKENS, totals, traitsOf } from "./fake";

describe("display", () => {
  const PAIR = ["[CLS]", "un", "##do", "it", "[SEP]", "now", "[SEP]"];
  const pairOverview = () => {
    const made = overviewOf(PAIR, { pair: true });
    made.header.queries.words = [-1, 0, 0, 1, -1, 2, -1];
    made.header.queries.segments = [0, 0, 0, 0, 0, 1, 1];
    return made;
  };
  const open = (more: Partial<Traits> = {}) => {
    const b = bench(pairOverview(), more);
    const { weights } = b.store.shownHead.value;
    return { ...b, display: createHeadGrid(b.store), alpha: (i: number, j: number) => weights.at(i, j) };
  };
  const labels = (grid: Grid) => [grid.rows.map((u) => u.label), grid.cols.map((u) => u.label)];

  it("is the head's weights as they are", () => {
    const { display, store } = open();
    expect(labels(display.grid.value)).toEqual([PAIR, PAIR]);
    expect(display.grid.value.values).toEqual(store.shownHead.value.weights);
    for (let i = 0; i < 7; i++) expect(display.grid.value.values.row(i).reduce((a, b) => a + b)).toBeCloseTo(1, 6);
  });
  const [A, B] = [
    [0, 1, 2, 3, 4],
    [5, 6],
  ];
  it.each([
    ["AA", A, A],
    ["AB", A, B],
    ["BA", B, A],
    ["BB", B, B],
    ["all", [...A, ...B], [...A, ...B]],
  ] as const)("filters sentence pairs: %s", (pair_filter, rows, cols) => {
    const { display, alpha } = open({ pair_filter });
    expect(labels(display.grid.value)).toEqual([rows.map((i) => PAIR[i]), cols.map((j) => PAIR[j])]);
    expect([...display.grid.value.values.matrix!]).toEqual(rows.flatMap((i) => cols.map((j) => alpha(i, j))));
  });
  it("merges words: columns summed, rows averaged", () => {
    const { display, alpha } = open({ units: "words" });
    expect(labels(display.grid.value)[0]).toEqual(["[CLS]", "undo", "it", "[SEP]", "now", "[SEP]"]);
    const merged = (alpha(1, 1) + alpha(1, 2) + alpha(2, 1) + alpha(2, 2)) / 2;
    expect(display.grid.value.values.at(1, 1)).toBeCloseTo(merged, 6);
  });
  it("hides special tokens, and renormalises rows only when asked", () => {
    const hidden = open({ hide_special: true });
    const words = [1, 2, 3, 5];
    expect(labels(hidden.display.grid.value)[0]).toEqual(["un", "##do", "it", "now"]);
    const held = words.reduce((sum, j) => sum + hidden.alpha(1, j), 0);
    expect(held).toBeLessThan(0.999);
    const shown = hidden.display.grid.value.values.row(0);
    expect(shown.reduce((a, b) => a + b)).toBeCloseTo(held, 6);
    expect(hidden.display.grid.value.values.at(0, 0)).toBeCloseTo(hidden.alpha(1, 1), 6);
    const scaled = open({ hide_special: true, renormalize: true });
    expect(scaled.display.grid.value.values.at(0, 0)).toBeCloseTo(scaled.alpha(1, 1) / held, 6);
    const alone = open({ renormalize: true }); // nothing is hidden: nothing to scale
    expect(alone.display.grid.value.values.at(0, 0)).toBe(alone.alpha(0, 0));
  });
  it("finds the pinned row and column by any piece, and none where they are filtered out", () => {
    const { display, synced } = open({ query: 2, key: 4, units: "words" });
    expect([display.row.value, display.col.value]).toEqual([1, 3]);
    synced.put({ hide_special: true });
    expect([display.row.value, display.col.value]).toEqual([0, null]);
    synced.put({ pair_filter: "BB" });
    expect(display.row.value).toBeNull();
    synced.put({ query: null });
    expect(display.row.value).toBeNull();
  });
  it("has in focus what is pinned, else the clearest word and the key it looks at most", () => {
    const { display, synced, store, alpha } = open();
    const words = [1, 2, 3, 5];
    const cells = words.flatMap((i) => words.filter((j) => j !== i).map((j) => [i, j] as const));
    const [clearest] = cells.reduce((a, b) => (alpha(b[0], b[1]) > alpha(a[0], a[1]) ? b : a));
    const key = strongestKey(store.shownHead.value.weights.row(clearest));
    expect(display.focus.value).toEqual({ query: clearest, key, pinnedQuery: false, pinnedKey: false });
    synced.put({ query: 3, key: 0 });
    expect(display.focus.value).toEqual({ query: 3, key: 0, pinnedQuery: true, pinnedKey: true });
    synced.put({ query: 99, key: -5 }); // of another text
    expect(display.focus.value).toMatchObject({ query: clearest, pinnedQuery: false, pinnedKey: false });
  });
});

describe("cells of a long text", () => {
  it("are kept as far as their room goes, those used last", () => {
    const [S, d] = [30_000, 1]; // 480 kB each
    const slice = {
      S,
      K: S,
      d,
      scaling: 1,
      mask: { kind: "full" } as const,
      terms: [],
      q: noise(S, 3),
      k: noise(S, 4),
    };
    const first = cellFacts(slice, 0, 1);
    const second = cellFacts(slice, 1, 1);
    expect(cellFacts(slice, 0, 1)).toBe(first);
    for (let query = 2; query < 9; query++) cellFacts(slice, query, 1);
    expect(cellFacts(slice, 0, 1)).toBe(first); // used after the second
    expect(cellFacts(slice, 1, 1)).not.toBe(second);
  });
});

describe("neurons", () => {
  const [S, d] = [20, 8];
  const slice = {
    S,
    K: S,
    d,
    scaling: 0.25,
    mask: { kind: "full" } as const,
    terms: [],
    q: noise(S * d, 3),
    k: noise(S * d, 4),
  };
  const all = Array.from({ length: S }, (_, n) => n);
  const facts = cellFacts(slice, 2, 7);
  const sheet = (neurons: NeuronOrder, keys: KeyOrder = "position", more = {}) =>
    neuronSheet(slice, facts, { neurons, keys, all: true, left: all, ...more });
  const falls = (values: number[]) => values.every((value, n) => n === 0 || value <= values[n - 1]!);

  it("knows scores, weights and contributions of a cell", () => {
    const score = (j: number) => {
      let dot = 0;
      for (let n = 0; n < d; n++) dot += slice.q[2 * d + n]! * slice.k[j * d + n]!;
      return dot * slice.scaling;
    };
    const scores = all.map(score);
    expect(Array.from(facts.scores)).toEqual(scores.map((s) => expect.closeTo(s, 9)));
    const total = scores.reduce((sum, s) => sum + Math.exp(s), 0);
    expect(facts.alpha[7]).toBeCloseTo(Math.exp(scores[7]!) / total, 9);
    const others = (scores.reduce((a, b) => a + b) - scores[7]!) / (S - 1);
    expect(facts.terms.reduce((a, b) => a + b)).toBeCloseTo(scores[7]! - others, 5);
    expect(facts.carriers.net).toBeCloseTo(scores[7]! - others, 5);
  });
  it("orders neurons by contribution, by index and by |q|, and the strips with them", () => {
    expect(falls(sheet("contribution").neurons.map((n) => facts.terms[n]!))).toBe(true);
    expect(sheet("index").neurons).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(falls(sheet("query").neurons.map((n) => Math.abs(facts.q[n]!)))).toBe(true);
    for (const order of ["contribution", "index", "query"] as const) {
      const { neurons, keys, qShown, kShown, productsShown, marked } = sheet(order);
      neurons.forEach((n, column) => {
        expect(qShown[column]).toBe(slice.q[2 * d + n]);
        expect(kShown[3 * d + column]).toBe(slice.k[keys[3]! * d + n]);
        expect(productsShown[3 * d + column]).toBeCloseTo(slice.q[2 * d + n]! * slice.k[keys[3]! * d + n]!, 5);
        expect(marked[column]).toBe(facts.carriers.set.includes(n));
      });
    }
  });
  it("orders keys by position, attention and score", () => {
    expect(sheet("index", "position").keys).toEqual(all);
    expect(falls(sheet("index", "attention").keys.map((j) => facts.alpha[j]!))).toBe(true);
    expect(falls(sheet("index", "score").keys.map((j) => facts.scores[j]!))).toBe(true);
  });
  it("lists the most attended keys first, the one in focus always, and counts the rest", () => {
    const least = all.reduce((a, b) => (facts.alpha[b]! < facts.alpha[a]! ? b : a));
    const weakest = cellFacts(slice, 2, least);
    const choice = { neurons: "index", keys: "position", all: false, left: all } as const;
    const { keys, hidden } = neuronSheet(slice, weakest, choice);
    const best = [...all].sort((a, b) => facts.alpha[b]! - facts.alpha[a]!).slice(0, 10);
    expect(new Set(keys)).toEqual(new Set([...best, least]));
    expect(keys.length + hidden).toBe(S);
    const filtered = neuronSheet(slice, weakest, { ...choice, left: [1, 2, 3] });
    expect(filtered.keys).toEqual([1, 2, 3, least].sort((a, b) => a - b));
  });
  it("scales q and k together, products apart, symmetrically about zero", () => {
    const { qShown, kShown, productsShown, vectorScale, productScale, scoreScale } = sheet("index");
    const most = (values: Iterable<number>) => Math.max(...Array.from(values, Math.abs));
    expect(vectorScale).toBe(Math.max(most(qShown), most(kShown)));
    expect(productScale).toBe(most(productsShown));
    expect(scoreScale).toBe(most(facts.scores));
  });
  it("has steps from q·k to α that a reader can follow", () => {
    const steps = softmaxSteps(slice, facts);
    expect(steps.scaled).toBeCloseTo(steps.dot * 0.25, 9);
    expect(steps.score).toBeCloseTo(steps.scaled, 9);
    expect([steps.seen, steps.shift, steps.added, steps.masked]).toEqual([S, 0, [], false]);
    expect(Math.exp(steps.score) / steps.sum).toBeCloseTo(steps.alpha, 9);
  });
  it("shifts the exponents where powers would be huge", () => {
    const large = { ...slice, scaling: 40 };
    const steps = softmaxSteps(large, cellFacts(large, 2, 7));
    expect(steps.shift).toBeGreaterThan(20);
    expect(Number.isFinite(steps.sum)).toBe(true);
    expect(Math.exp(steps.score - steps.shift) / steps.sum).toBeCloseTo(steps.alpha, 9);
  });
  it("counts only visible keys, and says that a key is masked", () => {
    const causal = { ...slice, mask: { kind: "band", left: 9, right: 0 } as const };
    expect(softmaxSteps(causal, cellFacts(causal, 2, 1))).toMatchObject({ seen: 3, masked: false });
    expect(softmaxSteps(causal, cellFacts(causal, 2, 7))).toMatchObject({ masked: true, alpha: 0 });
  });
  it("tells what q·k leaves out, and ranks a key by q·k", () => {
    const numbers = noise(2 * S - 1, 11).map((x, n) => (n === 7 - 2 + S - 1 ? 100 : x)); // larger than any q·k
    const vectors = noise(3 * d, 12);
    const rows = Array.from({ length: 2 * S - 1 }, (_, n) => Math.min(2, n));
    const terms: ScoreTerm[] = [
      { name: "relative position", of: "distance", numbers },
      { name: "position to content", of: "key", vectors, rows },
    ];
    const plain = facts;
    const placed = { ...slice, terms };
    const told = cellFacts({ ...placed, lse: totals(placed) }, 2, 7);
    const ofKey = (j: number) => {
      let sum = 0;
      for (let n = 0; n < d; n++) sum += slice.k[j * d + n]! * vectors[Math.min(2, j - 2 + S - 1) * d + n]!;
      return sum;
    };
    const ofDistance = (j: number) => numbers[j - 2 + S - 1]!;
    const meanOf = (at: (j: number) => number) =>
      all.filter((j) => j !== 7).reduce((sum, j) => sum + at(j), 0) / (S - 1);
    const [position, content] = termContrasts(placed, 2, 7);
    expect(position!.value).toBe(ofDistance(7));
    expect(position!.others).toBeCloseTo(meanOf(ofDistance), 6);
    expect(content!.value).toBeCloseTo(ofKey(7), 6);
    expect(content!.others).toBeCloseTo(meanOf(ofKey), 6);
    expect(told.scores[7]).toBeCloseTo(plain.scores[7]! + ofDistance(7) + ofKey(7), 6);
    expect(told.rank).toBe(plain.rank); // by score it is another
    expect(told.rank).not.toBe(1 + told.scores.filter((score) => score > told.scores[7]!).length);
    expect(told.carriers).toEqual(plain.carriers);
    const { added, scaled, score } = softmaxSteps(placed, told);
    expect(addedText(added)).toMatch(/^ [+−] \d+\.\d\d \(relative position\) [+−] \d\.\d\d \(position to content\)$/);
    expect(score).toBeCloseTo(scaled + added[0]!.value + added[1]!.value, 6);
  });
  it("names the bias that a model adds", () => {
    const bias = noise(S * S, 9);
    const masked = { ...slice, mask: { kind: "bias" as const, bias } };
    const biased = { ...masked, lse: totals(masked) };
    const steps = softmaxSteps(biased, cellFacts(biased, 2, 7));
    expect(steps.added).toEqual([{ name: "mask", value: bias[2 * S + 7] }]);
    expect(steps.score).toBeCloseTo(steps.scaled + bias[2 * S + 7]!, 6);
    expect(weightCells(biased).at(2, 7)).toBeCloseTo(steps.alpha, 6);
  });
});

describe("lines", () => {
  const unit = (label: string, n: number) => ({ label, pieces: [n], segment: 0, special: false });
  const grid = (values: number[]) =>
    gridOf(heldCells(Float32Array.from(values), 2), ["a", "b"].map(unit), ["x", "y"].map(unit));
  const one: Series = { name: "one", grid: grid([0.5, 0.25, 0, 0.75]), muted: false };
  const two: Series = { name: "two", grid: grid([0.125, 0.0625, 1, 0]), muted: false };
  const drawn = (...args: Parameters<typeof chooseLines>) => {
    const { lines, passed } = chooseLines(...args);
    return [lines.map(({ series, row, col }) => [series, row, col]), passed];
  };

  it("are the weights from the threshold on, weakest first, so that the strongest lie on top", () => {
    expect(drawn([one, two], 0.25, null, null)).toEqual([
      [
        [0, 0, 1],
        [0, 0, 0],
        [0, 1, 1],
        [1, 1, 0],
      ],
      4,
    ]);
  });
  it("are not drawn for nothing, also without a threshold", () => {
    expect(drawn([one], 0, null, null)[1]).toBe(3);
  });
  it("are fewer where they are long, the strongest of them", () => {
    const S = 600;
    const tokens = Array.from({ length: S }, (_, n) => unit(`${n}`, n));
    const weights = Float32Array.from({ length: S * S }, (_, n) => 1 + ((n * 7919) % (S * S)) / S / S);
    const long: Series = { name: "long", grid: gridOf(heldCells(weights, S), tokens, tokens), muted: false };
    const { lines, passed } = chooseLines([long], 1, null, null);
    const length = lines.reduce((sum, { row, col }) => sum + Math.abs(row - col) + 35, 0);
    expect(passed).toBe(S * S);
    expect(length).toBeGreaterThanOrEqual(320_000);
    expect(length).toBeLessThan(320_000 + S + 35);
    const ranked = [...weights].sort((a, b) => b - a);
    expect(lines.map(({ weight }) => weight)).toEqual(ranked.slice(0, lines.length).reverse());
  });
  it("leave out heads that are switched off and keep the others' colours", () => {
    expect(drawn([{ ...one, muted: true }, two], 0.1, null, null)).toEqual([
      [
        [1, 0, 0],
        [1, 1, 0],
      ],
      2,
    ]);
  });
  it("are those of one query or of one key", () => {
    expect(drawn([one], 0, 0, null)).toEqual([
      [
        [0, 0, 1],
        [0, 0, 0],
      ],
      2,
    ]);
    expect(drawn([one], 0, null, 1)).toEqual([
      [
        [0, 0, 1],
        [0, 1, 1],
      ],
      2,
    ]);
  });
  it("keep the strongest when there are too many, and say how many there are", () => {
    expect(drawn([one, two], 0, null, null, 2)).toEqual([
      [
        [0, 1, 1],
        [1, 1, 0],
      ],
      6,
    ]);
  });
});

describe("traits", () => {
  let model: FakeModel;
  beforeEach(() => {
    model = new FakeModel(traitsOf(overviewOf(TOKENS)));
  });
  it("are each a signal that follows the kernel", () => {
    const synced = bind(model.any, new AbortController().signal);
    for (const name of TRAIT_NAMES) expect(synced[name].value).toBe(model.state[name]);
    model.set("layer", 2);
    expect(synced.layer.value).toBe(2);
  });
  it("change together and are saved once", () => {
    const synced = bind(model.any, new AbortController().signal);
    const seen: number[][] = [];
    synced.layer.subscribe((layer) => seen.push([layer, synced.head.peek()]));
    synced.put({ head: 3, layer: 1 });
    expect(seen.at(-1)).toEqual([1, 3]);
    expect([model.state.layer, model.state.head, model.saves]).toEqual([1, 3, 1]);
  });
  it("are let go of when the view ends", () => {
    const life = new AbortController();
    const synced = bind(model.any, life.signal);
    expect(model.listeners).toBe(TRAIT_NAMES.length);
    life.abort();
    expect(model.listeners).toBe(0);
    model.set("layer", 2);
    expect(synced.layer.value).toBe(0);
  });
});
