// Figures with hostile and with everyday content: drawn by figures.test.ts, and written as files by
// `node tests/print_samples.mjs` for tests/unit/test_figures.py, where a strict XML parser reads them.

import { LIGHT } from "../src/export/figure";
import { atlasSvg, headLinesSvg, headMatrixSvg, neuronsSvg } from "../src/export/figures";

export const HOSTILE = [
  "<img src=x onerror=window.__pwn=1>",
  "</script><script>window.__pwn=1</script>",
  '" onload="alert(1)',
  "'",
  "&lt;",
  "&#0;",
  "]]>",
  "<!--",
  "\u0000\u0001\u0008\u000b\u001f\u007f\u0085",
  "\u202eabc",
  "a\u200db",
  "\ud800",
  "x\udfff",
  "\ufffe\uffff",
  "日本語",
  "שלום",
  "👩‍👩‍👧",
  "\t\n\r",
  "",
];
export const EVERYDAY =
  "[CLS] the cat sat on the mat because it was tired . [SEP] the dog lay on the rug . [SEP]".split(" ");

const wave = (n: number) => Math.abs(Math.sin(1 + 12.9898 * n) ** 8);

export function samples(tokens: string[]): Record<string, string> {
  const n = tokens.length;
  const d = 32;
  const hostile = tokens === HOSTILE;
  const about = {
    title: hostile ? `L1·H8 ${HOSTILE[0]}` : "L1·H8, attention",
    description: hostile ? HOSTILE.join(" ") : "Most attention goes to the next token.",
    caption: hostile ? HOSTILE : ["model: all-MiniLM-L6-v2 (float32)", `text: ${"a long text ".repeat(30)}`],
  };
  const values = Float32Array.from({ length: n * n }, (_, at) => wave(at));
  const alpha = { lo: 0, hi: 1, scale: "weight" as const };
  const vectors = { lo: -1, hi: 1, scale: "signed" as const };
  const numbers = (seed: number) => Float64Array.from({ length: d }, (_, at) => Math.sin(seed * 7.3 + at * at));
  const large = 60;
  const many = Float32Array.from({ length: large * large }, (_, at) => (at === 61 ? Number.NaN : wave(at)));
  const thumbs = Uint8Array.from({ length: 6 * 12 * 21 * 21 }, (_, at) => 255 * wave(at));
  return {
    matrix: headMatrixSvg({
      ...about,
      rows: tokens,
      cols: tokens,
      values,
      range: alpha,
      legend: "α, this head",
      row: 2,
      col: 3,
    }),
    large: headMatrixSvg({
      ...about,
      rows: Array.from({ length: large }, (_, at) => tokens[at % n]!),
      cols: Array.from({ length: large }, (_, at) => tokens[at % n]!),
      values: many,
      range: alpha,
      legend: "α, this head",
    }),
    lines: headLinesSvg({
      ...about,
      rows: tokens,
      cols: tokens,
      heads: [
        { name: hostile ? HOSTILE[1]! : "L1·H8", color: "#235fb2", dash: [] },
        { name: hostile ? HOSTILE[2]! : "L0·H2", color: "#b27c2e", dash: [7, 4] },
      ],
      lines: Array.from({ length: n * n }, (_, at) => ({
        head: at % 2,
        row: Math.floor(at / n),
        col: at % n,
        weight: wave(at),
      })).filter((line) => line.weight > 0.1),
      full: 1,
      scale: "opacity and width: weight, from 0.1 to 1",
      row: 2,
      col: null,
    }),
    neurons: neuronsSvg({
      ...about,
      query: tokens[2]!,
      q: numbers(0),
      marked: Array.from({ length: d }, (_, at) => at < 5),
      markedText: "5 neurons = 80 %",
      keys: tokens.map((label, at) => ({
        label,
        k: numbers(at),
        products: numbers(at + 0.5),
        score: at === 4 ? Number.NEGATIVE_INFINITY : 5 * Math.sin(at),
        weight: wave(at),
      })),
      pinned: 3,
      vectors,
      products: vectors,
      scoreText: "q·k ÷ √32",
      formula: hostile ? HOSTILE.join(" ") : "cat → sat   q·k = 30.68 → ÷ √32 = 5.42 → softmax over 21 keys = 0.541",
    }),
    atlas: atlasSvg({
      ...about,
      layers: [0, 1, 2, 3, 4, 5],
      heads: Array.from({ length: 12 }, (_, h) => h),
      thumbs,
      rows: 21,
      cols: 21,
      legend: "α, each head to its own maximum",
      range: { lo: 0, hi: 1, scale: "weight" as const },
      selected: [1, 8],
    }),
    column: headMatrixSvg({
      ...about,
      rows: [],
      cols: [],
      values: new Float32Array(),
      range: alpha,
      legend: LIGHT.ink,
      column: "one",
    }),
  };
}
