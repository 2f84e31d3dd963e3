// SVG as a string: elements with strictly escaped attributes and text, so that a token can never become markup.
import { visibleText } from "../parts/token";

/** A piece of SVG that is already escaped. Only this file makes one. */
export interface Svg {
  readonly markup: string;
}

type Attributes = Record<string, string | number | undefined>;

// Everything that XML 1.0 has no place for, lone surrogates included.
const ILLEGAL = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text for an XML element or attribute: markup escaped, characters that XML forbids replaced by U+FFFD. */
export function escapeXml(text: string): string {
  return text.replace(ILLEGAL, "\ufffd").replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** An element. Undefined attributes are left out; numbers are written with at most two decimals. */
export function element(name: string, attributes: Attributes, ...children: Svg[]): Svg {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? round(value) : escapeXml(value!)}"`)
    .join("");
  const inner = children.map((child) => child.markup).join("");
  return { markup: inner ? `<${name}${written}>${inner}</${name}>` : `<${name}${written}/>` };
}

/** Text for people: invisible characters are written as their codes. */
export function words(text: string): Svg {
  return { markup: escapeXml(visibleText(text)) };
}

export const group = (attributes: Attributes, ...children: Svg[]): Svg => element("g", attributes, ...children);

export const label = (x: number, y: number, text: string, attributes: Attributes = {}): Svg =>
  element("text", { x, y, ...attributes }, words(text));

const round = (value: number) => Math.round(100 * value) / 100;

const NARROW = /[ijltfrI.,:;'|!()[\]{}\s]/;
const BROAD = /[mwMW@%—…]/;
const FULL =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** About how wide a text for people is drawn, in pixels: no page is needed to lay out a figure. */
export function textWidth(text: string, size: number): number {
  let ems = 0;
  for (const character of visibleText(text)) {
    if (FULL.test(character)) ems += 1.05;
    else if (NARROW.test(character)) ems += 0.36;
    else if (BROAD.test(character)) ems += 0.95;
    else ems += /\p{Lu}/u.test(character) ? 0.7 : 0.61;
  }
  return ems * size;
}

/** Lines no wider than `width`, broken at blanks, or inside a word that is too long for a line. */
export function wrap(text: string, width: number, size: number): string[] {
  const lines: string[] = [];
  let line = "";
  const fits = (candidate: string) => textWidth(candidate, size) <= width;
  for (const word of visibleText(text).split(" ")) {
    if (fits(line ? `${line} ${word}` : word)) {
      line = line ? `${line} ${word}` : word;
      continue;
    }
    if (line) lines.push(line);
    line = "";
    for (const character of word) {
      if (line && !fits(line + character)) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  lines.push(line);
  return lines;
}
