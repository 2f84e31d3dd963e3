// @vitest-environment happy-dom
// The model's answer at the front: numbers between the nine runs, sentences of numbers that are shown, and a slider that
// asks nothing while it is dragged.
import { readFileSync } from "node:fs";
import { signal } from "@preact/signals";
import { type ComponentChildren, render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { inOrder } from "../src/compute/inorder";
import { Answer } from "../src/front/answer";
import { type Bar, stretchesOf, trackOf } from "../src/front/answerbars";
import { Claim } from "../src/front/claim";
import {
  brief,
  type Effect,
  habitPieces,
  type Look,
  lookPieces,
  louderPieces,
  plain,
  shownDifference,
  withoutPieces,
} from "../src/front/claims";
import { Loudness, pointed, stepped } from "../src/front/loudness";
import { Sentence } from "../src/front/sentence/sentence";
import { mapCells, mapWords, Strip, timeWords } from "../src/front/strip";
import { between, curveAt, FrontAnswers, factorOf, type HeadsThatMatter, isExact } from "../src/state/frontanswers";
import type { Overview } from "../src/state/overview";
import { createView, type View, ViewContext } from "../src/state/view";
import { bench, headAnswer, hello, overviewOf, pack, settled, TOKENS } from "./fake";

const FACTORS = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];

describe("numbers between the nine", () => {
  const values = Float32Array.from(FACTORS.flatMap((s) => [0.2 + 0.3 * s * s, 1 - 0.4 * s]));
  it("are those that were run where they were run", () => {
    FACTORS.forEach((s, n) => {
      expect([...between(FACTORS, values, s)]).toEqual([...values.subarray(2 * n, 2 * n + 2)]);
      expect(isExact({ factors: FACTORS }, s)).toBe(true);
    });
    expect(isExact({ factors: FACTORS }, 0.4)).toBe(false);
  });
  it("lie on a straight line between two of them, for every row", () => {
    for (const s of [0.1, 0.4, 0.99, 1.37, 1.9]) {
      const n = Math.floor(4 * s);
      const way = 4 * s - n;
      for (const row of [0, 1]) {
        const expected = (1 - way) * values[2 * n + row]! + way * values[2 * n + 2 + row]!;
        expect(between(FACTORS, values, s)[row]).toBeCloseTo(expected, 6);
      }
    }
    expect(curveAt([0, 1], [0.2, 0.6], 0.25)).toBeCloseTo(0.3, 6);
    expect(curveAt([0, 1], [0.2, 0.6], 3)).toBeCloseTo(0.6, 6);
  });
});

const change = (id: number, fields: object) => ({ id, label: "", about: "", code: "", off: null, ...fields });

it("knows how loud a head is in a run", () => {
  const overview = (...changes: object[]) => ({ changes }) as unknown as Overview;
  expect(factorOf(overview(), 1, 2)).toBe(1);
  expect(factorOf(overview(change(1, { scale: [1, 2, 0.4] })), 1, 2)).toBe(0.4);
  expect(factorOf(overview(change(1, { scale: [1, 3, 0.4] })), 1, 2)).toBe(1);
  expect(factorOf(overview(change(1, { off: [1, 2] })), 1, 2)).toBe(0);
  expect(factorOf(overview(change(1, { off: [1, null] })), 1, 2)).toBe(0);
  const both = [change(1, { scale: [1, null, 0.5] }), change(2, { scale: [1, 2, 3] }), change(3, { label: "hidden" })];
  expect(factorOf(overview(...both), 1, 2)).toBe(1.5);
});

const LOOK: Look = {
  head: "L5·H7",
  hovered: false,
  query: { text: "[MASK]", special: false },
  key: { text: "cat", special: false },
  value: 0.7349,
  even: 0.0667,
  noun: "word",
  itself: false,
};
const SEP = { text: "[SEP]", special: true };
const EFFECT: Effect = {
  head: "L5·H7",
  kind: "words",
  lone: false,
  name: "cat",
  where: "",
  from: 0.6604,
  to: 0.2662,
  factor: 1,
  about: false,
  changeCount: 0,
  carrier: null,
  best: null,
  sure: false,
};
const BEST = { head: "L2·H3", tried: 8, change: 0.0121, least: 0.04 };
const BEST_OF_SURE = { ...BEST, change: -0.0081, least: 0.9741 };
const louder = (effect: Partial<Effect>, look: Partial<Look> = {}) =>
  louderPieces({ ...EFFECT, ...effect }, { ...LOOK, ...look })
    .map(plain)
    .join(" ");

/** Every state of the sentences, and what they say. */
const SAID: [string, () => string, Record<string, unknown>[]][] = (
  [
    [{}, "L5·H7 lets [MASK] look at cat (0.73)."],
    [
      { hovered: true, query: { text: "drink", special: false }, key: SEP, value: 0.2512 },
      "In L5·H7, drink rests on [SEP] (0.25).",
    ],
    [{ hovered: true }, "In L5·H7, [MASK] looks at cat (0.73)."],
    [{ key: SEP }, "L5·H7 lets [MASK] rest on [SEP] (0.73)."],
    [{ itself: true }, "L5·H7 lets [MASK] look at itself (0.73)."],
    [{ value: 0.09 }, "In L5·H7, [MASK] looks at no word much; at cat most (0.09)."],
    [
      { value: 0.0011, even: 0.001, noun: "token" },
      "In L5·H7, [MASK] looks at no token much; at cat most (less than 0.01).",
    ],
  ] as [Partial<Look>, string][]
).map(([look, text]) => [text, () => plain(lookPieces({ ...LOOK, ...look })), [{ ...LOOK, ...look }]]);

