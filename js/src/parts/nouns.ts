// What tokens are called on the screen: words where none was split, patches where they are of an image.
import type { Overview } from "../state/overview";
import { tokenText } from "./token";

export type Noun = "word" | "token" | "patch";

type Sides = Pick<Overview, "queries" | "keyside" | "spans" | "patches">;

/** Tokens of a named run (a protein's domain) are no words, and neither are pieces of them. */
export function nounOf({ queries, keyside, spans, patches }: Sides): Noun {
  if (patches) return "patch";
  const isSplit = [queries, keyside].some(({ words }) => words.some((word, n) => word >= 0 && word === words[n - 1]));
  return isSplit || spans.length > 0 ? "token" : "word";
}

/** The special tokens of a text by their own names, each once: "[CLS], [SEP]"; "" where it has none. */
export function specialNames({ queries, keyside }: Pick<Sides, "queries" | "keyside">): string {
  const names = [queries, keyside].flatMap(({ tokens, special }) => tokens.filter((_, n) => special[n]));
  return [...new Set(names)].map(tokenText).join(", ");
}

/** The special tokens after the first one of a side, which separate or end texts: "[SEP]". */
export function separatorNames({ tokens, special }: Overview["keyside"]): string {
  const names = tokens.filter((token, n) => n > 0 && special[n] && token !== tokens[0]);
  return [...new Set(names)].map(tokenText).join(" and ") || "separators";
}
