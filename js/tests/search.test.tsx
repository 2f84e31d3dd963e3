// @vitest-environment happy-dom
// The view of a retrieval: what is listed, what is coloured, where arcs run, what a saved page answers, what files hold.
import { effect } from "@preact/signals";
import { render } from "preact";
import { expect, test } from "vitest";
import words from "../../tests/wire/word_keys.json";
import type { CaseText, QuestionList, SearchCase, SearchOverview } from "../src/generated/answers";
import { Answers } from "../src/kernel/answers";
import { ask } from "../src/kernel/kernel";
import { Link } from "../src/kernel/link";
import { inSight } from "../src/parts/cases/list";
import { largestArc, linksOf, pathOf, spread, within } from "../src/search/arcs";
import { Sentence, triedWords, turnedWords } from "../src/search/claim";
import { barsOf, questionsCsv } from "../src/search/files";
import { groundsOf, peakOf } from "../src/search/grounds";
import { unjudged } from "../src/search/judgement";
import { type Filter, listed } from "../src/search/listfilter";
import { keyOf, promptEnd } from "../src/search/live/reading";
import { answerOf } from "../src/search/page";
import { digitsOf } from "../src/search/scores";
import { answering } from "../src/search/state";
import { columnsOf, tableCsv } from "../src/search/tables";
import { wordAbout } from "../src/search/triptych";
import { medianOf, windowOf } from "../src/search/window";

const QUESTIONS: QuestionList = {
  query: ["a", "b", "c", "d"],
  text: ["Why is the sky blue?", "what is a SKY lift", "How long is wine kept?", "who"],
  rank: [3, 40, 1, null],
  gap: [0.2, 0.1, null, null],
  failed: [true, true, false, true],
  kinds: [[0, 2], [2], [], []],
  depth: 200,
};
const ANY: Filter = { kind: "all", words: "", rank: "any" };

test("questions are listed by kind, by all words that are typed, and by rank", () => {
  const names = (change: Partial<Filter>) =>
    listed(QUESTIONS, { ...ANY, ...change })
      .map((at) => QUESTIONS.query[at])
      .join("");
  expect(names({})).toBe("abcd");
  expect(names({ kind: "failures" })).toBe(["a", "b", "d"].join(""));
  expect(names({ kind: "2" })).toBe("ab");
  expect(names({ words: "sky" })).toBe("ab");
  expect(names({ words: " sky  WHAT" })).toBe("b");
  expect(names({ words: "(" })).toBe("");
  expect([
    names({ rank: "first" }),
    names({ rank: "ten" }),
    names({ rank: "hundred" }),
    names({ rank: "beyond" }),
  ]).toEqual(["c", "a", "b", "d"]);
});

test("of ten thousand questions those in sight are drawn, and all can be reached", () => {
  for (const top of [0, 3000, 659_340]) {
    const [from, to] = inSight(10_000, top, 660, 66);
    expect(to - from).toBeLessThanOrEqual(24);
    expect(from * 66).toBeLessThanOrEqual(top);
    expect(to * 66).toBeGreaterThanOrEqual(Math.min(660_000, top + 660));
  }
  expect(inSight(3, 0, 660, 66)).toEqual([0, 3]);
});

test("of a long passage the forty words round what counts are shown, on grounds above the median", () => {
  const part = (at: number) => ({ part: at, wrong: null, right: null, places: 1 });
  const parts = Array.from({ length: 150 }, (_, n) => part(n === 100 ? 0.5 : n === 110 ? -0.4 : 0.001 * (n % 3)));
  const rows = parts.map((_, n) => n);
  const [from, to] = windowOf(rows, parts);
  expect(to - from).toBe(40);
  expect(from <= 100 && 110 < to).toBe(true);
  const sum = (at: number) => parts.slice(at, at + 40).reduce((all, { part: one }) => all + Math.abs(one), 0);
  for (let at = 0; at + 40 <= 150; at++) expect(sum(at)).toBeLessThanOrEqual(sum(from) + 1e-9);
  expect(windowOf(rows.slice(0, 12), parts)).toEqual([0, 12]);
  expect(medianOf([0, 1, 2], [part(-3), part(1), part(2)])).toBe(2);
  expect(medianOf([0, 1], [part(-3), null])).toBe(1.5);
  expect(medianOf([], [])).toBe(0);
});

test("the words that were tried come by how near they take the order to turning", () => {
  const row = (name: string, wrong: number, side: "wrong" | "query" = "wrong") => ({
    ...{ name, key: name, side, after: [wrong, 0.5] as [number, number], turned: false, said: "" },
  });
  const rows = [row("a", 0.61), row("b", 0.45), row("c", 0.72), row("q", 0.1, "query")];
  expect(triedWords({ before: [0.7, 0.5], rows }).map(({ name }) => name)).toEqual(["b", "a"]);
  expect(triedWords({ before: [0.3, 0.5], rows }).map(({ name }) => name)).toEqual(["c", "a", "b"]);
});

