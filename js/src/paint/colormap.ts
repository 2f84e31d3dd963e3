// Numbers -> pixels, with the tables that bertlens/base/colors.py made. No DOM: a canvas, a PNG and a test take the same bytes.
import { NAN, SIGNED, type Theme, WEIGHT } from "../generated/vocabulary";

export type Scale = "weight" | "signed";

/** 256 RGB triples. */
export type Table = Uint8Array;

const decoded = new Map<string, Table>();

/** The table of a scale: "weight" has zero at entry 0, "signed" at entries 127 and 128. */
export function table(scale: Scale, theme: Theme): Table {
  const name = scale + theme;
  if (!decoded.has(name)) decoded.set(name, decode((scale === "weight" ? WEIGHT : SIGNED)[theme]));
  return decoded.get(name)!;
}

function decode(nodes: readonly string[]): Table {
  const arms = nodes.map((base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  const colours = new Uint8Array(3 * 256);
  for (let n = 0; n < 256; n++) {
    // a signed table is two arms of 128 entries, the negative one backwards
    const arm = arms.length === 1 ? arms[0]! : arms[n < 128 ? 0 : 1]!;
    const portion = arms.length === 1 ? n / 255 : n < 128 ? (127 - n) / 127 : (n - 128) / 127;
    for (let c = 0; c < 3; c++) colours[3 * n + c] = between(arm, portion, c);
  }
  return colours;
}

export const rgb = (color: string): number[] => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

/** One channel of the colour at `part` of the way along the nodes, as bertlens/base/colors.py rounds it. */
function between(nodes: Uint8Array, part: number, channel: number): number {
  const at = part * (nodes.length / 3 - 1);
  const low = Math.floor(at);
  const from = nodes[3 * low + channel]!;
  const to = nodes[3 * low + 3 + channel] ?? from;
  return Math.floor(from + (to - from) * (at - low) + 0.5);
}

/** The entry of a table for a value between lo and hi, clamped; -1 for NaN. */
export function entry(value: number, lo: number, hi: number): number {
  if (Number.isNaN(value)) return -1;
  const position = (255 * (value - lo)) / (hi - lo) + 0.5;
  return position >= 255 ? 255 : position > 0 ? Math.floor(position) : 0;
}

/** One value as a CSS colour, the same that `paint` gives its pixel. */
export function cssColor(value: number, lo: number, hi: number, colors: Table, nan = NAN): string {
  const at = 3 * entry(value, lo, hi);
  if (at < 0) return nan;
  return `#${hex(colors.subarray(at, at + 3))}`;
}

/** Black or white, whichever is read more easily on a colour: at least 4.5 : 1 (WCAG 2.2, relative luminance). */
export function inkOn(color: string): string {
  const [red, green, blue] = rgb(color).map((v) => (v > 10 ? ((v / 255 + 0.055) / 1.055) ** 2.4 : v / 3295));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue! > 0.179 ? "#000" : "#fff";
}

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** One RGBA pixel as a little-endian word (every browser runs on a little-endian machine). */
const word = (red: number, green: number, blue: number) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;

const words = new WeakMap<Table, Uint32Array>();
function pixelWords(colors: Table): Uint32Array {
  const pixel = (_: unknown, n: number) => word(colors[3 * n]!, colors[3 * n + 1]!, colors[3 * n + 2]!);
  if (!words.has(colors)) words.set(colors, Uint32Array.from({ length: 256 }, pixel));
  return words.get(colors)!;
}

type Pixels = Uint8ClampedArray | { data: Uint8ClampedArray };

function asWords(out: Pixels, length: number): Uint32Array {
  const bytes = "data" in out ? out.data : out;
  return new Uint32Array(bytes.buffer, bytes.byteOffset, length);
}

/** Paint one RGBA pixel per value; lo and hi have the first and last colour, what lies beyond them too. */
export function paint(values: Float32Array, lo: number, hi: number, colors: Table, out: Pixels, nan = NAN): void {
  const lookup = pixelWords(colors);
  const pixels = asWords(out, values.length);
  const nanWord = word(...(rgb(nan) as [number, number, number]));
  const scale = 255 / (hi - lo);
  for (let n = 0; n < values.length; n++) {
    const value = values[n]!;
    const position = (value - lo) * scale + 0.5;
    if (position >= 255) pixels[n] = lookup[255]!;
    else if (position > 0) pixels[n] = lookup[position | 0]!;
    else pixels[n] = Number.isNaN(value) ? nanWord : lookup[0]!;
  }
}

/** Values as entries of a palette: the table's colours, one of them that of NaN where there is any. */
export function indexed(
  values: ArrayLike<number>,
  lo: number,
  hi: number,
  colors: Table,
): { entries: Uint8Array; palette: Table; hasNaN: boolean } {
  const entries = new Uint8Array(values.length);
  const codes = new Set<number>();
  for (let n = 0; n < entries.length; n++) {
    entries[n] = entry(values[n]!, lo, hi); // -1 is 255
    codes.add(Number.isNaN(values[n]!) ? -1 : entries[n]!);
  }
  if (!codes.has(-1)) return { entries, palette: colors, hasNaN: false };
  let free = 255; // an entry that no number has; where each has one, the last two are made one
  while (free > 0 && codes.has(free)) free--;
  if (free === 0) free = 255;
  for (let n = 0; n < entries.length; n++) {
    if (Number.isNaN(values[n]!)) entries[n] = free;
    else if (entries[n] === free) entries[n] = 254;
  }
  const palette = colors.slice();
  palette.set(rgb(NAN), 3 * free);
  return { entries, palette, hasNaN: true };
}
