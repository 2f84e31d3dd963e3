// Texts as tokens, by the library that reads a tokenizer.json. Which word a piece is of, and what the template put there,
// the library does not say: found by marks on the pieces.

import { Tokenizer } from "@huggingface/tokenizers";
import { NAMELESS } from "../generated/phrases";
import { quotation } from "../paint/quotes";
import { textWords } from "./wordnumbers";

/** What a page carries of a tokenizer: its file, its settings. */
export interface TokenizerFiles {
  file: object;
  config: object;
  spelling: [hasBytes: boolean, blank: string, continuation: string]; // as bertlens/text/display.py has it
  types: boolean; // the model is told which text a token is of
  readings?: [text: string, pair: string, ids: number[], words: number[]][]; // of Python
}

/** The tokens of a tokenizer that mean something. */
export interface Vocabulary {
  unknown: number | null; // id
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
  literal: boolean[]; // written in the text as the tokenizer writes it, and no piece of its model
  words: number[]; // of the text, counted through both; -1 for what the template put there
}

/** Of one text, or a pair. */
export type Encode = (text: string, pair?: string) => Encoded;

/** The vocabulary, and what its tokens are called as answers: `TokenNames` of bertlens/text/display.py. */
export interface Names {
  idOf(token: string): number | undefined; // as the tokenizer writes it
  nameOf(id: number, isAfterBlank: boolean): string; // no two the same
  numberOf(name: string, isAfterBlank: boolean): number | undefined; // by such a name, else as the tokenizer writes it
  pieces(text: string): string[]; // without the template's
  shown(token: string): string;
  isAfterBlank(token: string): boolean; // by how the tokenizer writes it
  startsBlank: boolean; // whether a text's first token is written as if white space stood before it
}

/** GPT-2's alphabet: printable bytes stand for themselves, the others for characters from U+0100 on, in order. */
const BYTES = new Map<string, number>();
for (let byte = 0, others = 0; byte < 256; byte++) {
  const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  BYTES.set(String.fromCharCode(isPrintable ? byte : 0x100 + others++), byte);
}
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const BLANK = "␣";

/** A token as people write it, `Spelling.display` of bertlens/text/display.py. */
function shownAs(token: string, hasBytes: boolean, blank: string, isAdded: boolean): string {
  if (!hasBytes) return (blank ? token.replaceAll(blank, " ").replace(/^ /, "") : token) || BLANK;
  if (isAdded || ![...token].every((letter) => BYTES.has(letter))) return token;
  const bytes = Uint8Array.from(token, (letter) => BYTES.get(letter)!);
  try {
    return strict.decode(bytes).replace(/^ /, "") || BLANK;
  } catch {
    return [...bytes].map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
  }
}

const REACH = 24; // characters that no token before was found in

/** Tokens in the letters of the text, as `as_written` of bertlens/text/display.py has them: by where they follow each other. */
function asWritten(tokens: string[], words: number[], text: string): string[] {
  const isAlike = (letters: string, token: string) => letters === token || letters.normalize("NFKC") === token;
  if (text === text.normalize("NFKC")) return tokens;
  let at = 0;
  return tokens.map((token, n) => {
    if (words[n]! < 0) return token;
    for (let start = at; start < Math.min(at + REACH, text.length); start++)
      for (let end = start + 1; end <= Math.min(start + 2 * token.length, text.length); end++) {
        const letters = text.slice(start, end);
        if (!isAlike(letters, token)) continue;
        at = end;
        return letters;
      }
    return token;
  });
}

/** Id by name, where tokens that are shown alike are told apart. */
function tableOf(tokens: string[], shown: (token: string) => string, blank: string, isAfterBlank: boolean) {
  const isAfter = (id: number) => blank !== "" && tokens[id]!.startsWith(blank);
  const words = tokens.map(shown);
  const owners = new Map<string, number>();
  words.forEach((word, id) => {
    const owner = owners.get(word);
    if (owner === undefined || (isAfter(owner) !== isAfterBlank && isAfter(id) === isAfterBlank)) owners.set(word, id);
  });
  const ids = new Map<string, number>();
  words.forEach((word, id) => {
    const name = owners.get(word) === id ? word : (isAfter(id) ? BLANK : "##") + word;
    const isRepeated = name !== word && (owners.has(name) || ids.has(name));
    ids.set(isRepeated ? `${name} (${id})` : name, id);
  });
  return { ids, names: new Map([...ids].map(([name, id]) => [id, name])) };
}

