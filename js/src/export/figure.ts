// What all exported figures share: the light palette, heat maps, legends, and the frame with title and caption.

import { dataUri, png } from "../paint/bitmap";
import { cssColor, entry, type Scale, table } from "../paint/colormap";
import { NAN } from "../paint/tables";
import { element, group, label, type Svg, textWidth, words, wrap } from "./svg";

/** Exports are for paper: always the light palette. */
export const LIGHT = {
  background: "#ffffff",
  border: "#e2e5ea",
  ink: "#1d2430",
  muted: "#667085",
  selection: "#e4572e",
  selectionText: "#b83a16", // the same hue, dark enough for text
  soft: "#fdece7",
  bar: "#2f5fb3",
  negative: "#a75400",
};

/** What every figure says about itself. */
export interface About {
  title: string; // what is seen: "L1·H8, attention"
  description: string; // one sentence for who cannot see it
  caption: string[]; // lines below: model, text, layer, head, measure, versions
  column?: "one" | "two"; // of a printed page: 85 or 178 mm wide
}

export interface Range {
  lo: number;
  hi: number;
  scale: Scale;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Noto Sans', sans-serif";
const COLUMN = { one: "85mm", two: "178mm" };
const MARGIN = 16;
const MOST_RECTS = 2500;

/** The body, `width` × `height`, with title above and caption below, as a complete SVG document. */
export function frame(about: About, width: number, height: number, ...body: Svg[]): string {
  const inner = Math.max(width, 320, textWidth(about.title, 14));
  const lines = about.caption.flatMap((line) => wrap(line, inner, 10));
  const top = MARGIN + 26;
  const whole = inner + 2 * MARGIN;
  const bottom = top + height + 20;
  const tall = bottom + 14 * lines.length + MARGIN - 10;
  const size = about.column ? { width: COLUMN[about.column] } : { width: Math.ceil(whole), height: Math.ceil(tall) };
  const svg = element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${Math.ceil(whole)} ${Math.ceil(tall)}`,
      ...size,
      role: "img",
      "font-family": FONT,
      "font-size": 11,
      fill: LIGHT.ink,
      style: "font-variant-numeric: tabular-nums",
    },
    element("title", {}, words(about.title)),
    element("desc", {}, words(about.description)),
    element("rect", { width: "100%", height: "100%", fill: LIGHT.background }),
    label(MARGIN, MARGIN + 12, about.title, { "font-size": 14, "font-weight": 600 }),
    group({ transform: `translate(${MARGIN} ${top})` }, ...body),
    group({ "font-size": 10, fill: LIGHT.muted }, ...lines.map((line, n) => label(MARGIN, bottom + 14 * n, line))),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${svg.markup}\n`;
}

/** A heat map of rows × cols cells: rectangles while they are few, an embedded picture with crisp pixels otherwise. */
export function heatmap(
  values: ArrayLike<number>,
  rows: number,
  cols: number,
  range: Range,
  width: number,
  height: number,
): Svg {
  const colors = table(range.scale, "light");
  const { lo, hi } = range;
  if (rows * cols <= MOST_RECTS) {
    const w = width / cols;
    const h = height / rows;
    const cells: Svg[] = [];
    for (let n = 0; n < rows * cols; n++) {
      const fill = cssColor(values[n]!, lo, hi, colors);
      if (fill === LIGHT.background) continue;
      cells.push(element("rect", { x: (n % cols) * w, y: Math.floor(n / cols) * h, width: w, height: h, fill }));
    }
    return group({ "shape-rendering": "crispEdges" }, ...cells);
  }
  const palette = colors.slice();
  const entries = new Uint8Array(rows * cols);
  let nan = false;
  for (let n = 0; n < entries.length; n++) {
    const found = entry(values[n]!, lo, hi);
    nan ||= found < 0;
    entries[n] = found < 0 ? 255 : found;
  }
  if (nan) {
    // the last entry becomes the colour of NaN, and the largest values take the one before
    palette.set(
      [1, 3, 5].map((at) => Number.parseInt(NAN.slice(at, at + 2), 16)),
      3 * 255,
    );
    for (let n = 0; n < entries.length; n++) if (!Number.isNaN(values[n]!) && entries[n] === 255) entries[n] = 254;
  }
  return picture(entries, cols, rows, palette, width, height);
}

/** Palette entries as an embedded picture. */
export function picture(
  entries: Uint8Array,
  cols: number,
  rows: number,
  palette: Uint8Array,
  width: number,
  height: number,
): Svg {
  return element("image", {
    width,
    height,
    preserveAspectRatio: "none",
    style: "image-rendering: pixelated",
    href: dataUri(png(entries, cols, rows, palette)),
  });
}

/** A colour bar with the numbers of its two ends. */
export function legend(range: Range, text: string, nan: boolean): Svg {
  const number = (value: number) => String(Number(value.toPrecision(3))).replace("-", "−");
  const low = number(range.lo);
  const x = textWidth(low, 11) + 6;
  const ramp = Uint8Array.from({ length: 256 }, (_, n) => n);
  const high = number(range.hi);
  return group(
    { fill: LIGHT.muted },
    label(0, 9, low),
    group({ transform: `translate(${Math.round(x)} 0)` }, picture(ramp, 256, 1, table(range.scale, "light"), 110, 10)),
    element("rect", { x: Math.round(x), y: 0, width: 110, height: 10, fill: "none", stroke: LIGHT.border }),
    label(Math.round(x) + 116, 9, high),
    label(Math.round(x) + 128 + textWidth(high, 11), 9, `${text}${nan ? ", grey: not a number" : ""}`),
  );
}

export const hasNaN = (values: ArrayLike<number>): boolean => {
  for (let n = 0; n < values.length; n++) if (Number.isNaN(values[n]!)) return true;
  return false;
};
