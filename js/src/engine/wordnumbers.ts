// The words of a text in a page: which token is of which, as bertlens/text/word_numbers.py has it. The library tells no offsets:
// where a token begins is counted in the bytes of those before it.
import { WITHOUT_BLANKS_LETTER } from "../compute/scripts";
import { JOINERS, WITHOUT_BLANKS } from "../generated/vocabulary";

const isMark = (letter: string) => letter !== "" && (/^\p{M}/u.test(letter) || JOINERS.includes(letter));

/** The names of the scripts without blanks between words that letters of a text are of. */
export const scriptsWithoutBlanks = (text: string): string[] =>
  Object.entries(WITHOUT_BLANKS).flatMap(([script, letters]) =>
    new RegExp(`[${letters}]`, "u").test(text) ? [script] : [],
  );

/** A token's letters as bytes; of one that is shown as its bytes, <0xE5>, those. */
const bytesOf = (token: string): number[] =>
  /^(<0x[0-9A-F]{2}>)+$/.test(token)
    ? Array.from(token.matchAll(/[0-9A-F]{2}(?=>)/g), ([byte]) => Number.parseInt(byte, 16))
    : [...new TextEncoder().encode(token)];

const isRest = (byte: number | undefined) => byte !== undefined && byte >> 6 === 2; // of a letter of several bytes

/**
 * The word of each token of a text: by the tokenizer's own words, `numbers`, tokens as they are written, and whether
 * one may touch the token before (no white space between them), which a tokenizer that drops blanks says of a word's
 * pieces alone.
 */
export function textWords(numbers: number[], tokens: string[], touches: (at: number) => boolean): number[] {
  const bytes = tokens.map(bytesOf);
  const sequence = Uint8Array.from(bytes.flat());
  const decoder = new TextDecoder();
  let [word, start] = [numbers[0] ?? 0, 0];
  return numbers.map((number, at) => {
    const begin = start;
    start += bytes[at]!.length;
    if (at === 0) return word;
    const step = number - numbers[at - 1]!;
    if (!touches(at)) word += step;
    else if (isRest(sequence[begin])) word += 0;
    else {
      const lead = [...decoder.decode(sequence.subarray(Math.max(0, begin - 64), begin))];
      let end = begin + 1;
      while (isRest(sequence[end])) end++;
      const letter = decoder.decode(sequence.subarray(begin, end));
      word += stepOf(lead, letter, step);
    }
    return word;
  });
}

/** From the word before to that which begins with a letter: `step`, 0 or 1. */
function stepOf(lead: string[], letter: string, step: number): number {
  const base = lead.findLast((one) => !isMark(one)) ?? "";
  if (isMark(letter)) return /[\p{L}\p{N}]/u.test(base) ? 0 : step;
  if (WITHOUT_BLANKS_LETTER.test(letter) || WITHOUT_BLANKS_LETTER.test(base)) return Math.max(step, 1);
  return isMark(lead.at(-1) ?? "") && /\p{L}/u.test(base) && /\p{L}/u.test(letter) ? 0 : step;
}