/** What a tokenizer.json says of itself here. */
interface File {
  added_tokens: { id: number; content: string; normalized: boolean }[];
  normalizer?: (Record<string, boolean> & { normalizers?: { type: string }[] }) | null;
  pre_tokenizer?: { type: string } | null;
  model: { vocab: object };
}

// Chinese characters of two units in JavaScript, which the library does not part: a word each, as those of one unit
const RARE = /[\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const MARK = "\udfff"; // between a piece and the number of its word: half a character, of no text

/** What of the library is set right here. */
interface Inner {
  splitter_normalized: { split(text: string): string[] };
  pre_tokenizer: { pattern?: RegExp; pre_tokenize_text(text: string, options: unknown): string[] };
  model: { tokens_to_ids: Map<string, number> };
}

/** Three things that it reads otherwise than Python's: an added token that is looked for in the text as it is written is
 * not what the normalizer makes of another word, nor one of the model's; white space is Unicode's; a blank that is written
 * as a letter begins a word. */
function setRight(inner: Inner, { normalizer, pre_tokenizer, added_tokens, model }: File): void {
  const verbatim = new Set(added_tokens.filter(({ normalized }) => !normalized).map(({ content }) => content));
  const split = inner.splitter_normalized.split.bind(inner.splitter_normalized);
  if (normalizer)
    inner.splitter_normalized.split = (text) => split(text).map((one) => one + (verbatim.has(one) ? " " : ""));
  if (!Array.isArray(model.vocab))
    for (const { content } of added_tokens)
      if (!Object.hasOwn(model.vocab, content)) inner.model.tokens_to_ids.delete(content);
  if (pre_tokenizer?.type === "Metaspace") {
    const call = inner.pre_tokenizer.pre_tokenize_text.bind(inner.pre_tokenizer);
    inner.pre_tokenizer.pre_tokenize_text = (text, options) =>
      call(text, options).flatMap((words) => words.split(/(?=▁)/u));
  }
  const space = { "\\s": "\\p{White_Space}", "\\S": "\\P{White_Space}" };
  const { pattern } = inner.pre_tokenizer;
  if (pattern)
    inner.pre_tokenizer.pattern = new RegExp(
      pattern.source.replace(/\\s/gi, (one) => space[one as "\\s"]),
      "gu",
    );
}

/** Throws where it reads a text otherwise than Python does. */
export function createReader(files: TokenizerFiles): { encode: Encode; names: Names } {
  const { file, config, types, readings = [] } = files;
  const [hasBytes, blank] = files.spelling;
  const tokenizer = new Tokenizer(file, config);
  const { added_tokens, normalizer, model } = file as File;
  setRight(tokenizer as unknown as Inner, file as File);
  const isLowered = normalizer?.lowercase || normalizer?.normalizers?.some(({ type }) => type === "Lowercase");
  const plain = (text: string) => {
    // a language's rule makes the last Σ of a word ς; tokenizers take letter by letter
    const lower = isLowered ? text.replaceAll("Σ", "σ") : text;
    return normalizer?.handle_chinese_chars ? lower.replace(RARE, " $& ") : lower;
  };
  let [isMarked, word] = [false, 0];
  const inner = tokenizer.model!;
  const call = inner._call.bind(inner);
  inner._call = (texts) =>
    texts.flatMap((one) => {
      word++;
      const pieces = call([one]);
      return isMarked ? pieces.map((piece) => `${piece}${MARK}${word}`) : pieces;
    });
  /** The word of each piece of a text, counted from 0; a token that is one by itself has its own. */
  const wordsOf = (text: string): number[] => {
    isMarked = true;
    const pieces = tokenizer.tokenize(text);
    isMarked = false;
    let [mark, count]: [string | undefined, number] = [undefined, -1];
    const numbers = pieces.map((piece) => {
      const suffix = piece.split(MARK)[1];
      if (suffix === undefined || suffix !== mark) count++;
      mark = suffix;
      return count;
    });
    const names = pieces.map((piece) => piece.split(MARK)[0]!);
    const written = names.map((name) => shownAs(name, hasBytes, blank, false).replace(/^##(?=.)/, ""));
    const touches = (at: number) =>
      !/^[Ġ▁]/.test(names[at]!) && !/^[\s␣]*$/.test(written[at - 1]!) && (hasBytes || numbers[at] === numbers[at - 1]);
    return textWords(numbers, written, touches);
  };
  const marked = (text: string, pair?: string) => {
    isMarked = true;
    const options = pair === undefined ? {} : { text_pair: pair };
    const pieces = tokenizer.tokenize(text, { ...options, add_special_tokens: true });
    isMarked = false;
    return pieces.map((piece) => piece.includes(MARK));
  };
  // how many tokens the template puts before a text, behind it, and between two
  const [single, double, length] = [marked("a"), marked("a", "a"), wordsOf("a").length];
  const lead = single.indexOf(true);
  const between = double.indexOf(true, double.indexOf(false, lead)) - lead - length;
  const added = new Map(added_tokens.map(({ id, content }) => [content, id]));
  const normal = new Map(
    added_tokens
      .filter((one) => one.normalized)
      .map(({ content }) => [content, tokenizer.normalizer?.normalize(content)]),
  );
  const idOf = (name: string) => tokenizer.token_to_id(name) ?? added.get(name);
  const shown = (token: string) => shownAs(token, hasBytes, blank, added.has(token));
  const tables = new Map<boolean, ReturnType<typeof tableOf>>();
  const table = (isAfterBlank: boolean) => {
    const tokens = () => {
      const list: string[] = [];
      if (Array.isArray(model.vocab))
        for (const [id, [token]] of (model.vocab as [string][]).entries()) list[id] = token;
      else for (const [token, id] of Object.entries(model.vocab as Record<string, number>)) list[id] = token;
      for (const [token, id] of added) list[id] = token;
      return Array.from(list, (token, id) => token ?? NAMELESS({ number: id }));
    };
    const entry = tables.get(isAfterBlank) ?? tableOf(tokens(), shown, blank, isAfterBlank);
    tables.set(isAfterBlank, entry);
    return entry;
  };
  const names: Names = {
    idOf,
    nameOf: (id, isAfterBlank) => table(isAfterBlank).names.get(id) ?? NAMELESS({ number: id }),
    numberOf: (name, isAfterBlank) =>
      table(isAfterBlank).ids.get(name) ?? table(!isAfterBlank).ids.get(name) ?? idOf(name),
    pieces: (text) => tokenizer.tokenize(plain(text)),
    shown,
    isAfterBlank: (token) => blank !== "" && token.startsWith(blank),
    startsBlank: Boolean(blank) && (tokenizer.tokenize("a")[0] ?? "").startsWith(blank),
  };
  const encode: Encode = (textA, textB) => {
    const [text, pair] = [plain(textA), textB && plain(textB)];
    const options = pair ? { text_pair: pair } : {};
    const { ids, tokens, token_type_ids } = tokenizer.encode(text, { ...options, return_token_type_ids: true });
    const pieces = tokens.map((token) => normal.get(token) ?? token);
    const wordsA = wordsOf(text);
    const wordsB = pair ? wordsOf(pair) : [];
    const start = lead + wordsA.length + between; // of the second text
    const words = ids.map((_, at) => {
      if (at >= lead && at < lead + wordsA.length) return wordsA[at - lead]!;
      const word = pair ? wordsB[at - start] : undefined;
      return word === undefined ? -1 : word + 1 + (wordsA.at(-1) ?? -1);
    });
    const ofModel = marked(text, pair || undefined);
    const isSecond = (at: number) =>
      pair !== undefined && pair !== "" && at >= (wordsB.length > 0 ? start : ids.length - 1);
    return {
      ...{ ids, pieces, tokens: asWritten(pieces.map(shown), words, [text, pair].join(" ")), words },
      types: types ? (token_type_ids ?? ids.map(() => 0)) : ids.map(() => 0),
      segments: ids.map((_, at) => Number(isSecond(at))),
      special: words.map((word) => word < 0),
      literal: words.map((word, at) => word >= 0 && !ofModel[at]),
    };
  };
  for (const [text, pair, ids, words] of readings) {
    const encoded = encode(text, pair || undefined);
    if (String([encoded.ids, encoded.words]) !== String([ids, words]))
      throw new Error(`its tokenizer reads ${quotation(text)} otherwise here than in Python`);
  }
  return { encode, names };
}
