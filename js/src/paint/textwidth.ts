// About how wide text is drawn, and where it breaks into lines: figures are laid out without a page.
import { visibleText } from "./quotes";

const NARROW = /[ijltfrI.,:;'|!()[\]{}\s]/;
const BROAD = /[mwMW@%—…<>]/;
const FULL =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

function ems(character: string): number {
  if (FULL.test(character)) return 1.05;
  if (NARROW.test(character)) return 0.36;
  if (BROAD.test(character)) return 0.95;
  return /\p{Lu}/u.test(character) ? 0.7 : 0.61;
}

/** About how wide a text for people is drawn, in pixels. */
export const textWidth = (text: string, size: number): number =>
  size * Array.from(visibleText(text)).reduce((sum, character) => sum + ems(character), 0);

/** The widest of some texts, in pixels. */
export const widest = (texts: string[], size: number): number =>
  texts.reduce((most, text) => Math.max(most, textWidth(text, size)), 0);

/** Lines no wider than `width`, broken at blanks, or inside a word that is too long for a line. */
export function wrap(text: string, width: number, size: number): string[] {
  const lines: string[] = [];
  let line = "";
  const fits = (candidate: string) => textWidth(candidate, size) <= width;
  for (const word of visibleText(text).split(" ")) {
    const longer = line ? `${line} ${word}` : word;
    if (fits(longer)) {
      line = longer;
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
  return [...lines, line];
}
