// @vitest-environment happy-dom
// Similarity on the screen: experiments have their sign in text and colour, and which text is meant is said.
import { signal } from "@preact/signals";
import type { ComponentChild } from "preact";
import { render } from "preact";
import { expect, it } from "vitest";
import { createView, ViewContext } from "../src/state/view";
import { LateInteraction } from "../src/tabs/similarity/maxsimview";
import { Pairs } from "../src/tabs/similarity/pairs";
import type { Largest } from "../src/tabs/similarity/splits";
import type { Late, Similar, Vocabulary } from "../src/tabs/similarity/twotexts";
import { SharedWords } from "../src/tabs/similarity/vocabulary";
import { bench, hello, settled } from "./fake";

async function drawn(part: ComponentChild) {
  const host = document.createElement("div");
  document.body.append(host);
  const b = bench();
  await hello(b);
  render(<ViewContext.Provider value={createView(b.store, signal(false))}>{part}</ViewContext.Provider>, host);
  await settled();
  return host;
}

const side = {
  text: "cats",
  read: "cats",
  tokens: ["cats"],
  words: [[0]],
  names: ["cats"],
  special: [false],
  own: [true],
};
const data = {
  sides: [side, side],
  ...{ tasks: ["", ""], function: "cosine", value: 0.7, why_not: "", splits: ["output"], notes: [], runs: 4 },
  ...{ removable: "", terms: [["a·b", 0.7]], gap: 0, pairs: { shape: [1, 1], data: [0.7] } },
} as unknown as Similar;
const unit = { label: "cats", at: [0], own: true, word: 0 };

it("gives + and − a sign and a colour of their own, and nothing to what is no change", async () => {
  const tried = { none: 0.7, a: 0.8, b: 0.6, both: 0.7, own: 0 };
  const largest: Largest = { pairs: [{ a: 0, b: 0, part: 0.7, tried }], others: { count: 0, sum: 0 }, template: 0 };
  const choice = { pair: null, template: "", words: () => "", choose: () => undefined };
  const split = { a: [unit], b: [unit], cells: Float64Array.of(0.7) };
  const host = await drawn(
    <Pairs
      {...{ data, split, largest, choice }}
      tried={{ state: "answered", value: 0 }}
      ask={() => undefined}
      digits={3}
    />,
  );
  const cells = [...host.querySelectorAll("tbody tr:first-child td")].slice(1);
  expect(cells.map((cell) => cell.textContent)).toEqual(["+0.100", "−0.100", "0.000"]);
  const colours = cells.map((cell) => cell.querySelector("span")?.style.color ?? "");
  expect(new Set(colours).size).toBe(3);
  expect(colours[2]).toBe("");
  expect(host.querySelector(".bl-selected")).toBeNull();
  expect([...host.querySelectorAll("thead th")].slice(2).map((one) => one.textContent)).toEqual([
    "without a’s",
    "without b’s",
    "without both",
  ]);
  render(null, host);
});

it("asks of either text's word by name: no two buttons say the same", async () => {
  const late = {
    scored: [[0], [0]],
    kinds: [[""], [""]],
    best: [0],
    cosines: [0.7],
    parts: [0.7],
    normal: true,
  } as Late;
  const host = await drawn(<LateInteraction data={data} late={late} />);
  const labels = [...host.querySelectorAll(".bl-similar-side .bl-controls .bl-button")].map((one) => one.textContent);
  expect(labels).toEqual(["Why the query’s “cats”? ›", "Why the passage’s “cats”? ›"]);
  render(null, host);
});

it("names the words of both vectors and the tokens that made them; a click chooses their pair", async () => {
  const row = (word: string, part: number, b: boolean) => ({
    ...{ word, part, weights: [1.5, 2], at: [0, 0], expansion: [false, b] },
  });
  const vocabulary = {
    said: "Both vectors have 2 words.",
    words: [row("cats", 3, false), row("kitten", 1, true)],
  } as unknown as Vocabulary;
  const pairs: unknown[] = [];
  const choice = { pair: null, template: "", words: () => "", choose: (pair: unknown) => pairs.push(pair) };
  const split = { a: [unit], b: [unit], cells: Float64Array.of(0.7) };
  const host = await drawn(<SharedWords {...{ data, vocabulary, split, choice }} />);
  const cells = [...host.querySelectorAll("tbody tr")].map((line) => [...line.children].map((one) => one.textContent));
  expect(cells).toEqual([
    ["cats", "3.000", "1.500 cats", "2.000 cats"],
    ["kitten", "1.000", "1.500 cats", "2.000 ← cats"],
  ]);
  host.querySelector<HTMLButtonElement>("tbody tr:last-child button")!.click();
  expect(pairs).toEqual([{ a: 0, b: 0 }]);
  render(null, host);
});
