// What heads can be found by, in words: true for each measure, and in the words of the text's own tokens.
import { signal } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { headQuestions } from "../src/atlas/questions";
import type { Traits } from "../src/generated/vocabulary";
import { createView } from "../src/state/view";
import { bench, floats, headAnswer, overviewOf, settled, TOKENS } from "./fake";

const S = TOKENS.length; // [CLS] the cat sat [SEP]
const CELL = { query: 3, key: 2 };
const STATS = ["next", "first", "separator", "same_segment", "entropy", "same_word", "mine"];

/** The questions by their names. */
async function asked(more: Partial<Traits> = {}, overview: Record<string, unknown> = {}) {
  const b = bench(overviewOf(TOKENS, { measures: ["weight", "norm", "difference"], stats: STATS, ...overview }), more);
  await b.drain(({ op, layer, head }) =>
    op === "norms"
      ? floats("norms", [4, S], new Float32Array(4 * S).fill(1))
      : headAnswer(TOKENS, Number(layer), Number(head)),
  );
  await settled();
  const questions = headQuestions(createView(b.store, signal(false)), { closed: 2, mixed: 1, undefined: 1 });
  return Object.fromEntries(questions.map((question) => [question.name, question]));
}

describe("a question to the heads", () => {
  it.each([
    ["weight", "cell", "look at “cat” from “sat”"],
    ["norm", "cell", "take from “cat” for “sat”"],
    ["difference", "cell", "look at “cat” from “sat”, more by weight than by norm"],
    ["weight", "token", "look at “cat”"],
    ["norm", "token", "take from “cat”"],
    ["norm", "row", "are sharp at “sat”, by norm"],
    ["norm", "contrast", "take from other words than “sat” looks at"],
    ["difference", "contrast", "take from other words than “sat” looks at"],
    ["weight", "next", "look at the next word"],
    ["norm", "next", "take from the next word"],
    ["difference", "next", "look at the next word, more by weight than by norm"],
    ["weight", "first", "rest on [CLS]"],
    ["norm", "first", "take from [CLS]"],
    ["norm", "separator", "take from [SEP]"],
    ["norm", "same_segment", "take from their own sentence"],
    ["norm", "entropy", "spread over many words, by norm"],
    ["norm", "variation", "take from other words than they look at"],
    ["weight", "mine", "have much of “mine”"],
  ] as const)("by %s: %s", async (measure, name, label) => {
    expect((await asked({ measure, ...CELL }))[name]!.label).toBe(label);
  });

  it("speaks of tokens where words are split; a word said again stays a word", async () => {
    const split = (await asked(CELL, { spans: [{ label: "domain", start: 1, stop: 3 }] })) as Record<
      string,
      { label: string; needs: string }
    >;
    expect(split.next!.label).toBe("look at the next token");
    expect(split.entropy!.label).toBe("spread over many tokens");
    expect(split.same_word!.label).toBe("look at the same word elsewhere");
    expect(split.contrast!.label).toBe("take from other tokens than “sat” looks at");
  });

  it("says what to pin where nothing is", async () => {
    const { cell, token, row } = await asked();
    expect([cell!.label, cell!.needs]).toEqual(["look at a word from another", "click a cell first"]);
    expect([token!.label, token!.needs]).toEqual(["look at one word", "click a word at the top first"]);
    expect([row!.label, row!.needs]).toEqual(["are sharp at a word", "click a word at the left first"]);
    expect((await asked({ measure: "norm" })).cell!.label).toBe("take from a word for another");
  });

  it("names gates as kinds of heads", async () => {
    const questions = await asked();
    expect(questions["gate:closed"]!.label).toBe("are closed");
    expect(questions["gate:mixed"]!.label).toBe("are of no one kind (mixed)");
    expect(questions["gate:undefined"]!.label).toBe("have no kind here");
  });
});
