// Texts as tokens, by the library that reads a tokenizer.json; which word a piece is of, the library does not say.
import { Tokenizer } from "@huggingface/tokenizers";

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
  tokens: string[];
  types: number[]; // as the model is told
  segments: number[]; // 0 of the first text, 1 of the second
  special: boolean[]; // put there by the template
  words: number[]; // of the text, counted through both; -1 for what the template put there
}

/** Of one text, or a pair. */
export type Encode = (text: string, pair?: string) => Encoded;

// Chinese characters of two units in JavaScript, which the library does not part: a word each, as those of one unit
const RARE = /[\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const CONTINUES = "##"; // what a piece begins with that goes on with a word

/** The vocabulary. */
export interface Names {
  nameOf(id: number): string;
  idOf(name: string): number | undefined;
  isKnown(name: string): boolean; // a token, and not that for unknown ones
  pieces(text: string): string[]; // without the template's
}

export function createReader({ file, config, types }: TokenizerFiles): { encode: Encode; names: Names } {
  const tokenizer = new Tokenizer(file, config);
  const { lowercase, handle_chinese_chars } = (file as { normalizer?: Record<string, boolean> }).normalizer ?? {};
  const plain = (text: string) => {
    // a language's rule makes the last Σ of a word ς; tokenizers take letter by letter
    const lower = lowercase ? text.replaceAll("Σ", "σ") : text;
    return handle_chinese_chars ? lower.replace(RARE, " $& ") : lower;
  };
  const { unk_token } = (file as { model: { unk_token?: string } }).model;
  const names: Names = {
    nameOf: (id) => tokenizer.id_to_token(id) ?? "",
    idOf: (name) => tokenizer.token_to_id(name),
    isKnown: (name) => name !== unk_token && tokenizer.token_to_id(name) !== undefined,
    pieces: (text) => tokenizer.tokenize(plain(text), { add_special_tokens: false }),
  };
  const encode: Encode = (textA, textB) => {
    const [text, pair] = [plain(textA), textB && plain(textB)];
    const given = pair ? { text_pair: pair } : {};
    const { ids, tokens, token_type_ids } = tokenizer.encode(text, { ...given, return_token_type_ids: true });
    const lengths = (pair ? [text, pair] : [text]).map(
      (one) => tokenizer.encode(one, { add_special_tokens: false }).ids.length,
    );
    // [CLS] A [SEP], and B [SEP]
    const own = (at: number) => at > 0 && at <= lengths[0]!;
    const second = (at: number) =>
      pair !== undefined && at > lengths[0]! + 1 && at <= lengths[0]! + 1 + (lengths[1] ?? 0);
    let word = -1;
    const special = ids.map((_, at) => !own(at) && !second(at));
    const words = tokens.map((token, at) => {
      if (special[at]) return -1;
      if (!token.startsWith(CONTINUES) || special[at - 1]) word++;
      return word;
    });
    const segments = token_type_ids ?? ids.map(() => 0);
    return { ids, tokens, types: types ? segments : ids.map(() => 0), segments, special, words };
  };
  return { encode, names };
}