const WITHOUT: [Partial<Effect>, string][] = [
  [{}, "Without it, cat falls from 0.66 to 0.27."],
  [{ to: 0.846 }, "Without it, cat rises from 0.66 to 0.85."],
  [{ to: 0.6612 }, "Without it, cat stays at 0.66."],
  [{ from: 0.002, to: 0.003 }, "Without it, cat stays below 0.01."],
  [{ to: 0.001 }, "Without it, cat falls from 0.66 to less than 0.01."],
  [{ where: " at 11" }, "Without it, cat at 11 falls from 0.66 to 0.27."],
  [{ kind: "labels", name: "positive", from: 0.81, to: 0.58 }, "Without it, positive falls from 0.81 to 0.58."],
  [{ kind: "labels", lone: true, from: -1.2, to: 0.4 }, "Without it, the score rises from −1.20 to 0.40."],
  [{ kind: "tags", name: "B-PER", where: " for “Ada”" }, "Without it, B-PER for “Ada” falls from 0.66 to 0.27."],
  [{ kind: "similarity", from: 0.359, to: 0.454 }, "Without it, the similarity rises from 0.36 to 0.45."],
  [{ kind: "embedding", from: 0, to: 0.08 }, "Without it, the vector turns by 0.08."],
  [
    { kind: "embedding", from: 0, to: 0.08, carrier: { word: "cabinet", share: 0.1204 } },
    "Without it, the vector turns by 0.08. cabinet carries 0.12 of it.",
  ],
  [{ kind: "embedding", from: 0, to: 0.001 }, "Without it, the vector turns by less than 0.01."],
  [
    { kind: "embedding", from: 0.03, to: 0.08, changeCount: 1 },
    "In this changed run, without it, the vector’s turn rises from 0.03 to 0.08.",
  ],
  [{ changeCount: 2 }, "In this changed run, without it, cat falls from 0.66 to 0.27."],
  [{ best: { ...BEST, change: -0.394 } }, "Without it, cat falls from 0.66 to 0.27."],
  [{ best: BEST }, "Without it, cat falls from 0.66 to 0.27."],
  [
    { from: 0.05, to: 0.047, best: BEST },
    "The model is unsure: cat has 0.05; of 8 heads tried, L2·H3 moves it most, to 0.06.",
  ],
  [
    { from: 0.05, to: 0.047, peak: 0.66, best: BEST },
    "cat is a rare guess (0.05); of 8 heads tried, L2·H3 moves it most, to 0.06.",
  ],
  [
    { from: 0.98, to: 0.978, best: { ...BEST, change: -0.0121 } },
    "No single head matters here: cat has 0.98; of 8 heads tried, L2·H3 moves it most, to 0.97.",
  ],
  [
    { from: 0.002, to: 0.0021, best: { ...BEST, change: 0.0004 } },
    "The model is unsure: cat has less than 0.01; of 8 heads tried, none moves it by 0.01.",
  ],
  [
    { kind: "similarity", from: 0.359, to: 0.36, best: { ...BEST, change: -0.001 } },
    "No single head matters here: the similarity is 0.36; of 8 heads tried, none moves it by 0.01.",
  ],
  [
    { sure: true, from: 0.9822, to: 0.981, best: BEST_OF_SURE },
    "No single head matters here: without any of the 8 tried, cat stays above 0.97.",
  ],
  [
    { sure: true, from: 0.9921, to: 0.9502, best: BEST_OF_SURE },
    "Without it, cat falls from 0.99 to 0.95; its log-odds fall from 4.83 to 2.95.",
  ],
  [
    { sure: true, from: 0.9921, to: 0.9931, best: null },
    "Without it, cat stays at 0.99; its log-odds rise from 4.83 to 4.97.",
  ],
  [{ sure: true, from: 0.9921, to: 0.4502, best: null }, "Without it, cat falls from 0.99 to 0.45."],
];
const LOUDER: [Partial<Effect>, Partial<Look>, string][] = [
  [{ factor: 0 }, {}, "With L5·H7 silent, cat falls from 0.66 to 0.27. It still looks at cat, but passes nothing on."],
  [
    { factor: 0 },
    { key: SEP },
    "With L5·H7 silent, cat falls from 0.66 to 0.27. It still rests on [SEP], but passes nothing on.",
  ],
  [
    { factor: 0 },
    { value: 0.07 },
    "With L5·H7 silent, cat falls from 0.66 to 0.27. It still looks, but passes nothing on.",
  ],
  [
    { factor: 0.4, to: 0.4312, about: true },
    {},
    "With L5·H7 at 0.40, cat falls from 0.66 to ≈ 0.43. It passes on less than the model lets it.",
  ],
  [
    { factor: 0.5, to: 0.479 },
    {},
    "With L5·H7 at 0.50, cat falls from 0.66 to 0.48. It passes on less than the model lets it.",
  ],
  [
    { factor: 2, to: 0.847 },
    {},
    "With L5·H7 at 2.00, cat rises from 0.66 to 0.85. It passes on more than the model lets it.",
  ],
  [
    { factor: 0.25, to: 0.3, changeCount: 1 },
    {},
    "In this changed run, with L5·H7 at 0.25, cat falls from 0.66 to 0.30. It passes on less than the model lets it.",
  ],
  [
    { factor: 0, changeCount: 1 },
    {},
    "In this changed run, with L5·H7 silent, cat falls from 0.66 to 0.27. It still looks at cat, but passes nothing on.",
  ],
  [
    { kind: "embedding", factor: 2, from: 0, to: 0.045 },
    {},
    "With L5·H7 at 2.00, the vector turns by 0.04. It passes on more than the model lets it.",
  ],
];

describe("a claim", () => {
  const states: typeof SAID = [
    ...SAID,
    ...WITHOUT.map(([effect, text]): (typeof SAID)[number] => [
      text,
      () => plain(withoutPieces({ ...EFFECT, ...effect })),
      [{ ...EFFECT, ...effect }],
    ]),
    ...LOUDER.map(([effect, look, text]): (typeof SAID)[number] => [
      text,
      () => louder(effect, look),
      [
        { ...EFFECT, ...effect },
        { ...LOOK, ...look },
      ],
    ]),
  ];
  it.each(states)("%s", (text, says, inputs) => {
    expect(says()).toBe(text);
    const flat = (value: unknown): number[] =>
      typeof value === "number"
        ? [value]
        : value && typeof value === "object"
          ? Object.values(value).flatMap(flat)
          : [];
    const numbers = inputs.flatMap(flat);
    const { from, to, best, sure } = { from: 0, best: null, ...inputs[0] } as unknown as Effect;
    const odds = sure ? [from, to].map((p) => Math.log(p) - Math.log1p(-p)) : [];
    const bound = sure && best ? [best.least - 0.005] : [];
    const rounded = [...numbers, ...odds, ...bound, from + (best?.change ?? 0)].map((value) =>
      value.toFixed(2).replace("-", "−"),
    );
    for (const [number] of text.matchAll(/−?\d+\.\d+/g)) expect([...rounded, "0.01"], number).toContain(number); // 0.01 bounds what is less
  });
  it("says of a head what it does in general", () => {
    const says = (side: "previous" | "next", noun: string) => plain(habitPieces({ side, share: 0.648 }, noun));
    expect(says("previous", "word")).toBe("In general: words look at the previous word (mean 0.65).");
    expect(says("next", "patch")).toBe("In general: patches look at the next patch (mean 0.65).");
    expect(habitPieces(null, "word")).toEqual([]);
  });
  it("shows the difference of what is shown", () => {
    expect(shownDifference(0.324, 0.126)).toBeCloseTo(-0.19);
    expect([0.324, 0.126, 0.004, 0, -0.1].map(brief)).toEqual(["0.32", "0.13", "less than 0.01", "0.00", "−0.10"]);
  });
});

describe("a bar", () => {
  const bar = (now: number, off: number | null, was: number | null): Bar => ({
    ...{ name: "cat", position: 1, pieces: [], about: false, isAsked: true, now, off, was },
  });
  const kinds = (one: Bar) => stretchesOf(one, [0, 1]).map(({ kind, from, to }) => [kind, from, to]);
  it("is ink where it stays, accent where the head holds it, dashed where it went", () => {
    expect(kinds(bar(0.66, 0.27, null))).toEqual([
      ["stays", 0, 0.27],
      ["lost", 0.27, 0.66],
    ]);
    expect(kinds(bar(0.36, 0.45, null))).toEqual([
      ["stays", 0, 0.36],
      ["gone", 0.36, 0.45],
    ]);
    expect(kinds(bar(0.27, null, 0.66))).toEqual([
      ["stays", 0, 0.27],
      ["gone", 0.27, 0.66],
    ]);
    expect(kinds(bar(0.85, null, 0.66))).toEqual([
      ["stays", 0, 0.66],
      ["gained", 0.66, 0.85],
    ]);
    expect(kinds(bar(0.66, 0.661, null))).toEqual([["stays", 0, 0.66]]);
    expect(kinds(bar(0.66, null, null))).toEqual([["stays", 0, 0.66]]);
  });
  it("has a track of round length that its curve does not leave, and room below 0", () => {
    expect(trackOf([bar(0.66, 0.27, null)], [[0.27, 0.66, 0.85]])).toEqual([0, 1]);
    expect(trackOf([bar(0.06, null, null)], [], 1)).toEqual([0, 1]);
    expect(trackOf([bar(0.05, null, null)], [[0.03, 0.05, 0.06]])).toEqual([0, 0.1]);
    expect(trackOf([bar(-2, null, null)], [[-3, 1.5]])).toEqual([-3, 1.5]);
  });
});

