// Scripts in a line of text: where white space stands between two tokens, and which scripts have none between words.
// bertlens/text/word_numbers.py says the same.
import { WITHOUT_BLANKS } from "../generated/vocabulary";

/** A letter of a script without blanks between words. */
export const WITHOUT_BLANKS_LETTER = new RegExp(`[${Object.values(WITHOUT_BLANKS).join("")}]`, "u");

const CLOSES = /^[.,;:!?%)\]}’”]/; // stands at the word before
const BLANK = /^[ĠĊĉ▁]/; // how tokenizers write white space
const BYTES = /<0x[0-9A-F]{2}>$/; // of a letter

interface Side {
  tokens: string[];
  special: number[];
  pieces?: string[]; // as the tokenizer writes them
}

/** Whether white space stands before a token that begins a word: as its tokenizer writes it, else by rules of writing. */
export function standsApart({ tokens, special, pieces = tokens }: Side, n: number): boolean {
  if (special[n] || special[n - 1]) return !CLOSES.test(tokens[n]!);
  if (pieces.some((piece, at) => !special[at] && BLANK.test(piece))) return BLANK.test(pieces[n]!);
  const [letter, tail] = [[...tokens[n]!][0] ?? "", [...tokens[n - 1]!].at(-1)!];
  const isGlued = [letter, tail].some((one) => WITHOUT_BLANKS_LETTER.test(one)) || BYTES.test(tokens[n - 1]!);
  return !isGlued && !CLOSES.test(tokens[n]!);
}
