// Texts as tokens, by the library that reads a tokenizer.json. Which word a piece is of, and what the template put there,
// the library does not say: found by marks on the pieces.
import { Tokenizer } from "@huggingface/tokenizers";
import { shownAs } from "./pieces";

/** What a page carries of a tokenizer: its file, its settings. */
export interface TokenizerFiles {
  file: object;
  config: object;
  types: boolean; // the model is told which text a token is of
}

/** The tokens of a tokenizer that mean something. */
export interface Vocabulary {
  unknown: string;
  mask: string;
  separator: string;
  specials: number[];
}

export interface Encoded {
  ids: number[];
  pieces: string[]; // as the tokenizer writes them
  tokens: string[]; // as people write them
  types: number[]; // as the model is told
  segments: number[]; // 0 of the first text and the template's behind it, 1 from the second on
  special: boolean[]; // put there by the template
  words: number[]; // of the text, counted through both; -1 for what the template put there
}

/** Of one text, or a pair. */
export type Encode = (text: string, pair?: string) => Encoded;

/** The vocabulary. */
export interface Names {
  nameOf(id: number): string;
  idOf(name: string): number | undefined;
  isKnown(name: string): boolean; // a token, and not that for unknown ones
  pieces(text: string): string[]; // without the template's
}

/** What a tokenizer.json says of itself here. */
interface File {
  normalizer?: (Record<string, boolean> & { normalizers?: { type: string }[] }) | null;
  decoder?: object | null;
  model: { unk_token?: string; unk_id?: number; vocab: unknown };
}

// Chinese characters of two units in JavaScript, which the library does not part: a word each, as those of one unit
const RARE = /[\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const MARK = "\udfff"; // between a piece and the number of its word: half a character, of no text

export function createReader({ file, config, types }: TokenizerFiles): { encode: Encode; names: Names } {
  const tokenizer = new Tokenizer(file, config);
  const { normalizer, decoder, model } = file as File;
  const isLowered = normalizer?.lowercase || normalizer?.normalizers?.some(({ type }) => type === "Lowercase");
  const plain = (text: string) => {
    // a language's rule makes the last Σ of a word ς; tokenizers take letter by letter
    const lower = isLowered ? text.replaceAll("Σ", "σ") : text;
    return normalizer?.handle_chinese_chars ? lower.replace(RARE, " $& ") : lower;
  };
  let [isMarked, word] = [false, 0];
  const own = tokenizer.model!;
  const call = own._call.bind(own);
  own._call = (given) =>
    given.flatMap((one) => {
      word++;
      const pieces = call([one]);
      return isMarked ? pieces.map((piece) => `${piece}${MARK}${word}`) : pieces;
    });
  /** The word of each piece of a text, counted from 0; a token that is one by itself has its own. */
  const wordsOf = (text: string): number[] => {
    isMarked = true;
    const pieces = tokenizer.tokenize(text);
    isMarked = false;
    let [last, count]: [string | undefined, number] = [undefined, -1];
    return pieces.map((piece) => {
      const mark = piece.split(MARK)[1];
      if (mark === undefined || mark !== last) count++;
      last = mark;
      return count;
    });
  };
  const marked = (text: string, pair?: string) => {
    isMarked = true;
    const given = pair === undefined ? {} : { text_pair: pair };
    const pieces = tokenizer.tokenize(text, { ...given, add_special_tokens: true });
    isMarked = false;
    return pieces.map((piece) => piece.includes(MARK));
  };
  // how many tokens the template puts before a text, behind it, and between two
  const [single, double, one] = [marked("a"), marked("a", "a"), wordsOf("a").length];
  const before = single.indexOf(true);
  const between = double.indexOf(true, double.indexOf(false, before)) - before - one;
  const isByteLevel = JSON.stringify(decoder ?? null).includes('"ByteLevel"');
  const unknown = model.unk_token ?? (model.vocab as [string][])[model.unk_id ?? -1]?.[0];
  const names: Names = {
    nameOf: (id) => tokenizer.id_to_token(id) ?? "",
    idOf: (name) => tokenizer.token_to_id(name),
    isKnown: (name) => name !== unknown && tokenizer.token_to_id(name) !== undefined,
    pieces: (text) => tokenizer.tokenize(plain(text)),
  };
  const encode: Encode = (textA, textB) => {
    const [text, pair] = [plain(textA), textB && plain(textB)];
    const given = pair ? { text_pair: pair } : {};
    const { ids, tokens: pieces, token_type_ids } = tokenizer.encode(text, { ...given, return_token_type_ids: true });
    const first = wordsOf(text);
    const second = pair ? wordsOf(pair) : [];
    const start = before + first.length + between; // of the second text
    const words = ids.map((_, at) => {
      if (at >= before && at < before + first.length) return first[at - before]!;
      const word = pair ? second[at - start] : undefined;
      return word === undefined ? -1 : word + 1 + (first.at(-1) ?? -1);
    });
    const isSecond = (at: number) =>
      pair !== undefined && pair !== "" && at >= (second.length > 0 ? start : ids.length - 1);
    return {
      ...{ ids, pieces, tokens: pieces.map((piece) => shownAs(piece, isByteLevel)), words },
      types: types ? (token_type_ids ?? ids.map(() => 0)) : ids.map(() => 0),
      segments: ids.map((_, at) => Number(isSecond(at))),
      special: words.map((word) => word < 0),
    };
  };
  return { encode, names };
}
