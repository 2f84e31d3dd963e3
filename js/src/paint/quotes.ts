// Words of a text in a sentence, as bertlens/base/quotes.py has them: one from right to left turns nothing beside it.
import { RIGHT_TO_LEFT } from "../generated/vocabulary";

const LETTERS = `[${RIGHT_TO_LEFT.map((ends) => ends.map((code) => String.fromCodePoint(code)).join("-")).join("")}]`;
const TURNS = new RegExp(LETTERS, "u");
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u2800\u3164]|\ufe0f/gu;

/** Isolates as `isolate` makes them. */
const ISOLATES = new RegExp(`\u2068[^\u2066-\u2069]*${LETTERS}[^\u2066-\u2069]*\u2069`, "gu");

/** The text, between U+2068 and U+2069 where a letter of it, not isolated yet, is written from right to left. */
export const isolate = (text: string): string =>
  TURNS.test(text.replace(ISOLATES, "")) ? `\u2068${text}\u2069` : text;

/** The text, isolated, between the quotation marks of sentences. */
export const quotation = (text: string): string => `“${isolate(text)}”`;

/** How a text is laid, by its first letter. */
export const directionOf = (text: string): "ltr" | "rtl" =>
  TURNS.test(/\p{L}/u.exec(text)?.[0] ?? "") ? "rtl" : "ltr";

const codeOf = (c: string) => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Text as a person can read it: control and format characters as U+XXXX but for those of `isolate`, a blank as ␣, a
 * mark that begins it on a circle in place of its letter. */
export function visibleText(token: string): string {
  const isolates = [...token.matchAll(ISOLATES)].flatMap(({ index, 0: { length } }) => [index, index + length - 1]);
  const text = token
    .replace(HIDDEN, (c, at: number) => (isolates.includes(at) ? c : codeOf(c)))
    .replace(/^(?=\p{M})/u, "◌");
  return text.trim() === "" ? "␣".repeat(Math.max(1, text.length)) : text;
}