const text = (words: [name: string, key: string, part: number][]): CaseText => ({
  pieces: words.map(([name], row) => [name, row]),
  names: words.map(([name]) => name),
  keys: words.map(([, key]) => key),
  parts: words.map(([, , part]) => part),
});
// cat: .5 + .1 in the wrong passage, .2 in the right one; template rows have no key
const CASE = {
  texts: {
    query: text([
      ["[CLS]", "", 0.05],
      ["Cats", "cats", 0.3],
      ["sleep", "sleep", -0.05],
    ]),
    wrong: text([
      ["[CLS]", "", 0.1],
      ["cat", "cat", 0.5],
      ["sat", "sat", 0.02],
      ["Cat", "cat", 0.1],
    ]),
    right: text([
      ["the", "the", -0.22],
      ["cat", "cat", -0.2],
    ]),
  },
  arcs: {
    wrong: [
      [1, 1, 0.3],
      [1, 2, 0.01],
      [2, 1, 0.2],
      [2, 2, -0.02],
    ],
    right: [
      [1, 1, 0.1],
      [2, 0, 0.15],
    ],
  },
  scores: [0.72, 0.42],
} as unknown as SearchCase;

test("a word's colour is what it puts into the difference in both passages; the colours sum to it with the template", () => {
  const [wrong, right] = [groundsOf(CASE, "wrong"), groundsOf(CASE, "right")];
  expect(wrong[0]).toBeNull();
  expect(wrong[1]).toEqual(wrong[3]);
  expect(wrong[1]!.part).toBeCloseTo(0.4, 12);
  expect([wrong[1]!.wrong, wrong[1]!.right, wrong[1]!.places]).toEqual([0.6, 0.2, 2]);
  expect(right[1]!.part).toBeCloseTo(0.4, 12);
  expect(right[1]!.places).toBe(1);
  expect(right[0]).toEqual({ part: -0.22, wrong: null, right: 0.22, places: 1 });
  const words = wrong[1]!.part + wrong[2]!.part + right[0]!.part;
  expect(words + 0.1).toBeCloseTo(CASE.scores[0] - CASE.scores[1], 12);
  expect(groundsOf(CASE, "query").map((ground) => ground?.part)).toEqual([undefined, 0.3, -0.05]);
  expect(peakOf(CASE)).toBeCloseTo(0.4, 12);
  expect(wordAbout("cat", wrong[1]!)).toBe(
    "cat: 0.4000 of the difference (0.6000 of the wrong one’s score, 0.2000 of the right one’s), in 2 places",
  );
  expect(wordAbout("the", right[0]!)).toBe("the: −0.2200 of the difference (0.2200 of the right one’s)");
  expect(barsOf(CASE, "wrong").map(([word]) => word)).toEqual(["cat", "sat"]);
});

test("arcs at rest are the largest; a word that is looked at has all of its own, to the place that is looked at", () => {
  expect(linksOf(CASE, null).map(({ part }) => part)).toEqual([0.3, 0.2, -0.02, 0.15, 0.1]);
  expect(linksOf(CASE, { side: "query", row: 2 }).map(({ side, at }) => `${side}${at}`)).toEqual([
    "wrong1",
    "wrong2",
    "right0",
  ]);
  expect(linksOf(CASE, { side: "wrong", row: 3 })).toEqual([
    { side: "wrong", row: 1, at: 3, part: 0.3 },
    { side: "wrong", row: 2, at: 3, part: 0.2 },
  ]);
  expect(largestArc(CASE)).toBe(0.3);
});

const box = (left: number, top: number) => ({ left, top, right: left + 20, bottom: top + 10 });

test("an arc runs from edge to edge, sideways or up and down; numbers do not stand on each other", () => {
  expect(pathOf(box(100, 0), box(0, 50)).path).toMatch(/^M95 5C.* 20 55$/);
  expect(pathOf(box(100, 0), box(200, 50)).path).toMatch(/^M125 5C.* 200 55$/);
  expect(pathOf(box(100, 100), box(105, 0)).path).toMatch(/^M110 100C.* 115 10$/);
  expect(within(box(0, 90), { left: 0, right: 9, top: 0, bottom: 60 })).toMatchObject({ top: 60, bottom: 60 });
  const moved = spread([10, 10, 100, 12]);
  expect(moved[2]).toBe(100);
  const sorted = [...moved].sort((a, b) => a - b);
  for (let n = 1; n < 4; n++) expect(sorted[n]! - sorted[n - 1]!).toBeGreaterThanOrEqual(15);
});

test("two scores differ in print where they differ", () => {
  expect(digitsOf([0.7, 0.6])).toBe(3);
  expect(digitsOf([0.71234, 0.71231])).toBe(5);
  expect(digitsOf([0.5, 0.5], null)).toBe(3);
});

