// Exported figures: what stands in them is the data that went in, and nothing else.
import { describe, expect, it } from "vitest";
import { heatmap, legend } from "../src/export/figure";
import { headLinesSvg, headMatrixSvg } from "../src/export/figures";
import { element, escapeXml, textWidth, words, wrap } from "../src/export/svg";
import { dataUri, png } from "../src/paint/bitmap";
import { cssColor, table } from "../src/paint/colormap";
import { EVERYDAY, HOSTILE, samples } from "./samples";

const decode = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]);

describe("escaping", () => {
  it("leaves no way from text to markup", () => {
    expect(escapeXml(`<a b="c" d='e'>&amp;`)).toBe("&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
    expect(element("g", { id: '"><script>' }).markup).toBe('<g id="&quot;&gt;&lt;script&gt;"/>');
  });
  it("replaces what XML has no place for and keeps the rest", () => {
    expect(escapeXml("a\u0000b\u000b\udfff\ud800\ufffe")).toBe("a\ufffdb\ufffd\ufffd\ufffd\ufffd");
    expect(escapeXml("\t\n日本👩")).toBe("\t\n日本👩");
  });
  it("writes invisible characters as their codes", () => {
    expect(words("a\u202eb\u0000").markup).toBe("a⟨U+202E⟩b⟨U+0000⟩");
  });
});

describe.each(Object.keys(samples(HOSTILE)))("%s", (name) => {
  const hostile = samples(HOSTILE)[name]!;
  const everyday = samples(EVERYDAY)[name]!;
  it("has the same elements whatever the tokens are", () => {
    const tags = (svg: string) => new Set([...svg.matchAll(/<([a-z]+)/g)].map((match) => match[1]));
    expect(tags(hostile)).toEqual(tags(everyday));
    for (const tag of tags(hostile)) expect("svg title desc g text rect path image").toContain(tag);
    expect(hostile).not.toMatch(/<[^>]*\son[a-z]+=/);
  });
  it("names itself and where it comes from", () => {
    expect(everyday).toContain("<title>L1·H8, attention</title><desc>Most attention");
    expect(texts(everyday)).toContain("model: all-MiniLM-L6-v2 (float32)");
  });
  it("loads nothing", () => {
    const addresses = [...hostile.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1]!);
    for (const address of addresses) expect(address).toMatch(/^data:image\/png;base64,/);
  });
});

describe("head matrix", () => {
  const figure = {
    title: "t",
    description: "d",
    caption: [],
    rows: ["a", "b"],
    cols: ["c", "d", "e"],
    values: Float32Array.of(0, 0.5, 1, Number.NaN, 0.25, 0),
    range: { lo: 0, hi: 1, scale: "weight" as const },
    legend: "α",
  };
  it("draws every value in its colour, zero as background", () => {
    const fills = [
      ...headMatrixSvg(figure).matchAll(/<rect x="([^"]*)" y="([^"]*)" width="18" height="18" fill="([^"]*)"/g),
    ];
    const color = (value: number) => cssColor(value, 0, 1, table("weight", "light"));
    expect(fills.map((fill) => fill.slice(1))).toEqual([
      ["18", "0", color(0.5)],
      ["36", "0", color(1)],
      ["0", "18", "#8a8a8a"],
      ["18", "18", color(0.25)],
    ]);
  });
  it("keeps tokens as text, and a legend with the bounds of the picture", () => {
    expect(texts(headMatrixSvg(figure))).toEqual(["t", "a", "b", "c", "d", "e", "0", "1", "α, grey: not a number"]);
    expect(texts(headMatrixSvg({ ...figure, range: { lo: -2.5, hi: 2.5, scale: "signed" } }))).toContain("−2.5");
  });
  it("rings the pinned cell", () => {
    const ring = headMatrixSvg({ ...figure, row: 1, col: 2 }).match(/<rect x="36" y="18"[^>]*stroke="#e4572e"/);
    expect(ring).not.toBeNull();
  });
});

it("many cells become a picture with the same colours, not a number told apart", () => {
  const values = Float32Array.from({ length: 60 * 60 }, (_, n) => (n === 7 ? Number.NaN : n / 3599));
  const { markup } = heatmap(values, 60, 60, { lo: 0, hi: 1, scale: "weight" }, 600, 600);
  expect(markup).toContain("image-rendering: pixelated");
  const file = decode(markup.match(/base64,([^"]*)/)![1]!);
  const palette = file.subarray(41, 41 + 768); // signature 8, IHDR 25, length and name 8
  const pixel = (n: number) => 41 + 768 + 4 + 8 + 2 + 5 + (Math.floor(n / 60) * 61 + 1) + (n % 60);
  const color = (n: number) => [...palette.subarray(3 * file[pixel(n)]!, 3 * file[pixel(n)]! + 3)];
  const wanted = table("weight", "light");
  expect(color(0)).toEqual([255, 255, 255]);
  expect(color(7)).toEqual([0x8a, 0x8a, 0x8a]);
  expect(color(1800)).toEqual([...wanted.subarray(3 * 128, 3 * 128 + 3)]);
  expect(color(3599)).toEqual([...wanted.subarray(3 * 254, 3 * 254 + 3)]);
});

it("lines carry their weight as opacity, their head as colour and dash", () => {
  const svg = headLinesSvg({
    title: "t",
    description: "d",
    caption: [],
    rows: ["a", "b"],
    cols: ["a", "b"],
    heads: [
      { name: "L0·H0", color: "#111111", dash: [] },
      { name: "L0·H1", color: "#222222", dash: [7, 4] },
    ],
    lines: [{ head: 1, row: 0, col: 1, weight: 0.25 }],
    full: 1,
    scale: "opacity and width: weight, from 0.02 to 1",
  });
  expect(svg).toMatch(/stroke="#222222" stroke-opacity="0.25" stroke-width="1.31" stroke-dasharray="7 4"/);
  expect(texts(svg)).toEqual([
    "t",
    "L0·H0",
    "L0·H1",
    "query",
    "key",
    "a",
    "b",
    "a",
    "b",
    "opacity and width: weight, from 0.02 to 1",
  ]);
});

describe("layout without a page", () => {
  it("wraps at blanks, breaks what is too long, loses nothing", () => {
    const text = `one two ${"x".repeat(80)} three`;
    const lines = wrap(text, 100, 10);
    expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
    for (const line of lines) expect(textWidth(line, 10)).toBeLessThanOrEqual(100);
  });
  it("counts a hidden character as wide as its code", () => {
    expect(textWidth("\u202e", 10)).toBe(textWidth("⟨U+202E⟩", 10));
  });
});

it("a PNG larger than one stored block is whole", () => {
  const entries = Uint8Array.from({ length: 300 * 300 }, (_, n) => n % 251);
  const file = png(entries, 300, 300, new Uint8Array(768));
  expect(file.length).toBe(8 + 25 + 12 + 768 + 12 + (2 + 2 * 5 + 300 * 301 + 4) + 12);
  expect(dataUri(file).startsWith("data:image/png;base64,iVBORw0KGgo")).toBe(true);
});

it("a legend says what its ends are", () => {
  expect(texts(legend({ lo: -0.123456, hi: 0.123456, scale: "signed" }, "q, k", false).markup)).toEqual([
    "−0.123",
    "0.123",
    "q, k",
  ]);
});