describe("the slider", () => {
  it("snaps to 1 and stays between 0 and 2", () => {
    expect([-5, 0, 25, 49, 50, 51, 53, 100, 130].map((x) => pointed(x, 100))).toEqual([0, 0, 0.5, 1, 1, 1, 1.06, 2, 2]);
  });
  it("moves by tenths, to its ends and back", () => {
    const keys = ["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp", "Home", "End", "Backspace", "a"];
    expect(keys.map((key) => stepped(key, 0.43))).toEqual([0.3, 0.5, 0.3, 0.5, 0, 2, 1, null]);
    expect([stepped("ArrowLeft", 0), stepped("ArrowRight", 2)]).toEqual([0, 2]);
  });
});

const ANSWERS = {
  ...{ kind: "words", unit: "probability", said: "", why_not: "", choices: ["dog", "mat"], places: [] },
  metrics: [],
  rows: [
    [2, "dog", 0.6, 0.6],
    [2, "mat", 0.1, 0.1],
  ],
};

const show = (view: View, parts: ComponentChildren, element: Element) =>
  render(
    <ViewContext.Provider value={view}>
      <FrontAnswers>{parts}</FrontAnswers>
    </ViewContext.Provider>,
    element,
  );

/** The front on a kernel that answers what it is asked. */
async function front(changes: object[] = [], answers: object | null = ANSWERS, more: object = {}, tokens = TOKENS) {
  const b = bench(overviewOf(tokens, { layer: 1, head: 2, offers: {}, answers, changes, ...more }));
  await hello(b);
  const view = createView(b.store, signal(false));
  view.synced.put({ view: "" });
  const element = document.createElement("div");
  const parts = [<Claim key="c" />, <Loudness key="l" />, <Answer key="a" />, <Strip key="s" />];
  show(view, parts, element);
  const wait = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    await settled();
  };
  const part = (name: string) => element.querySelector(`[data-testid=${name}]`)!;
  return { b, view, element, wait, part, text: (name: string) => part(name).textContent!.replace(/\s+/g, " ").trim() };
}

const VECTOR = { ...ANSWERS, kind: "embedding", unit: "cosine", choices: [] };
const ofShares = (shares: number[]) => {
  const packed = pack({ shares: { shape: [shares.length], data: Float32Array.from(shares) } });
  const fields = { how: "pooling", said: "a mean", why_not: "", arrays: packed.index };
  return [fields, [packed.data]] as [Record<string, unknown>, DataView[]];
};
const ofLoudness = (fields: object = {}, slope = 0.4) => {
  const values = Float32Array.from(FACTORS.flatMap((s) => [0.6 + slope * (s - 1), 0.1]));
  const packed = pack({ values: { shape: [9, 2], data: values } });
  const rows = [
    [2, "dog"],
    [2, "mat"],
  ];
  const all = { layer: 1, head: 2, factors: FACTORS, kind: "words", unit: "probability", rows, why_not: "" };
  return [{ ...all, ...fields, arrays: packed.index }, [packed.data]] as [Record<string, unknown>, DataView[]];
};

