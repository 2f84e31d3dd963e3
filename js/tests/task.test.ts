// Labelled examples: what is listed, and what is said.
import { expect, it } from "vitest";
import type { Link } from "../src/kernel/link";
import type { View } from "../src/state/view";
import { type Column, type Examples, listed, stateOf } from "../src/tabs/task/examples";
import { countWords, exampleWords, explainedWords, firstScore } from "../src/tabs/task/taskwords";

const EXAMPLES: Examples = {
  n: 4,
  cut: 0,
  columns: [
    { name: "row", kind: "number", numbers: [17, 3, 170, 0] },
    { name: "text", kind: "text", values: ["Not bad", "good 17", "bad", "fine"], numbers: [] },
    { name: "label", kind: "class", names: ["good", "poor"], numbers: [0, 0, 1, 1] },
    { name: "guess", kind: "class", names: ["poor", "good"], numbers: [0, 1, 0, 0] },
    { name: "right", kind: "flag", numbers: [0, 1, 1, 1] },
    { name: "probability", kind: "number", numbers: [0.93, 0.6, 0.9, 0.99] },
    { name: "loss", kind: "number", numbers: [2.66, 0.51, 0.1, Number.NaN] },
  ],
};
const state = () => stateOf({ link: {} as Link, overview: { map: "self" } } as View);

it("lists what is searched for, by words or by number, what is wrong or right, a cell, in any order", () => {
  const chosen = state();
  expect(listed(EXAMPLES, chosen)).toEqual([0, 1, 2, 3]);
  chosen.search.value = " BAD";
  expect(listed(EXAMPLES, chosen)).toEqual([0, 2]);
  chosen.search.value = "17"; // the row of that number, and a text that has it; not row 170
  expect(listed(EXAMPLES, chosen)).toEqual([0, 1]);
  chosen.search.value = "#17";
  expect(listed(EXAMPLES, chosen)).toEqual([0]);
  chosen.search.value = "";
  chosen.only.value = "wrong";
  expect(listed(EXAMPLES, chosen)).toEqual([0]);
  chosen.only.value = "right";
  expect(listed(EXAMPLES, chosen)).toEqual([1, 2, 3]);
  chosen.only.value = "all";
  chosen.cell.value = ["poor", "poor"];
  expect(listed(EXAMPLES, chosen)).toEqual([2, 3]);
  chosen.cell.value = null;
  chosen.order.value = { name: "loss", down: false };
  expect(listed(EXAMPLES, chosen)).toEqual([2, 1, 0, 3]); // no number comes last
  chosen.order.value = { name: "label", down: true };
  expect(listed(EXAMPLES, chosen)).toEqual([2, 3, 0, 1]);
});

it("lists what changed from a model before, and says so", () => {
  const before: Column = { name: "before", kind: "class", names: ["good", "poor"], numbers: [0, 0, 1, 1] };
  const change: Column = {
    name: "change",
    kind: "class",
    names: ["broken", "still right", "fixed"],
    numbers: [0, 1, 2, 1],
  };
  const both = { ...EXAMPLES, columns: [...EXAMPLES.columns, before, change] };
  const chosen = state();
  chosen.only.value = "broken";
  expect(listed(both, chosen)).toEqual([0]);
  chosen.only.value = "still right";
  expect(listed(both, chosen)).toEqual([1, 3]);
  chosen.only.value = "wrong";
  expect(listed(both, chosen)).toEqual(listed(EXAMPLES, chosen));
  expect(exampleWords(both, 0)).toContain(" The model before guessed good: broken.");
});

it("lists tables that have none of the columns of a classifier", () => {
  const chosen = state();
  const plain: Examples = { n: 2, cut: 0, columns: [{ name: "error", kind: "number", numbers: [2, 1] }] };
  chosen.cell.value = ["good", "poor"];
  chosen.order.value = { name: "loss", down: true };
  expect(listed(plain, chosen)).toEqual([0, 1]);
  expect(exampleWords(plain, 1)).toBe("Example 1.");
});

it("says what came of an example", () => {
  expect(exampleWords(EXAMPLES, 0)).toBe(
    "Example 17 is good, and was guessed to be poor with probability 0.930. Its loss is 2.66 nats.",
  );
  expect(exampleWords(EXAMPLES, 1)).toBe(
    "Example 3 is good, and was guessed so with probability 0.600. Its loss is 0.51 nats.",
  );
});

it("says the first score of all, with its interval or without", () => {
  const score = { measure: "accuracy", label: "", value: 0.87, low: 0.8512, high: 0.89, n: 1000, note: "" };
  const told = {
    ...EXAMPLES,
    source: "",
    examples: 9,
    wrong: 1,
    opened: null,
    notes: [],
    confusion: null,
    held: [],
    rated: true,
    layered: true,
    against: null,
  };
  expect(firstScore({ ...told, metrics: [{ ...score, label: "good" }, score] })).toBe(
    "accuracy 0.870 (95 %: 0.851 to 0.890)",
  );
  expect(firstScore({ ...told, metrics: [{ ...score, low: null, high: null }] })).toBe("accuracy 0.870");
  expect(countWords(2, EXAMPLES, { ...told, metrics: [] })).toBe("2 of the 4 with the largest loss, of 9 examples");
  expect(countWords(4, EXAMPLES, { ...told, examples: 4, metrics: [] })).toBe("4 examples");
});

it("says what an answer rests on, and how faithful that is", () => {
  const one = { row: 0, words: "bad (+0.61)", comprehensiveness: 1.5, random: 0.25, beats: 19 };
  const explained = { ...one, nearest: -1, nearest_text: "", similarity: null, twin: -1 };
  const rests = "Its answer rests on bad (+0.61): what the guess is ahead by, in logits, without each.";
  expect(explainedWords(explained)).toBe(
    `${rests} Without the words ranked first it loses 1.50, without as many at random 0.25; 19 of 20 random orders do worse.`,
  );
  const unknown = { comprehensiveness: null, random: null, beats: null };
  expect(explainedWords({ ...explained, ...unknown })).toBe(rests);
  expect(explainedWords({ ...explained, words: "" })).toBe("Without any one of its words the guess is no less ahead.");
  expect(explainedWords({ ...explained, ...unknown, words: "" })).toBe("What its answer rests on could not be told.");
});
