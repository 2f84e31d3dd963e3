// How a text of others stands on the screen: its language where that is known, and its direction.
import { directionOf } from "./quotes";

/** Languages of texts as tags of HTML's `lang`, as a view was told them. */
const TOLD = new Map<string, string>();
export const tell = (languages: Record<string, string> = {}): void => {
  for (const [text, tag] of Object.entries(languages)) TOLD.set(text, tag);
};

/** Scripts that one language alone is written in today, and how many letters in a hundred tell it from others. */
const SCRIPTS: Record<string, string> = {
  th: "Thai",
  ko: "Hang",
  el: "Grek",
  hy: "Armn",
  ka: "Geor",
  km: "Khmr",
  lo: "Laoo",
  ta: "Taml",
  te: "Telu",
  kn: "Knda",
  ml: "Mlym",
  gu: "Gujr",
  pa: "Guru",
  si: "Sinh",
};
const KANA = /[\p{sc=Hira}\p{sc=Kana}]/gu;

const count = (text: string, letters: RegExp) => text.match(letters)?.length ?? 0;

/** The language of a text, where it was told or most of its letters say it (kana stand among others' letters); "" of an
 * unknown one, which HTML takes as that: it is not the page's. */
export function languageOf(text: string): string {
  const letters = count(text, /\p{L}/gu);
  const tag = Object.keys(SCRIPTS).find(
    (tag) => 2 * count(text, new RegExp(`(?=\\p{L})\\p{sc=${SCRIPTS[tag]}}`, "gu")) > letters,
  );
  return TOLD.get(text) ?? tag ?? (5 * count(text, KANA) > letters ? "ja" : "");
}

/** Attributes of an element that is this text. */
export const textProps = (text: string) => ({ lang: languageOf(text), dir: directionOf(text) });
