// @vitest-environment happy-dom
// What is said of a right-to-left text: each of its words is isolated, so that no number beside one changes its place.

import { describe, expect, it } from "vitest";
import { headQuestions } from "../src/atlas/questions";
import { heldCells } from "../src/compute/windows";
import { chipOf } from "../src/engine/chips";
import { statusText } from "../src/frame/statusline";
import type { Traits } from "../src/generated/vocabulary";
import { answerText, questionText, rowOf } from "../src/head/present/rowquestion";
import { shadesInWords, shadesOf } from "../src/head/running";
import { RunningFigure } from "../src/head/runningfigure";
import { cellText } from "../src/head/scale";
import { directionOf, isolate, quotation, visibleText } from "../src/paint/quotes";
import { describe as sentenceOf, sentenceText } from "../src/parts/phrasing";
import { tokenQuote, tokenWord, wordName } from "../src/parts/token";
import { decodeOverview } from "../src/state/overview";
import { cellName, tokenName } from "../src/tabs/matter/cellverdict";
import type { ErrorNote } from "../src/tabs/task/examples";
import { explainedWords } from "../src/tabs/task/taskwords";
import { placeWords } from "../src/tabs/why/scoresplit";
import { scoreWords } from "../src/tabs/why/splitwords";
import { toToken } from "../src/whatif/doing";
import { overviewOf } from "./fake";
import { drawn, viewOf } from "./samples";

const HEBREW = "[CLS] הילד קרא 12 ספרים הילד [SEP]".split(" ");
const [BOY, READ] = [1, 2];

/** What no isolate holds, written from right to left: Unicode's own scripts are asked. */
const loose = (sentence: string) =>
  sentence.replace(/\u2068[^\u2068\u2069]*\u2069/gu, "").match(/[\p{Script=Hebrew}\p{Script=Arabic}\u2066-\u2069]/gu) ??
  [];

describe("a word in a sentence", () => {
  it.each([
    ["הילד", "“\u2068הילד\u2069”"],
    ["قرأ", "“\u2068قرأ\u2069”"],
    ["١٢", "“\u2068١٢\u2069”"],
    ["ܐ", "“\u2068ܐ\u2069”"], // Syriac
    ["\u{1e900}", "“\u2068\u{1e900}\u2069”"], // Adlam
    ["cat", "“cat”"],
    ["12", "“12”"],
    ["男孩", "“男孩”"],
    ["เด็ก", "“เด็ก”"],
  ])("%s", (word, quote) => {
    expect(quotation(word)).toBe(quote);
    expect(isolate(isolate(word))).toBe(isolate(word));
    expect(visibleText(quotation(word))).toBe(quote);
  });
  it("ends its isolate itself: what a text holds of those characters is drawn as their codes", () => {
    expect(tokenQuote("א\u2069ב")).toBe("“\u2068א⟨U+2069⟩ב\u2069”");
    expect(tokenWord("\u202e")).toBe("⟨U+202E⟩");
    expect(visibleText("\u2068cat\u2069")).toBe("⟨U+2068⟩cat⟨U+2069⟩");
    expect(visibleText("\u2067אב\u2069")).toBe("⟨U+2067⟩אב⟨U+2069⟩");
  });
});

describe("a word in a sentence, of a split by blanks", () => {
  it.each([
    ["war.", "war"],
    ["Straße,", "Straße"],
    ["yorgun", "yorgun"],
    ["устала.", "устала"],
    ["جدًا.", isolate("جدًا")],
    ["لماذا؟", isolate("لماذا")],
    ["था।", "था"],
    ["累了。", "累了"],
    ["（他）", "他"],
    ["«Hund»,", "Hund"],
    ["„Hund“", "Hund"],
    ["»Hund«.", "Hund"],
    ["¿qué?!", "qué"],
    ["war…", "war"],
    ["l’", "l’"],
    ["99%", "99%"],
    ["C++", "C++"],
    ["##ing.", "##ing"],
    ["anti-", "anti-"],
    ["[MASK]", "[MASK]"],
    ["?!", "?!"],
    ["(", "("],
    ["U.S.A.", "U.S.A."],
    ["(U.S.),", "U.S."],
    ["U.S)", "U.S"],
    ["e.g.,", "e.g."],
    ["„z.B.“", "z.B."],
    ["н.э.", "н.э."],
    ["एम.ए.", "एम.ए."],
    ["ศศ.ม.", "ศศ.ม."],
    ["B.C.E.?", "B.C.E."],
    ["etc.", "etc"],
    ["6.000.", "6.000"],
    ["SPACE.com.", "SPACE.com"],
    ["www.adobe.com.", "www.adobe.com"],
    ["J.Aron.", "J.Aron"],
  ])("%s", (label, name) => {
    expect(wordName({ label, special: false })).toBe(name);
    expect(wordName({ label, special: true })).toBe(isolate(label));
  });
});

