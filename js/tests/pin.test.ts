// The cell that is meant, and what a question quotes of it: 2,000 walks over random heads, texts, pins and pictures.
import { signal } from "@preact/signals";
import { describe, expect, test } from "vitest";
import type { TokenSide } from "../src/compute/grid";
import { heldCells } from "../src/compute/windows";
import type { Synced } from "../src/kernel/synced";
import { createHeadGrid } from "../src/state/headgrid";
import { isAboveEven, quotedWeight, strongestWord } from "../src/state/pin";
import type { ShownHead } from "../src/state/shownhead";
import type { Store } from "../src/state/store";

const DIGITS = 3; // of a weight that is quoted

/** mulberry32 */
function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const sideOf = (tokens: string[], words: number[]): TokenSide => ({
  tokens,
  pieces: tokens,
  continuation: "##",
  words,
  segments: tokens.map(() => 0),
  special: tokens.map((one) => Number(one === "[CLS]" || one === "[SEP]")),
});

const CAT = sideOf(["[CLS]", "the", "cat", ",", "##s", "[SEP]"], [-1, 0, 1, 2, 3, -1]);

describe("the strongest word of a row", () => {
  test("is none of the template, no sign, not the word itself, and above an even share", () => {
    const row = Float32Array.from([0.4, 0.18, 0.1, 0.2, 0.02, 0.1]);
    expect(strongestWord(row, CAT, 2)).toBe(1);
    expect(strongestWord(row, CAT, 1)).toBe(null); // "cat" has less than a sixth
    expect(strongestWord(new Float32Array(6).fill(1 / 6), CAT, null)).toBe(null);
  });

  test("sums the pieces of a word, and is the strongest of them", () => {
    const side = sideOf(["[CLS]", "cat", "un", "##kind", "[SEP]"], [-1, 0, 1, 1, -1]);
    expect(strongestWord(Float32Array.from([0.1, 0.3, 0.15, 0.25, 0.2]), side, null)).toBe(3);
    expect(strongestWord(Float32Array.from([0.1, 0.3, 0.15, 0.25, 0.2]), side, 2)).toBe(1);
  });
});

/** A page's selection over random heads of random texts. */
class Walk {
  readonly next: () => number;
  readonly synced: Record<string, { value: unknown }>;
  readonly shown;
  readonly head;

  constructor(seed: number) {
    this.next = random(seed);
    this.synced = Object.fromEntries(
      Object.entries({
        query: null,
        key: null,
        units: "pieces",
        hide_special: false,
        renormalize: false,
        pair_filter: "all",
      }).map(([name, value]) => [name, signal<unknown>(value)]),
    );
    this.shown = signal(this.anyHead(this.anyText()));
    this.head = createHeadGrid({ synced: this.synced as unknown as Synced, shownHead: this.shown } as unknown as Store);
  }

  upTo(n: number): number {
    return Math.floor(this.next() * n);
  }

  anyText(): ShownHead["overview"] {
    const tokens = ["[CLS]"];
    const words = [-1];
    const size = this.upTo(9);
    for (let n = 0; n < size; n++) {
      const isPiece = n > 0 && this.next() < 0.3;
      tokens.push(isPiece ? "##ing" : ["cat", "milk", ",", "the", "[MASK]", "7"][this.upTo(6)]!);
      words.push(isPiece ? words.at(-1)! : words.length);
    }
    const side = sideOf([...tokens, "[SEP]"], [...words, -1]);
    return { queries: side, keyside: side, square: true, pair: false, spans: [] } as unknown as ShownHead["overview"];
  }

