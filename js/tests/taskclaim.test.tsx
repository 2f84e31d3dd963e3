// @vitest-environment happy-dom
// What an example's answer rests on, told true where one word carries it, where none does, and where none lowers it.
import { render } from "preact";
import { expect, it } from "vitest";
import type { HiddenWords } from "../src/generated/answers";
import { ViewContext } from "../src/state/view";
import { TaskClaim } from "../src/tabs/task/verdict";
import { viewOf } from "./samples";

const TOKENS = ["[CLS]", "the", "waiter", "smiled", "[SEP]"];

function told(before: number, after: number[], unit = "probability"): string {
  const words = { before, unit, name: "praise", words: after.map((value, n) => [[n + 1], value]) };
  const root = document.createElement("div");
  render(
    <ViewContext.Provider value={viewOf(TOKENS)}>
      <TaskClaim words={words as unknown as HiddenWords} />
    </ViewContext.Provider>,
    root,
  );
  return root.textContent!.trim();
}

it("is the word that takes most, from the number to what is left of it", () => {
  expect(told(0.86, [0.85, 0.31, 0.9])).toBe("It rests on waiter.Hidden, praise goes from 0.86 to 0.31.");
  expect(told(0.04, [0.041, 0.0302, 0.05], "score")).toBe(
    "It rests on waiter.Hidden, praise goes from 0.0400 to 0.0302.",
  );
});

it("is no word where the most that one takes is little", () => {
  expect(told(0.86, [0.85, 0.83, 0.9])).toBe(
    "It rests on no single word.Of 3, each hidden alone, waiter takes most: praise goes from 0.86 to 0.83.",
  );
});

it("never goes from a number to the same number, and a word that raises it takes nothing", () => {
  const none = "It rests on no single word.Of 3, each hidden alone, none lowers it by 0.01.";
  expect(told(0.8612, [0.9, 0.8608, 0.87])).toBe(none);
  expect(told(0.8612, [0.9, 0.93, 0.87])).toBe(none);
});