describe("the front", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const ops = ({ b }: Awaited<ReturnType<typeof front>>) => b.model.asked.map(({ message }) => message.op);

  async function dragged() {
    const it = await front();
    await it.wait(200);
    it.b.take("loudness", { layer: 1, head: 2 }).give(...ofLoudness());
    await it.wait(50);
    const track = it.part("loudness").querySelector<HTMLElement>("[role=slider]")!;
    track.setPointerCapture = () => undefined;
    track.getBoundingClientRect = () => ({ left: 0, width: 200, top: 0, height: 100 }) as DOMRect;
    const pointer = async (type: string, x: number) => {
      track.dispatchEvent(new PointerEvent(type, { clientX: x, bubbles: true, button: 0 }));
      await it.wait(20);
    };
    return { ...it, track, pointer };
  }

  it("waits with its second sentence, then says what the head does", async () => {
    const it = await front();
    expect(it.text("claim")).toMatch(/^L1·H2 lets .* …$|^In L1·H2, .* …$/);
    await it.wait(200);
    expect(ops(it)).toContain("loudness");
    expect(ops(it)).not.toContain("heads_that_matter"); // after a second of quiet
    it.b.take("loudness").give(...ofLoudness());
    await it.wait(1000);
    expect(it.text("claim")).toMatch(/Without it, dog falls from 0\.60 to 0\.20\.$/);
    expect(it.text("answer")).toContain("lost without this head");
    expect(ops(it)).toContain("heads_that_matter");
  });
  it("runs the curve of a long text on request, of each head for itself", async () => {
    const longer = (count: number) => [...TOKENS, ...Array.from({ length: count - TOKENS.length }, () => "cat")];
    const short = await front([], ANSWERS, {}, longer(192));
    await short.wait(1200);
    expect(ops(short)).toContain("loudness");
    const it = await front([], ANSWERS, {}, longer(193));
    const button = () =>
      [...it.element.querySelectorAll("button")].find((one) => /^Run it from/.test(one.textContent!));
    await it.wait(1200);
    expect(ops(it)).not.toContain("loudness");
    expect([it.text("claim").includes("…"), it.text("loudness")]).toEqual([
      false,
      "How loud is this head?Run it from silent to twice as loud",
    ]);
    expect(button()!.title).toBe("9 runs of 193 tokens");
    button()!.click();
    await it.wait(200);
    it.b.take("loudness", { layer: 1, head: 2 }).give(...ofLoudness());
    await it.wait(50);
    expect(it.text("claim")).toMatch(/Without it, dog falls from 0\.60 to 0\.20\.$/);
    expect(it.part("loudness").querySelector("[role=slider]")).not.toBeNull();
    const count = ops(it).filter((op) => op === "loudness").length;
    it.view.synced.put({ layer: 0, head: 1 });
    await it.wait(20);
    const { fields, buffers } = headAnswer(longer(193), 0, 1);
    it.b.take("head", { layer: 0, head: 1 }).give(fields, buffers);
    await it.wait(1200);
    expect(button()).toBeTruthy();
    it.view.synced.put({ layer: 1, head: 2 });
    await it.wait(1200);
    expect(it.part("loudness").querySelector("[role=slider]")).not.toBeNull();
    expect(ops(it).filter((op) => op === "loudness").length).toBe(count);
  });
  it("has a bar for every tag of one token, and a word that is pinned is asked about by its own", async () => {
    const rows = [
      [2, "B-PER", 0.7, 0.7],
      [1, "O", 0.9, 0.9],
      [2, "O", 0.2, 0.2],
      [2, "B-LOC", 0.1, 0.1],
    ];
    const choices = ["O", "B-PER", "B-LOC"];
    const tags = { ...ANSWERS, kind: "tags", choices, rows, places: [1, 2, 3], tags: ["O", "B-PER", "B-LOC"] };
    const it = await front([], tags);
    await it.wait(20);
    const bars = [...it.part("answer").querySelectorAll(".bl-answer-row")].map((bar) => bar.textContent);
    expect(bars).toEqual(["B-PER 0.70 ", "O 0.20 ", "B-LOC 0.10 "]);
    expect(it.text("answer")).toMatch(/^The tag of “cat”/);
    it.view.synced.put({ query: 3, key: null });
    await it.wait(20);
    expect(it.b.take("answers").message).toMatchObject({ target: "B-LOC", target_at: 3 });
  });
  it("shows unrelated texts behind the similarity of two, where the kernel has them", async () => {
    const rows = [[-1, "similarity of the two texts", 0.36, 0.36]];
    const it = await front([], { ...ANSWERS, kind: "similarity", unit: "cosine", choices: [], rows });
    await it.wait(900);
    expect(ops(it)).not.toContain("unrelated"); // after a second of quiet
    await it.wait(200);
    expect(it.part("unrelated")).toBeNull();
    it.b.take("unrelated").give({ n: 48, pairs: 1128, low: -0.05, median: 0.06, high: 0.209, why_not: "" });
    await it.wait(20);
    expect(it.text("unrelated")).toBe("48 unrelated sentences: −0.05 to 0.21");
    expect(it.part("unrelated").getAttribute("title")).toMatch(/1,128 pairs .* 5 % above 0\.21/);
    const { left, right } = it.part("answer").querySelector<HTMLElement>(".bl-answer-track > .bl-unrelated")!.style;
    expect([left, right]).toEqual(["0.00%", `${(100 * (1 - 0.259 / 1.05)).toFixed(2)}%`]);
    const other = await front([], ANSWERS);
    await other.wait(1300);
    expect(ops(other)).not.toContain("unrelated");
  });
  it("asks nothing while it is dragged, and once for one run when it is let go", async () => {
    const it = await dragged();
    const before = it.b.model.asked.length;
    await it.pointer("pointerdown", 100);
    for (const x of [80, 60, 40, 20, 0, 40]) await it.pointer("pointermove", x);
    expect(it.track.getAttribute("aria-valuetext")).toBe("0.40: dog 0.36");
    expect(it.text("claim")).toBe(
      "With L1·H2 at 0.40, dog falls from 0.60 to ≈ 0.36. It passes on less than the model lets it.",
    );
    expect(it.text("answer")).toContain("was 0.60");
    expect(it.b.model.asked.length).toBe(before);
    await it.pointer("pointerup", 40);
    expect(it.b.take("change").message.changes).toEqual([["scale", 1, 2, 0.4]]);
    expect(it.b.model.asked.length).toBe(before);
  });
  it("is the run's own answer of another head, whose curve is not here yet", async () => {
    const it = await dragged();
    await it.pointer("pointerdown", 40);
    it.view.synced.put({ head: 3 });
    await settled();
    await it.b.answer(1, 3);
    await it.wait(50);
    expect(it.text("answer")).toContain("dog 0.60");
    expect(it.text("claim")).toMatch(/L1·H3 .* …$/);
  });
  it("is described by the claim, which is spoken once a drag has ended", async () => {
    const it = await dragged();
    await it.wait(600);
    expect(it.track.getAttribute("aria-describedby")).toBe(it.part("claim").id);
    const spoken: string[] = [];
    const heard = new MutationObserver(() => {
      if (it.text("claim-spoken") !== (spoken.at(-1) ?? "")) spoken.push(it.text("claim-spoken"));
    });
    heard.observe(it.part("claim-spoken"), { characterData: true, childList: true, subtree: true });
    const opening = it.text("claim");
    expect(it.text("claim-spoken")).toBe("");
    await it.pointer("pointerdown", 100);
    for (const x of [80, 60, 40]) await it.pointer("pointermove", x);
    await it.wait(900);
    expect(spoken).toEqual([]);
    await it.pointer("pointermove", 100);
    await it.pointer("pointerup", 100);
    await it.wait(900);
    expect([it.text("claim"), spoken]).toEqual([opening, []]); // nothing has changed
    it.view.page.front.word.value = [1];
    await it.wait(900);
    it.view.page.front.word.value = null;
    it.view.synced.put({ query: 1, key: null });
    await it.wait(900);
    expect(spoken).toEqual([it.text("claim")]);
    heard.disconnect();
  });
  it("asks nothing where it ends as it began", async () => {
    const it = await dragged();
    const before = it.b.model.asked.length;
    for (const [type, x] of [
      ["pointerdown", 100],
      ["pointermove", 30],
      ["pointermove", 101],
      ["pointerup", 101],
    ] as const)
      await it.pointer(type, x);
    expect(it.b.model.asked.length).toBe(before);
    expect(it.text("claim")).toContain("Without it, dog falls");
  });
  const SCALED = change(1, { scale: [1, 2, 0.4], label: "L1·H2 at 0.4" });
  /** The run that was asked for. */
  async function arrives(it: Awaited<ReturnType<typeof front>>, changes: object[], more: object = {}) {
    const about = { trace: `t${changes.length + 1}`, subject: "t1", layer: 1, head: 2, offers: {} };
    it.b.model.set("overview", overviewOf(TOKENS, { ...about, changes, ...more }));
    await it.wait(50);
  }

  it("shows the numbers that were dragged to until those of the run are here", async () => {
    const it = await dragged();
    it.view.page.target.value = "mat";
    await it.wait(20);
    const rows = [
      [2, "mat", 0.1, 0.1],
      [2, "dog", 0.6, 0.6],
    ];
    it.b.take("answers", { target: "mat" }).give({ ...ANSWERS, rows });
    await it.wait(300);
    it.b.take("loudness", { target: "mat" }).give(...ofLoudness());
    await it.wait(20);
    for (const [type, x] of [
      ["pointerdown", 100],
      ["pointermove", 40],
      ["pointerup", 40],
    ] as const)
      await it.pointer(type, x);
    const moved = [it.text("claim"), it.text("answer"), it.text("loudness")];
    expect(moved[1]).toContain("dog 0.36");
    it.b.take("change").give({});
    await arrives(it, [SCALED]);
    expect([it.text("claim"), it.text("answer"), it.text("loudness")]).toEqual(moved);
    const after = rows.map(([at, name, before]) => [at, name, before, name === "dog" ? 0.35 : 0.11]);
    it.b.take("answers", { target: "mat", trace: "t2" }).give({ ...ANSWERS, rows: after });
    await it.wait(50);
    expect([it.view.page.front.factor.value, it.text("answer").match(/dog ([\d.]+)/)![1]]).toEqual([null, "0.35"]);
    expect(ops(it)).not.toContain("loudness"); // one curve for all strengths
  });
  it("takes a key that is pressed before the run of the last one is here", async () => {
    const it = await dragged();
    const press = async (key: string, ms: number) => {
      it.track.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      await it.wait(ms);
    };
    await press("ArrowRight", 500);
    const run = it.b.take("change");
    expect(run.message.changes).toEqual([["scale", 1, 2, 1.1]]);
    await press("ArrowRight", 100);
    run.give({});
    await arrives(it, [change(1, { scale: [1, 2, 1.1] })], { answers: ANSWERS });
    expect(it.track.getAttribute("aria-valuenow")).toBe("1.2");
    await it.wait(500);
    expect(it.b.take("change").message.changes).toEqual([["scale", 1, 2, 1.2]]);
  });
  it("undoes a run that is on its way, and what it did itself", async () => {
    const it = await dragged();
    for (const type of ["pointerdown", "pointerup"]) await it.pointer(type, 40);
    const run = it.b.take("change");
    it.part("loudness").querySelector("button")!.click();
    run.give({});
    await arrives(it, [SCALED, change(2, { label: "hidden" })], { answers: ANSWERS });
    expect(it.b.take("change").message.changes).toEqual([2]);
  });
  it("is let go where another text comes, or a tab is open below", async () => {
    const it = await dragged();
    await it.pointer("pointerdown", 40);
    it.view.page.allHeads.value = true; // the answer stays on the screen
    await it.wait(20);
    expect(it.view.page.front.factor.value).toBe(0.4);
    it.view.synced.put({ view: "norms" });
    await it.wait(20);
    expect(it.view.page.front.factor.value).toBeNull();
    it.view.page.allHeads.value = false;
    it.view.synced.put({ view: "" });
    await it.wait(20);
    await it.pointer("pointerdown", 40);
    expect(it.view.page.front.factor.value).toBe(0.4);
    await arrives(it, [], { subject: "t9", trace: "t9", answers: ANSWERS });
    await it.pointer("pointermove", 60);
    expect(it.view.page.front.factor.value).toBeNull();
  });
  it("has no slider where the whole layer is louder or off, and stays on its track at three times", async () => {
    for (const layer of [{ off: [1, null] }, { scale: [1, null, 0.5] }]) {
      const it = await front([change(1, layer)]);
      await it.wait(1200);
      expect([it.part("loudness"), ops(it).includes("loudness")]).toEqual([null, false]);
      expect(it.text("claim")).not.toContain("…");
    }
    const it = await front([change(1, { scale: [1, 2, 3] })]);
    await it.wait(200);
    it.b.take("loudness").give(...ofLoudness());
    await it.wait(50);
    const track = it.part("loudness").querySelector("[role=slider]")!;
    const place = it.part("loudness").querySelector<HTMLElement>(".bl-knob")!.style.left;
    expect([track.getAttribute("aria-valuenow"), place]).toEqual(["2", "100.00%"]);
    expect(track.getAttribute("aria-valuetext")).toMatch(/^3\.00: dog/);
  });
  it("takes no heads of a run with a slider for those of the run without", async () => {
    const heads = { ...HEADS, heads: [[0, 1, -0.4]] };
    const it = await front([SCALED]);
    await it.wait(1200);
    it.b.take("heads_that_matter").give(heads);
    await it.wait(50);
    await arrives(it, [], { trace: "t9", answers: ANSWERS });
    await it.wait(1200);
    it.b.take("heads_that_matter", { trace: "t9" }).give({ ...heads, heads: [[0, 2, -0.3]] });
    await it.wait(50);
    await arrives(it, [SCALED], { answers: ANSWERS });
    await it.wait(1200);
    expect(ops(it)).not.toContain("heads_that_matter"); // the list that is known stays
    expect(it.text("strip")).toContain("L0·H2");
  });
  it("takes one run for keys that follow one another", async () => {
    const it = await dragged();
    for (let n = 0; n < 4; n++) {
      it.track.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
      await it.wait(100);
    }
    expect(ops(it)).not.toContain("change");
    await it.wait(500);
    expect(it.b.take("change").message.changes).toEqual([["scale", 1, 2, 0.6]]);
    expect(ops(it)).not.toContain("change");
  });
  it("takes the same head's change back, and keeps other changes, which the curve holds too", async () => {
    const scaled = [
      change(1, { scale: [0, 0, 0.5], label: "L0·H0 at 0.5" }),
      change(2, { off: [1, 2], label: "L1·H2 off" }),
      change(3, { off: [2, 2], label: "L2·H2 off" }),
    ];
    const it = await front(scaled);
    await it.wait(200);
    it.b.take("loudness").give(...ofLoudness());
    await it.wait(50);
    const track = it.part("loudness").querySelector<HTMLElement>("[role=slider]")!;
    expect(track.getAttribute("aria-valuenow")).toBe("0");
    track.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
    await it.wait(500);
    expect(it.b.take("change").message.changes).toEqual([1, 3, ["scale", 1, 2, 2]]);
  });
  it("asks for the curve of the head that is chosen at last alone", async () => {
    const it = await front();
    for (const head of [0, 1, 3]) {
      it.view.synced.put({ layer: 1, head });
      await it.wait(30);
      await it.b.answer(1, head).catch(() => undefined);
    }
    await it.wait(300);
    expect(
      it.b.model.asked.filter(({ message }) => message.op === "loudness").map(({ message }) => message.head),
    ).toEqual([3]);
  });
  it("says why there is no answer", async () => {
    const none = { kind: "", unit: "", said: "", rows: [], metrics: [], choices: [], places: [], why_not: "no mask" };
    const it = await front([], none);
    await it.wait(200);
    expect(it.text("answer")).toBe("no mask");
    expect(it.part("loudness")).toBeNull();
    expect(ops(it)).not.toContain("loudness");
  });
  it("has room for what comes, but where the heads stand below it, and a line above is no such room", async () => {
    const it = await front([], null);
    await it.wait(50);
    const css = readFileSync("src/front/front.css", "utf8");
    const [, selector] = css.match(/\.bertlens ([^{}]*)\{\s*min-height: 184px/)!;
    const isRoomy = (part: string, unfolded: boolean) => {
      const top = document.createElement("div");
      top.innerHTML = `<div class="bl-front" data-brief="${unfolded}">${part}</div>`;
      return top.querySelector(selector!.trim()) !== null;
    };
    const { outerHTML } = it.part("answer");
    expect([isRoomy(outerHTML, false), isRoomy(outerHTML, true)]).toEqual([true, false]);
    expect(isRoomy('<span class="bl-coming"></span>', false)).toBe(false);
  });
  const HEADS = { tried: 12, name: "dog", unit: "probability", before: 0.6, rows: [], limit: "", why_not: "" };
  it("says that no head matters where none does, of those that were tried", async () => {
    const it = await front();
    await it.wait(1200);
    const heads = [
      [0, 1, 0.001],
      [1, 1, -0.002],
    ];
    it.b.take("heads_that_matter").give({ ...HEADS, heads });
    it.b.take("loudness").give(...ofLoudness({}, 0.001));
    await it.wait(50);
    expect(it.text("strip")).toContain("No head alone moves the answer by 0.01: of 12 tried, none does.");
    expect(it.text("claim")).toContain("of 12 heads tried, none moves it by 0.01.");
  });
  it("names the heads, with the change of what is shown", async () => {
    const it = await front();
    await it.wait(1200);
    const heads = [
      [0, 1, -0.396],
      [1, 2, 0.05],
    ];
    it.b.take("heads_that_matter").give({ ...HEADS, heads });
    await it.wait(50);
    expect(it.text("strip")).toMatch(/L0·H1−0\.40.*L1·H2\+0\.05.*All 12 heads ▸all heads in full ›$/);
    expect(it.text("strip")).toContain("L1·H2: 2nd of 12 that were tried");
    const chips = it.part("strip").querySelectorAll<HTMLButtonElement>("[data-strip-head]");
    chips[0]!.click();
    expect([it.view.synced.layer.value, it.view.synced.head.value]).toEqual([0, 1]);
  });
  const FEW = { ...HEADS, tried: 8, rows: [2, 1], limit_of_all: "", runs: 0 };
  const heads = (...changes: [number, number, number][]) => changes;
  const OPENED = { layer: 1, head: 2, query: 2, key: null };
  it("says ≈ of some heads, runs all, and opens once on the largest, which is no step back", async () => {
    const it = await front();
    it.view.synced.put({ ...OPENED, opened: OPENED });
    it.view.history.watch();
    await it.wait(1200);
    it.b.take("heads_that_matter", { most: undefined }).give({ ...FEW, heads: heads([1, 2, -0.2], [0, 1, 0.1]) });
    await it.wait(50);
    expect(it.text("strip")).toMatch(/^≈ Heads that matter most here of 8 run, and how dog moves without them/);
    expect(it.text("heads-to-come")).toBe("running all 12: 0 % stop");
    const place = () => [it.view.synced.layer.value, it.view.synced.head.value, it.view.synced.query.value];
    it.b.take("heads_that_matter", { most: 12 }).give({ again: true, done: 0.5 });
    await it.wait(50);
    expect(it.text("heads-to-come")).toBe("running all 12: 50 % stop");
    expect(place()).toEqual([1, 2, 2]);
    const all = { ...HEADS, rows: [3, 2], heads: heads([2, 3, -0.3], [1, 2, -0.2]) };
    it.b.take("heads_that_matter", { most: 12 }).give(all);
    await it.wait(50);
    expect(it.text("strip")).toMatch(/^Heads that matter most here and how dog moves without them/);
    expect(place()).toEqual([2, 3, 3]);
    expect(it.view.history.canUndo.value).toBe(false);
    expect(ops(it)).not.toContain("heads_that_matter");
    it.view.synced.put({ layer: 0, head: 0 });
    await it.wait(50);
    expect([place(), it.view.history.canUndo.value]).toEqual([[0, 0, 3], true]); // a reader's choice stays
  });
  it("leaves a head that its reader has chosen, one of a changed run, and waits for a pointer", async () => {
    const all = { ...HEADS, rows: [3], heads: heads([2, 3, -0.3]) };
    const touched: [(view: View) => void, number][] = [
      [({ synced }) => synced.put({ query: 1 }), 1],
      [({ synced }) => synced.put({ layer_map: "attn-w" }), 1],
      [({ page }) => (page.front.word.value = [1]), 1],
      [() => undefined, 2],
    ];
    for (const [touch, layer] of touched) {
      const it = await front();
      it.view.synced.put({ ...OPENED, opened: OPENED });
      touch(it.view);
      await it.wait(1200);
      it.b.take("heads_that_matter").give(all);
      await it.wait(50);
      expect(it.view.synced.layer.value).toBe(layer);
      it.view.page.front.word.value = null; // the pointer has gone
      await it.wait(50);
      expect(it.view.synced.layer.value).toBe(touch === touched[2]![0] ? 2 : layer);
    }
    const it = await front([SCALED]);
    it.view.synced.put({ ...OPENED, opened: OPENED });
    await it.wait(1200);
    it.b.take("heads_that_matter").give(all);
    await it.wait(50);
    expect(it.view.synced.layer.value).toBe(1);
  });
  it("runs as many heads as it is set to, and all on request", async () => {
    for (const [setting, limit_of_all, most] of [
      ["estimate", "", null],
      ["10", "", 10],
      ["all", "it is long", null],
      ["nonsense", "", null],
    ] as const) {
      const it = await front();
      it.view.synced.put({ ...OPENED, opened: OPENED });
      it.view.page.headsRun.value = setting;
      await it.wait(1200);
      it.b.take("heads_that_matter").give({ ...FEW, limit_of_all, heads: heads([2, 1, -0.3]) });
      await it.wait(50);
      if (most) it.b.take("heads_that_matter", { most }).give({ ...FEW, tried: most, heads: heads([2, 1, -0.3]) });
      await it.wait(50);
      expect(it.text("strip")).toContain(`≈ Heads that matter most here of ${most ?? 8} run`);
      expect(it.view.synced.layer.value).toBe(2); // the largest of those that are run
      const button = it.part("strip").querySelector<HTMLButtonElement>(".bl-heads-to-come")!;
      expect([button.textContent, button.title]).toEqual(["run all 12", limit_of_all]);
      button.click();
      await it.wait(50);
      it.b.take("heads_that_matter", { most: 12, long: true }).give({ ...HEADS, heads: heads([0, 1, -0.5]) });
      await it.wait(50);
      expect(it.text("strip")).toMatch(/^Heads that matter most here/);
      expect(it.view.synced.layer.value).toBe(0);
    }
  });
  it("leaves a lone vector's view on its clear link", async () => {
    const it = await front();
    it.view.synced.put({ ...OPENED, opened: OPENED });
    await it.wait(1200);
    it.b.take("heads_that_matter").give({ ...HEADS, kind: "embedding", heads: heads([2, 3, -0.3]) });
    await it.wait(50);
    expect(it.view.synced.layer.value).toBe(1);
  });
  it("stops on request", async () => {
    const it = await front();
    await it.wait(1200);
    it.b.take("heads_that_matter").give({ ...FEW, heads: heads([2, 1, -0.3]) });
    await it.wait(50);
    it.part("heads-to-come").querySelector("button")!.click();
    await it.wait(50);
    expect([it.text("strip").slice(0, 2), it.view.page.headsRun.value]).toEqual(["≈ ", "estimate"]);
  });
  it("puts sizes that are alike in the order of layers", () => {
    expect(inOrder([0.1, 0.3 - 9e-7, Number.NaN, 0.3, 0.3 - 5e-6], 8)).toEqual([1, 3, 4, 0]);
    expect(inOrder([1, 2, 3], 2)).toEqual([2, 1]);
    expect(inOrder([], 2)).toEqual([]);
  });
  it("says of a head what it does in general in one line and one wording, and in the claim what the word does", async () => {
    const it = await front([], ANSWERS, { layer: 1, head: 3 });
    await it.wait(1200);
    it.b.take("heads_that_matter").give({ ...HEADS, heads: [[1, 3, -0.4]] });
    await it.wait(50);
    const share = it.view.overview.statistic(1, 3, "previous");
    expect(share.toFixed(2)).toBe("0.58");
    expect(it.text("general")).toBe("In general: words look at the previous word (mean 0.58).");
    expect(it.text("claim")).toMatch(/^L1·H3 lets sat rest on \[CLS\] \(0\.51\)\./);
    expect(it.text("strip")).toContain("previous word");
    it.view.page.allHeads.value = true;
    await it.wait(20);
    expect(it.part("general")).toBeNull(); // the atlas tells
    const other = await front([], ANSWERS, { layer: 0, head: 1 });
    await other.wait(50);
    for (const side of ["previous", "next"]) expect(other.view.overview.statistic(0, 1, side)).toBeLessThan(0.5);
    expect(other.part("general")).toBeNull();
  });
  it("says of a head that only what it may look at is much or little", async () => {
    const looks = async (weights: number[]) => {
      const it = await front();
      await it.wait(1200);
      it.b.take("heads_that_matter").give({ ...HEADS, heads: [[0, 1, -0.4]], rows: [2] });
      await it.wait(50);
      const row = Float32Array.from({ length: 3 * 4 * 5 }, (_, n) => weights[n % 5]!);
      const packed = pack({ weight: { shape: [3, 4, 5], data: row } });
      it.b.take("rows").give({ arrays: packed.index }, [packed.data]);
      await it.wait(50);
      return it.text("strip").includes("looks at sat");
    };
    expect(await looks([0.1, 0.1, 0.05, 0.7, 0.05])).toBe(true);
    expect(await looks([0, 0.4, 0, 0.6, 0])).toBe(false); // of two that it sees
  });
  it("previews the head of a chip from the rows that are here, and asks nothing", async () => {
    const it = await front([], ANSWERS, { text: "the cat sat" });
    it.view.synced.text.value = "the cat sat";
    const element = document.createElement("div");
    show(it.view, <Sentence />, element);
    await it.wait(1200);
    it.b.take("loudness").give(...ofLoudness());
    it.b.take("heads_that_matter").give({ ...HEADS, heads: [[0, 1, -0.4]], rows: [1] });
    await it.wait(50);
    const row = Float32Array.from({ length: 3 * 4 * 5 }, (_, n) => [0.1, 0.1, 0.05, 0.7, 0.05][n % 5]!);
    const packed = pack({ weight: { shape: [3, 4, 5], data: row } });
    it.b.take("rows", { query: 1 }).give({ arrays: packed.index }, [packed.data]);
    await it.wait(50);
    const [before, count] = [it.text("claim"), it.b.model.asked.length];
    const chip = it.part("strip").querySelector<HTMLElement>("[data-strip-head]")!;
    for (const [enter, leave] of [
      [new PointerEvent("pointerenter"), new PointerEvent("pointerleave")],
      [new FocusEvent("focus"), new FocusEvent("blur")],
    ] as const) {
      vi.spyOn(chip, "matches").mockReturnValue(true); // :focus-visible
      chip.dispatchEvent(enter);
      await it.wait(50);
      expect(it.text("claim")).toBe("In L0·H1, the looks at sat (0.70). Without it, dog falls from 0.60 to 0.20.");
      expect(element.querySelector(".bl-asker")?.textContent).toBe("the");
      chip.dispatchEvent(leave);
      await it.wait(50);
      expect(it.text("claim")).toBe(before);
    }
    expect(it.b.model.asked.length).toBe(count);
    expect([it.view.synced.layer.value, it.view.synced.head.value]).toEqual([1, 2]);
    chip.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "touch" }));
    await it.wait(50);
    expect(it.text("claim")).toBe(before);
  });
  it("says how long the heads of a long text take, by the run before", async () => {
    expect([timeWords(7, 400), timeWords(72, 2500), timeWords(7, Number.POSITIVE_INFINITY), timeWords(0, 9)]).toEqual([
      ", about 3 s",
      ", about 3 min",
      "",
      "",
    ]);
    const it = await front();
    it.view.run("the cat sat", "");
    await it.wait(500);
    it.b.take("trace").give({});
    await it.wait(1200);
    it.b.take("heads_that_matter").give({ ...HEADS, heads: [], tried: 0, limit: "it is long", runs: 7 });
    await it.wait(50);
    expect(it.text("strip")).toMatch(/Find the heads that matter, about 4 s/);
  });
  it("tells the log-odds of a probability near to 1: on its curve, in its claim, of its heads", async () => {
    const rows = [
      [2, "dog", 0.99, 0.99],
      [2, "mat", 0.004, 0.004],
    ];
    const it = await front([], { ...ANSWERS, rows });
    await it.wait(1200);
    const values = Float32Array.from(FACTORS.flatMap((s) => [0.95 + 0.04 * Math.min(1, s), 0.004]));
    const packed = pack({ values: { shape: [9, 2], data: values } });
    it.b.take("loudness").give({ ...ofLoudness()[0], arrays: packed.index }, [packed.data]);
    const heads = [
      [1, 2, -0.04],
      [0, 1, 0.005],
      [0, 3, -0.003],
    ];
    it.b.take("heads_that_matter").give({ ...HEADS, before: 0.99, heads });
    await it.wait(50);
    const odds = (p: number) => Math.log(p / (1 - p)).toFixed(2);
    expect(it.text("claim")).toContain(
      `Without it, dog falls from 0.99 to 0.95; its log-odds fall from ${odds(0.99)} to ${odds(0.95)}.`,
    );
    expect(it.text("loudness")).toContain(`in log-odds, ln p / (1 − p)${odds(0.95)}${odds(0.99)}dog ${odds(0.99)}`);
    const told = (change: number) => (Math.log((0.99 + change) / (0.01 - change)) - Math.log(99)).toFixed(2);
    expect(it.text("strip")).toMatch(/and how dog moves without them, in log-odds/);
    expect(it.text("strip")).toContain(`L1·H2${told(-0.04).replace("-", "−")}`);
    expect(it.text("strip")).toContain(`L0·H1+${told(0.005)}`);
    expect(it.text("answer")).toContain("dog 0.99");
  });
  it("maps all heads: what was run as it was, the others as they are estimated, and says which", async () => {
    const it = await front();
    await it.wait(1200);
    const heads = [
      [1, 2, -0.4],
      [0, 1, 0.1],
    ];
    const estimates = Float32Array.from({ length: 12 }, (_, n) => (n === 0 ? 0.2 : n === 11 ? -0.9 : 0));
    const packed = pack({ changes: { shape: [3, 4], data: estimates } });
    it.b.take("heads_that_matter").give({ ...HEADS, heads, tried: 2, arrays: packed.index }, [packed.data]);
    await it.wait(50);
    const button = it.part("strip").querySelector(".bl-open-heads")!;
    const dark = [...button.querySelectorAll("rect:not(.bl-on)")].map((cell) =>
      Number(cell.getAttribute("fill-opacity")),
    );
    const wanted = [0.375, 0.3375, 0, 0, 0, 0, 0.9, 0, 0, 0, 0, 0.75];
    for (const [n, one] of dark.entries()) expect(one).toBeCloseTo(wanted[n]!, 5);
    expect([dark.length, button.getAttribute("title")]).toEqual([
      12,
      "The darker, the more the answer moves without the head: of 2 heads as they were run, of the other 10 as one backward pass estimates it",
    ]);
    const all = {
      ...HEADS,
      kind: "words",
      position: 1,
      limit_of_all: "",
      runs: 0,
      heads: heads as HeadsThatMatter["heads"],
      tried: 12,
    };
    expect(mapWords(all, 12)).toMatch(/: each of 12 was run$/);
    expect(mapCells({ ...all, changes: estimates }, 4, 12)[0]).toBeCloseTo(0.15 + 0.375, 6);
    const sure = { ...all, heads: [all.heads[0]!], tried: 1, before: 0.99, changes: estimates.map((one) => one / 100) };
    const size = Math.log(0.59 / 0.41) - Math.log(99);
    expect(mapCells(sure, 4, 12)[0]).toBeCloseTo((0.75 * 0.002) / (0.99 * 0.01) / Math.abs(size), 4);
  });
  it("draws arcs alone anew while the slider is dragged: no word is measured", async () => {
    const it = await front();
    const element = document.createElement("div");
    show(it.view, <Sentence />, element);
    await it.wait(50);
    const measured = vi.spyOn(Element.prototype, "getBoundingClientRect");
    it.view.page.front.word.value = [1];
    await it.wait(50);
    expect(measured.mock.calls.length).toBeGreaterThan(0);
    measured.mockClear();
    it.view.page.front.factor.value = 0.4;
    await it.wait(50);
    expect(measured).not.toHaveBeenCalled();
    measured.mockRestore();
  });
  it("unfolds all heads, and folds them away with what is open among them", async () => {
    const it = await front();
    const button = it.part("strip").querySelector<HTMLButtonElement>(".bl-open-heads")!;
    button.click();
    await it.wait(20);
    expect(button.getAttribute("aria-expanded")).toBe("true");
    it.view.page.allHeads.value = true;
    it.view.synced.put({ view: "why" });
    button.click();
    await it.wait(20);
    expect([button.getAttribute("aria-expanded"), it.view.synced.view.value]).toEqual(["false", ""]);
  });
  it("follows the word under the pointer in its first sentence alone", async () => {
    const it = await dragged();
    const second = it.text("claim").match(/Without.*/)![0];
    it.view.page.front.word.value = [1];
    await it.wait(20);
    expect(it.text("claim")).toMatch(/^In L1·H2, the (looks|rests) .*\(0\.\d\d\)\. Without/);
    expect(it.text("claim")).toContain(second);
  });
  it("says why there is no curve, and keeps the bars", async () => {
    const it = await front();
    await it.wait(200);
    it.b.take("loudness").give({ error: "the model is gone" });
    await it.wait(50);
    expect(it.text("claim")).toMatch(/the model is gone$/);
    expect(it.text("answer")).toContain("dog 0.60");
    expect(it.part("loudness")).toBeNull();
  });
  it("tells nothing of a head that is changed otherwise, which the curve leaves out", async () => {
    const mean = change(1, { label: "L1·H2 says the same", off: null });
    const it = await front([mean], {
      ...ANSWERS,
      rows: [
        [2, "dog", 0.6, 0.5],
        [2, "mat", 0.1, 0.2],
      ],
    });
    await it.wait(200);
    it.b.take("loudness").give(...ofLoudness());
    await it.wait(50);
    expect(it.text("claim")).not.toMatch(/without/i);
    expect(it.text("answer")).toContain("was 0.60");
  });
  it("asks about the mask that is pinned, until another text comes", async () => {
    const rows = [
      [2, "dog", 0.6, 0.6],
      [3, "milk", 0.7, 0.7],
    ];
    const it = await front([], { ...ANSWERS, rows, places: [2, 3] });
    await it.wait(200);
    it.view.synced.put({ query: 3 });
    await it.wait(50);
    const { target, targetAt } = it.view.page;
    expect([target.value, targetAt.value]).toEqual(["milk", 3]);
    await arrives(it, [], { subject: "t9", trace: "t9", answers: ANSWERS });
    expect([target.value, targetAt.value, it.text("answer").includes("dog 0.60")]).toEqual(["", -1, true]);
  });
  it("asks about the mask that was pinned before the model was here, once it is", async () => {
    const rows = [
      [2, "dog", 0.6, 0.6],
      [3, "milk", 0.7, 0.7],
    ];
    const it = await front([], { ...ANSWERS, rows, places: [2, 3] });
    it.view.link.kernel.value = false;
    it.view.synced.put({ query: 3 });
    await it.wait(50);
    expect(it.view.page.target.value).toBe("");
    it.view.link.kernel.value = true;
    await it.wait(50);
    expect(it.view.page.target.value).toBe("milk");
  });
  it("splits a vector into its words' shares, which add up with the template's tokens", async () => {
    const rows = [[-1, "cosine", 1, 1]];
    const it = await front([], { ...VECTOR, rows });
    await it.wait(200);
    it.b.take("shares").give(...ofShares([0.2, 0.1, 0.4, 0.25, 0.05]));
    await it.wait(50);
    const names = [...it.part("answer").querySelectorAll("button")].map((one) => one.getAttribute("aria-label"));
    expect(names).toEqual(["cat, 0.40", "sat, 0.25", "the, 0.10", "[CLS] [SEP], 0.25"]);
  });
  it("says of a vector in a changed run nothing that is lost without the head", async () => {
    const rows = [[-1, "cosine", 1, 0.9]];
    const it = await front([change(1, { label: "hidden" })], { ...VECTOR, rows });
    await it.wait(200);
    it.b.take("shares").give(...ofShares([0.2, 0.1, 0.4, 0.25, 0.05]));
    const values = Float32Array.from(FACTORS.map((s) => 0.8 + 0.1 * s));
    const nine = Float32Array.from(FACTORS.flatMap((s) => [0.2, 0.1, 0.4 * s, 0.25, 0.05]));
    const curve = pack({ values: { shape: [9, 1], data: values }, shares: { shape: [9, 5], data: nine } });
    const fields = { layer: 1, head: 2, factors: FACTORS, kind: "embedding", unit: "cosine", rows: [[-1, "cosine"]] };
    it.b.take("loudness").give({ ...fields, why_not: "", arrays: curve.index }, [curve.data]);
    await it.wait(50);
    expect(it.text("claim")).toContain("In this changed run, without it, the vector’s turn rises from 0.10 to 0.20.");
    expect(it.text("answer")).not.toMatch(/lost|gained/);
    expect(it.part("answer").querySelector("button")!.getAttribute("aria-label")).toBe("cat, 0.40");
  });
  it("keeps a vector's shares until those of the run are here, on one track all along", async () => {
    const answers = (cosine: number) => ({ ...VECTOR, rows: [[-1, "cosine", 1, cosine]] });
    const it = await front([], answers(1));
    await it.wait(200);
    it.b.take("shares").give(...ofShares([0.2, 0.1, 0.4, 0.25, 0.05]));
    const nine = Float32Array.from(FACTORS.flatMap((s) => [0.2, 0.1, 0.4 * s, 0.25, 0.05]));
    const cosines = Float32Array.from(FACTORS.map((s) => 0.8 + 0.2 * s));
    const curve = pack({ values: { shape: [9, 1], data: cosines }, shares: { shape: [9, 5], data: nine } });
    const fields = { layer: 1, head: 2, factors: FACTORS, kind: "embedding", unit: "cosine", rows: [[-1, "cosine"]] };
    it.b.take("loudness").give({ ...fields, why_not: "", arrays: curve.index }, [curve.data]);
    await it.wait(50);
    const labels = () => [...it.part("answer").querySelectorAll("button")].map((one) => one.getAttribute("aria-label"));
    const width = () => it.part("answer").querySelectorAll<HTMLElement>("button .bl-stays")[1]!.style.width;
    const wide = width();
    const moves = () => it.part("answer").classList.contains("bl-moving");
    for (const factor of [2, 0.4]) {
      it.view.page.front.factor.value = factor;
      await it.wait(20);
      expect([width(), moves()]).toEqual([wide, true]);
    }
    const moved = labels();
    expect(moved[0]).toMatch(/^cat, 0\.16; was 0\.40/);
    await arrives(it, [SCALED], { answers: answers(0.88) });
    expect(labels()).toEqual(moved);
    it.b.take("shares", { trace: "t2" }).give(...ofShares([0.2, 0.1, 0.17, 0.25, 0.05]));
    await it.wait(50);
    expect([labels()[0], moves()]).toEqual(["cat, 0.17; was 0.40", false]);
  });
  it("undoes what is dragged on a page without a kernel, which asks nothing", async () => {
    const b = bench(overviewOf(TOKENS, { layer: 1, head: 2, answers: ANSWERS }));
    await hello(b, false);
    const view = createView(b.store, signal(false));
    const element = document.createElement("div");
    show(view, [<Loudness key="l" />, <Answer key="a" />], element);
    const bars = [...element.querySelectorAll<HTMLButtonElement>(".bl-answer-row")];
    expect(bars.map(({ disabled }) => disabled)).toEqual([true, true]); // no other answer can be asked about
    await vi.advanceTimersByTimeAsync(50);
    b.take("loudness").give(...ofLoudness());
    await settled();
    await vi.advanceTimersByTimeAsync(50);
    const track = element.querySelector("[role=slider]")!;
    track.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
    await vi.advanceTimersByTimeAsync(600);
    expect(track.getAttribute("aria-valuetext")).toBe("0.00: dog 0.20");
    expect(b.model.asked.map(({ message }) => message.op)).not.toContain("change");
    element.querySelector("button")!.click();
    await vi.advanceTimersByTimeAsync(50);
    expect(track.getAttribute("aria-valuetext")).toBe("1.00: dog 0.60");
  });
  it("makes the exact run of what was let go before the model was here, once it is", async () => {
    const it = await front();
    await it.wait(200);
    it.b.take("loudness").give(...ofLoudness());
    await it.wait(50);
    it.view.link.kernel.value = false;
    await it.wait(50);
    const track = it.part("loudness").querySelector<HTMLElement>("[role=slider]")!;
    track.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    await it.wait(600);
    expect(ops(it)).not.toContain("change");
    it.view.link.kernel.value = true;
    await it.wait(50);
    expect(it.b.take("change").message.changes).toEqual([["scale", 1, 2, 0.9]]);
    expect(ops(it)).not.toContain("change");
  });
});