test("a sentence's words stand in letters of their own, and nobody is wrong where nobody judged", () => {
  const root = document.createElement("div");
  render(<Sentence text="“cat” (+0.041) of the question prefers the wrong passage." />, root);
  expect(root.textContent).toBe("cat (+0.041) of the question prefers the wrong passage.");
  expect(root.querySelector("i")!.textContent).toBe("cat");
  expect(unjudged("prefers the wrong passage: “x”, which the right one lacks")).toBe(
    "prefers the one passage: “x”, which the other one lacks",
  );
  expect(turnedWords([0.5, 0.4], [0.5, 0.6])).toBe("Rewritten so, the order turns (+0.100 → −0.100).");
  expect(turnedWords([0.5, 0.4], [0.5, 0.45])).toBe("Rewritten so, the order stays (+0.100 → +0.050).");
});

test("a saved page answers what it carries by Python's name of the question, else says that it needs Python", () => {
  const name = '[["op","search_case"],["query","q1"],["right",null],["texts",null],["wrong",null]]';
  const read = (key: string) => (key === name ? { said: "yes" } : null);
  const question = { op: "search_case", query: "q1", wrong: null, right: null, texts: null };
  expect(answerOf(question, read)).toEqual({ said: "yes" });
  expect(answerOf({ ...question, query: "q2" }, read).error).toMatch(/cases of other questions.*needs Python/);
  expect(answerOf({ ...question, texts: ["a", "b", "c"] }, read).error).toMatch(/rewritten.*needs Python/);
  expect(answerOf({ op: "search_negatives", n: 5, ending: ".csv" }, read).error).toMatch(/need Python: r.hard_neg/);
  expect(answerOf({ op: "hello" }, read)).toEqual({ kernel: false });
});

const OVERVIEW = {
  ...{ model: "tiny", date: "2026-01-01", passages: 9, questions: QUESTIONS, versions: {} },
  rules: [
    ["cut", "cut", ""],
    ["hub", "hub", ""],
    ["no_word", "no word", ""],
  ],
} as unknown as SearchOverview;

test("a table as CSV has numbers in full, an interval's two ends, and nothing where there is no number", () => {
  const rows = [
    { measure: "MRR", mean: 0.123456, low: 0.1, high: null, n: 1200 },
    { measure: "=1+1", mean: 0.5, low: 0.4, high: 0.6, n: 3 },
  ];
  const lines = tableCsv(OVERVIEW, "quality", { said: "All is well.", about: "", rows }).split("\r\n");
  const body = lines.filter((line) => !line.startsWith("#"));
  expect(body).toEqual(['"measure","mean","low","high","n"', '"MRR",0.123456,0.1,,1200', `"'=1+1",0.5,0.4,0.6,3`, ""]);
  expect(lines).toContain("# table: All is well.");
  const shown = columnsOf("quality", rows).filter(({ copied }) => !copied);
  expect(shown.map(({ show }) => show!(rows[1]!))).toEqual(["=1+1", "0.500", "0.400 to 0.600", "3"]);
  expect(shown[2]!.show!(rows[0]!)).toBe("–");
});

test("the list as CSV has every question with its rank and kinds", () => {
  const body = questionsCsv(OVERVIEW)
    .split("\r\n")
    .filter((line) => !line.startsWith("#"));
  expect(body[0]).toBe('"query","text","rank_of_the_first_right","gap","kinds"');
  expect(body[1]).toBe('"a","Why is the sky blue?",3,0.2,"cut no_word"');
  expect(body[4]).toBe('"d","who",,,""');
});

test("a refusal is asked once while somebody looks, and again when somebody else does", async () => {
  const sent: string[] = [];
  let hear: (message: unknown) => void = () => undefined;
  const model = {
    on: (_: string, listener: typeof hear) => {
      hear = listener;
    },
    off: () => undefined,
    send: ({ id, op }: { id: string; op: string }) => {
      sent.push(op);
      queueMicrotask(() => hear({ id, error: "not here" }));
    },
  };
  const { signal } = new AbortController();
  const get = answering(new Answers((op, fields) => ask(model as never, op, fields, signal), new Link(signal)));
  const about = { query: "q", wrong: null, right: null, texts: null };
  const reasons: string[] = [];
  const look = () =>
    effect(() => {
      const answer = get("search_case", about);
      if (answer.state === "refused") reasons.push(answer.reason);
    });
  const end = look();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([sent.length, reasons]).toEqual([1, ["not here"]]);
  end();
  look()();
  expect(sent.length).toBe(2);
});

test("a page folds words as Python does: the keys of both are the same ones", () => {
  for (const [word, key] of Object.entries(words)) expect([word, keyOf(word)]).toEqual([word, key]);
  expect(Object.keys(words).length).toBeGreaterThan(30);
});

test("a blank at a prompt's end is of the text's first word, where a tokenizer has it as a piece", () => {
  // [<s>, …, </s>]: a word for each run of letters, and one for a blank at the end, as "query: สุนัข" begins with it
  const encode = (text: string) => ({ words: [-1, ...(text.match(/\S+| $/g) ?? []).map((_, n) => n), -1] });
  expect(promptEnd(encode, "query: ")).toBe(0);
  expect(promptEnd(encode, "search query: ")).toBe(1);
  expect([promptEnd(encode, ""), promptEnd(encode, " ")]).toEqual([-1, -1]);
});