  /** Softmaxes of noise: from nearly even rows to rows with one weight, some of exact zeros. */
  anyHead(overview: ShownHead["overview"]): ShownHead {
    const n = overview.queries.tokens.length;
    const [sharpness, isEven] = [this.upTo(9), this.next() < 0.1];
    const matrix = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      const powers = Array.from({ length: n }, () => (isEven ? 1 : Math.exp(sharpness * this.next() * 3)));
      const sum = powers.reduce((a, b) => a + b);
      for (let j = 0; j < n; j++) matrix[i * n + j] = powers[j]! / sum;
    }
    const weights = heldCells(matrix, n);
    const measure = this.next() < 0.8 ? "weight" : "norm";
    const values =
      measure === "weight"
        ? weights
        : heldCells(
            matrix.map((x) => 3 * x),
            n,
          );
    return { overview, weights, values, measure, layerMap: null, overlays: [] } as unknown as ShownHead;
  }

  put(pins: { query?: number | null; key?: number | null }): void {
    for (const [name, piece] of Object.entries(pins)) this.synced[name]!.value = piece;
  }

  step(): void {
    const { overview } = this.shown.value;
    const n = overview.queries.tokens.length;
    const acts = [
      () => (this.shown.value = this.anyHead(overview)),
      () => this.put({ query: this.upTo(n), key: null }), // a word of the sentence
      () => this.put({ query: this.upTo(n), key: this.upTo(n) }), // a cell
      () => this.put({ key: this.upTo(n) }),
      () => this.put({ query: null, key: null }),
      () => (this.synced.units!.value = this.next() < 0.5 ? "words" : "pieces"),
      () => (this.synced.hide_special!.value = this.next() < 0.5),
      () => (this.synced.renormalize!.value = this.next() < 0.5),
      () => {
        const text = this.anyText();
        const there = (piece: unknown) =>
          piece !== null && (piece as number) < text.queries.tokens.length ? piece : null;
        const { query, key } = this.synced;
        this.put({ query: there(query!.value) as number | null, key: there(key!.value) as number | null });
        this.shown.value = this.anyHead(text);
      },
    ];
    acts[this.upTo(acts.length)]!();
  }

  quoted(): number | null {
    const { weights, measure } = this.shown.value;
    const [focus, grid] = [this.head.focus.value, this.head.grid.value];
    return quotedWeight({ focus, weights, grid, isOfWeights: measure === "weight", digits: DIGITS });
  }
}

test("2,000 walks end in no question, or in one about a number that is shown and above an even share", () => {
  let [quoted, unpinned] = [0, 0];
  const wrong: string[] = [];
  for (let seed = 0; seed < 2000; seed++) {
    const walk = new Walk(seed);
    for (let n = 0; n < 6; n++) {
      walk.step();
      const weight = walk.quoted();
      const { weights, measure, overview } = walk.shown.value;
      const isPinned = walk.synced.query!.value !== null || walk.synced.key!.value !== null;
      if (weight === null) {
        unpinned += Number(!isPinned);
        continue;
      }
      quoted++;
      const { query, key, pinnedQuery, pinnedKey } = walk.head.focus.value;
      const { rows, cols, values } = walk.head.grid.value;
      const r = rows.findIndex((unit) => unit.pieces.includes(query));
      const c = cols.findIndex((unit) => unit.pieces.includes(key));
      const isSame = r >= 0 && c >= 0 && (measure !== "weight" || Math.abs(values.at(r, c) - weight) < 1e-6);
      const isListed = pinnedKey || cols.filter((_, n) => values.at(r, n) > weight).length < 6; // in words, in full
      const isShown = isSame && pinnedQuery && (measure !== "weight" || isListed);
      const isAbove = Number(weight.toFixed(DIGITS)) * overview.queries.tokens.length > 1; // as it is read
      if (!isPinned || !isShown || !isAbove || weights.row(query)[key] !== weight)
        wrong.push(`walk ${seed}, step ${n}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(Math.min(quoted, unpinned)).toBeGreaterThan(1000); // both are met
});

test("a cell that was clicked stays through heads; the key of a row follows them", () => {
  const walk = new Walk(1);
  const text = { ...walk.anyText(), queries: CAT, keyside: CAT } as ShownHead["overview"];
  let moved = 0;
  for (let n = 0; n < 50; n++) {
    walk.shown.value = walk.anyHead(text);
    walk.put({ query: 1, key: 4 });
    expect(walk.head.focus.value).toMatchObject({ query: 1, key: 4, pinnedKey: true });
    walk.put({ query: 1, key: null });
    const row = walk.shown.value.weights.row(1);
    const word = [2, 4].reduce((a, b) => (row[b]! > row[a]! ? b : a)); // "the" is the query's own
    const { key } = walk.head.focus.value;
    if (isAboveEven(row[word]!, 6)) expect(key).toBe(word);
    else expect(row[key]).toBe(Math.max(...row));
    moved += Number(key !== 2);
  }
  expect(moved).toBeGreaterThan(5);
});
