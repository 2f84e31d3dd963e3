// @vitest-environment happy-dom
// Exported figures: what stands in them is the data that went in, and nothing else.
import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { atlasFigure, headCsv, headFigure } from "../src/frame/export";
import { HEADS, MISSING, NAN } from "../src/generated/vocabulary";
import { LinesFigure, MapFigure } from "../src/head/headfigures";
import { dataUri, png } from "../src/paint/bitmap";
import { cssColor, indexed, rgb, table } from "../src/paint/colormap";
import { inks } from "../src/paint/palette";
import { textWidth, wrap } from "../src/paint/textwidth";
import { Drawing, Key } from "../src/parts/chart";
import { svgFile } from "../src/parts/figure";
import { Cells, HeatChart } from "../src/parts/heatchart";
import { Legend } from "../src/parts/legend";
import type { Sheet } from "../src/parts/paper";
import { createView } from "../src/state/view";
import { bench, headAnswer, overviewOf, settled, TOKENS } from "./fake";
import { drawn, EVERYDAY, HOSTILE, samples, viewOf } from "./samples";

const ABOUT = { title: "t", description: "d", caption: [] as string[] };
const decode = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const texts = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]);
const light = table("weight", "light");

describe("escaping", () => {
  const file = (text: string) =>
    svgFile({ ...ABOUT, title: text, description: text, caption: [text] }, <svg class="bl-chart" />);
  it("leaves no way from text to markup", () => {
    const svg = file("<a b=c>&amp;]]>");
    expect(svg).toContain("<title>&lt;a b=c&gt;&amp;amp;]]&gt;</title><desc>&lt;a b=c&gt;&amp;amp;]]&gt;</desc>");
    expect(texts(svg)).toEqual(["&lt;a b=c&gt;&amp;amp;]]&gt;", "&lt;a b=c&gt;&amp;amp;]]&gt;"]);
  });
  it("replaces what XML has no place for and keeps the rest", () => {
    expect(file("a\udfff\ud800\ufffe")).toContain("<title>a\ufffd\ufffd");
    expect(svgFile(ABOUT, <svg class="bl-chart" id={"a\u0000b\u000b"} />)).toContain('id="a\ufffdb\ufffd"');
    expect(file("日本👩")).toContain("<title>日本👩</title>");
  });
  it("writes invisible characters as their codes", () => {
    expect(texts(file("a\u202eb\u0000"))).toEqual(["a⟨U+202E⟩b⟨U+0000⟩", "a⟨U+202E⟩b⟨U+0000⟩"]);
  });
});