const NOTE = { comprehensiveness: 0.5, random: 0.1, beats: 19 } as ErrorNote;

describe("sentences about a Hebrew text", () => {
  const wave = Float32Array.from({ length: 49 }, (_, n) => ((n * 7) % 11) / 60);
  const view = (more: Partial<Traits> = {}) => viewOf(HEBREW, more, wave);
  const about = { layer: 0, head: 0, query: BOY, key: READ };
  const split = { ...about, total: 0.5, model: 0.5, gap: 0, notes: [], side: "query" as const };
  const overview = decodeOverview(overviewOf(HEBREW));

  it.each<[string, () => string]>([
    ["the status line, of a cell", () => statusText(view(about))],
    ["of a row", () => statusText(view({ query: BOY }))],
    ["a cell under the pointer", () => cellText(view(about), BOY, READ)],
    ["running text", () => shadesInWords(view({ query: BOY }), shadesOf(view({ query: BOY }))!)],
    ["a head", () => headWords()],
    [
      "questions about heads",
      () =>
        headQuestions(view(about), {})
          .map((question) => JSON.stringify(question))
          .join(),
    ],
    ["a guess in Present", () => answerText(rowOf(view({ query: READ }))!, BOY)],
    ["the question there", () => questionText(rowOf(view({ query: BOY }))!)],
    ["what an answer rests on", () => explainedWords({ ...NOTE, words: "הילד (+0.31), קרא (+0.20)" })],
    ["a token that is there twice", () => tokenName(overview, BOY)],
    ["a cell that may matter", () => cellName(overview, about)],
    ["a cell's score", () => placeWords(view(), split)],
    ["in plain words", () => scoreWords(view(), split)],
    ["a change", () => chipOf({ kind: "cut", layer: 0, head: 0, query: BOY, key: READ }, 0, HEBREW).label],
    [
      "what can be done to a token",
      () =>
        toToken(view(), [BOY])
          .map(({ label }) => label)
          .join(),
    ],
  ])("%s", (_, words) => {
    const sentence = words();
    expect(sentence).toMatch(/\p{Script=Hebrew}/u);
    expect(loose(sentence)).toEqual([]);
  });

  /** A head that looks at the second word from everywhere. */
  function headWords(): string {
    const rows = Float32Array.from({ length: 49 }, (_, n) => (n % 7 === READ ? 0.9 : 0.1 / 6));
    const numbers = {
      ...overview,
      stats: ["entropy", "k90"],
      statistic: (_l: number, _h: number, name: string) => ({ entropy: 1 })[name] ?? 0,
    };
    return sentenceText(sentenceOf(numbers, 1, 2, heldCells(rows, 7)));
  }
});

describe("running text", () => {
  it.each([
    ["הילד קרא", "rtl"],
    ["12 قرأ the", "rtl"],
    ["the הילד", "ltr"],
    ["男孩一天", "ltr"],
    ["12.", "ltr"],
    ["", "ltr"],
  ])("%s is laid %s", (text, direction) => {
    expect(directionOf(text)).toBe(direction);
  });
  it.each([
    [HEBREW, -1],
    ["[CLS] the cat sat [SEP]".split(" "), 1],
  ])("stands in the order of its script on paper, its special tokens too", (tokens, order) => {
    const wave = Float32Array.from({ length: tokens.length ** 2 }, (_, n) => n / 50);
    const file = drawn(
      { title: "", description: "", caption: [] },
      viewOf(tokens, { query: 1 }, wave),
      <RunningFigure />,
    );
    const places = [...file.matchAll(/<g transform="translate\((\S+) 0\)"><rect/g)].map(([, x]) => Number(x));
    expect(places.length).toBe(tokens.length);
    expect(places).toEqual(places.toSorted((a, b) => order * (a - b)));
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
  });
});