describe.each(Object.keys(samples(HOSTILE)))("%s", (name) => {
  const hostile = samples(HOSTILE)[name]!;
  const everyday = samples(EVERYDAY)[name]!;
  it("has the same elements whatever the tokens are", () => {
    const tags = (svg: string) => new Set([...svg.matchAll(/<([a-z]+)/g)].map((match) => match[1]));
    expect(tags(hostile)).toEqual(tags(everyday));
    for (const tag of tags(hostile)) expect("svg title desc metadata g text rect line path image").toContain(tag);
    expect(hostile.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\son[a-z]+=/); // attributes by name
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
  const values = Float32Array.of(0, 0.5, 1, Number.NaN, 0.25, 0);
  const chart = (pinned: { row: number | null; col: number | null }) => (
    <HeatChart
      label="map"
      rows={["a", "b"]}
      cols={["c", "d", "e"]}
      values={values}
      {...indexed(values, 0, 1, light)}
      {...{ width: 54, height: 36, dark: false, pinned }}
    />
  );
  const file = svgFile(ABOUT, chart({ row: null, col: null }));

  it("draws every value in its colour, zero as background", () => {
    const cells = [...file.matchAll(/<rect x="([^"]*)" y="([^"]*)" width="18" height="18" fill="([^"]*)"/g)];
    const [left, top] = [Number(cells[2]![1]), Number(cells[0]![2])];
    const colour = (value: number) => cssColor(value, 0, 1, light);
    expect(cells.map(([, x, y, fill]) => [Number(x) - left, Number(y) - top, fill])).toEqual([
      [18, 0, colour(0.5)],
      [36, 0, colour(1)],
      [0, 18, NAN],
      [18, 18, colour(0.25)],
    ]);
  });
  it("keeps tokens as text, and a legend with the bounds of the map", () => {
    expect(texts(file)).toEqual(["t", "a", "b", "c", "d", "e"]);
    const attention = Float32Array.of(0, 0.5, Number.NaN, 0.25);
    expect(texts(drawn(ABOUT, viewOf(["a", "b"], {}, attention), <MapFigure />))).toEqual([
      "t",
      ...["a", "b", "a", "b", "query", "key"],
      ...["0", "0.500", `α, L0·H0, ${MISSING}: not a number`],
    ]);
  });
  it("rings the pinned cell", () => {
    const svg = svgFile(ABOUT, chart({ row: 1, col: 2 }));
    const ring = svg.match(/<rect x="([^"]*)" y="([^"]*)" width="18" height="18" stroke-width="2"/)!;
    const cell = svg.match(new RegExp(`<rect x="([^"]*)" y="([^"]*)" width="18" height="18" fill="${NAN}"`))!;
    expect([Number(ring[1]) - Number(cell[1]), ring[2]]).toEqual([36, cell[2]]);
    expect(svg).toContain(`<g fill="none" stroke="${inks(false).select}">`);
    expect(file).not.toContain('stroke-width="2"');
    expect(drawn(ABOUT, viewOf(["a", "b"], { query: 1, key: 0 }), <MapFigure />)).toContain('stroke-width="2"');
  });
});

it("many cells become an image with the same colours, not a number told apart", () => {
  const values = Float32Array.from({ length: 60 * 60 }, (_, n) => (n === 7 ? Number.NaN : n / 3599));
  const body = (
    <Drawing width={600} height={600} table={null}>
      <Cells {...indexed(values, 0, 1, light)} {...{ rows: 60, cols: 60, width: 600, height: 600 }} />
    </Drawing>
  );
  const markup = svgFile(ABOUT, body);
  expect(markup).toContain("image-rendering: pixelated");
  const file = decode(markup.match(/base64,([^"]*)/)![1]!);
  const palette = file.subarray(41, 41 + 768); // signature 8, IHDR 25, length and name 8
  const pixel = (n: number) => 41 + 768 + 4 + 8 + 2 + 5 + (Math.floor(n / 60) * 61 + 1) + (n % 60);
  const color = (n: number) => [...palette.subarray(3 * file[pixel(n)]!, 3 * file[pixel(n)]! + 3)];
  expect(color(0)).toEqual([255, 255, 255]);
  expect(color(7)).toEqual(rgb(NAN));
  expect(color(1800)).toEqual([...light.subarray(3 * 128, 3 * 128 + 3)]);
  expect(color(3599)).toEqual([...light.subarray(3 * 254, 3 * 254 + 3)]);
});

it("lines carry their weight as opacity, their head as colour and dash", async () => {
  const of = (...weights: number[]) => ({ attention: { shape: [2, 2], data: Float32Array.from(weights) } });
  const tokens = ["a", "b"];
  const overview = overviewOf(tokens, { inputs: of(1, 0, 0, 1) });
  const b = bench(overview, { heads: [[0, 1]], mode: "lines", query: 1 });
  const { fields, buffers } = headAnswer(tokens, 0, 1, of(0.75, 0.25, 0, 1));
  b.take("head", { layer: 0, head: 1 }).give(fields, buffers);
  await settled();
  const svg = drawn(ABOUT, createView(b.store, signal(false)), <LinesFigure />);
  const look = `stroke="${HEADS.light[1]}" stroke-opacity="0.250" stroke-width="1.31" stroke-dasharray="7 4"`;
  expect(svg).toContain(look);
  expect(texts(svg)).toEqual([
    "t",
    "L0·H0",
    "L0·H1",
    "query",
    "key",
    "opacity and width: α, from 0.020 to 1.000",
    ...["a", "b", "a", "b"],
  ]);
  const pinned = [...svg.matchAll(/<text[^>]*font-weight="600"[^>]*>([^<]*)/g)].map((match) => match[1]);
  expect(pinned).toEqual(["b"]);
});

describe("a sheet of a given width", () => {
  const tokens = EVERYDAY.map((token) => token);
  const segments = tokens.map((_, n) => Number(n > tokens.indexOf("[SEP]")));
  const overview = overviewOf(tokens, {});
  const sides = { ...overview, header: { ...overview.header, queries: { ...overview.header.queries, segments } } };
  const view = createView(bench(sides, { query: 2, key: 3 }).store, signal(false));
  const sheet = (more: Partial<Sheet>) => ({
    mm: 85,
    points: 8,
    dark: false,
    caption: false,
    selection: false,
    ...more,
  });
  const box = (svg: string) =>
    svg
      .match(/viewBox="0 0 ([\d.]+) ([\d.]+)" width="([\d.]+)mm" height="([\d.]+)mm"/)!
      .slice(1)
      .map(Number);
  it.each([
    [85, 7],
    [85, 9],
    [180, 8],
  ])("is %i mm wide with letters of %i points", (mm, points) => {
    const [width, height, wide, high] = box(headFigure(view, sheet({ mm, points })));
    expect([wide, high]).toEqual([mm, expect.closeTo((mm * height!) / width!, 1)]);
    expect((11 * mm) / width! / (25.4 / 72)).toBeCloseTo(points, 1); // letters of 11 units, in points
  });
  it("is filled by the map, and by nothing else", () => {
    for (const mm of [85, 180]) {
      const svg = headFigure(view, sheet({ mm }));
      const [, wide] = svg.match(/<svg class="bl-chart" width="([\d.]+)"/)!;
      expect(Number(wide)).toBeLessThanOrEqual(box(svg)[0]!);
      if (mm === 85) expect(Number(wide)).toBeGreaterThan(0.9 * box(svg)[0]!);
    }
  });
  it("has axis titles, a line before the second sentence, a legend, no selection and no caption", () => {
    const svg = headFigure(view, sheet({}));
    expect(texts(svg)).toEqual(expect.arrayContaining(["query", "key", "0"]));
    expect(svg.match(/data-edges="true"><path[^>]*><\/path><path|data-edges="true"><path[^>]*\/><path/)).not.toBeNull();
    for (const accent of [inks(false).select, inks(false)["select-text"]]) expect(svg).not.toContain(accent);
    expect(texts(svg).join(" ")).not.toContain("model:");
    expect(svg).toMatch(/<metadata>model: made up/);
    const marked = headFigure(view, sheet({ selection: true, caption: true }));
    expect(marked).toContain(inks(false).select);
    expect(texts(marked)).toContain("model: made up (float32)");
  });
  it("is dark where that is asked for", () => {
    const svg = headFigure(view, sheet({ dark: true }));
    expect(svg).toContain(`fill="${inks(true).ink}"`);
    expect(svg).not.toContain(`"${inks(false).panel}"`);
    for (const file of [
      atlasFigure(view, sheet({ dark: true })),
      headFigure(createView(bench(sides, { mode: "lines" }).store, signal(false)), sheet({ dark: true })),
    ])
      expect(file).not.toContain(inks(false).ink);
  });
  it("carries the keys of its charts", () => {
    const svg = svgFile(ABOUT, <Key names={["q", "k"]} colours={["#111111", "#222222"]} />, sheet({}));
    expect(texts(svg)).toEqual(["t", "q", "k"]);
    expect(svg).toMatch(/fill="#111111"/);
  });
  it("makes what is wider smaller, and says nothing else about it", () => {
    const svg = svgFile(ABOUT, <Drawing width={700} height={70} label="wide" table={null} />, sheet({}));
    const [, wide, high] = svg.match(/<svg class="bl-chart" width="([\d.]+)" height="([\d.]+)" viewBox="0 0 700 70"/)!;
    expect(Number(wide) / Number(high)).toBeCloseTo(10);
    expect(Number(wide)).toBeLessThan(box(svg)[0]!);
  });
});

describe("what is exported", () => {
  const about = { model: "a/model", versions: { bertlens: "1" } };
  const view = (more = {}) => createView(bench(overviewOf(TOKENS, about), more).store, signal(true));

  it("is in the colours of paper whatever the theme, with its facts", () => {
    for (const svg of [headFigure(view()), headFigure(view({ mode: "lines" })), atlasFigure(view())]) {
      expect(svg).toContain(`<rect width="100%" height="100%" fill="${inks(false).bg}"`);
      expect(svg).not.toContain(inks(true).ink);
      for (const fact of ["model: a/model (float32)", "head: L0·H0 (paper: 1-1)", "versions: bertlens 1"])
        expect(texts(svg)).toContain(fact);
    }
  });
  it("says which filters were in force", () => {
    const svg = headFigure(view({ hide_special: true, renormalize: true, units: "words" }));
    expect(texts(svg).join(" ")).toContain("pieces merged to words (columns summed, rows averaged); special tokens");
    expect(headCsv(view({ hide_special: true }))).toContain("# shown: special tokens hidden\r\n");
  });
  it("has every cell as a line of numbers", () => {
    const one = view();
    const lines = headCsv(one)
      .trimEnd()
      .split("\r\n")
      .filter((line) => !line.startsWith("#"));
    expect(lines).toHaveLength(1 + TOKENS.length ** 2);
    expect(lines[0]).toBe('"query_index","query","key_index","key","attention"');
    expect(Number(lines[1 + 7]!.split(",")[4])).toBeCloseTo(one.shownHead.weights.at(0, 7), 9);
  });
  it("is an error in words while nothing is drawn", () => {
    expect(() => svgFile(ABOUT, null)).toThrow("nothing is drawn yet");
  });
});

it("charts stand one below the other, under their names where there are several", () => {
  const chart = (name: string) => <svg class="bl-chart" width="40" height="30" aria-label={name} />;
  const both = svgFile(ABOUT, [chart("one"), chart("two")]);
  expect(texts(both)).toEqual(["t", "one", "two"]);
  expect([...both.matchAll(/ y="(\d+)"[^>]*><\/svg>| y="(\d+)"[^>]*\/>/g)].map((m) => Number(m[1] ?? m[2]))).toEqual([
    16, 78,
  ]);
  expect(texts(svgFile(ABOUT, chart("one")))).toEqual(["t"]);
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
  const svg = svgFile(ABOUT, <Legend low="−0.123" high="0.123" label="q, k" colours={table("signed", "light")} />);
  expect(texts(svg)).toEqual(["t", "−0.123", "0.123", "q, k"]);
});
