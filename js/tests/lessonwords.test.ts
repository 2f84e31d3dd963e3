// What a lesson says of a check that is not fulfilled yet: both numbers, each by its name.
import { expect, it } from "vitest";
import { type Facts, numbersIn, type Tree } from "../src/lessons/verdict";

const facts = {
  statistics: { rest_to_separator: 0.25 },
  queries: [["it", [0]]],
  keys: [
    ["trophy", [0]],
    ["suitcase", [1]],
  ],
  weight: (_: number, key: number) => [0.05, 0.16][key]!,
} as unknown as Facts;

it.each<[Tree, string]>([
  [[">", ["weight", "it", "trophy"], ["weight", "it", "suitcase"]], ": trophy 0.05, suitcase 0.16"],
  [[">", ["weight", "it", "trophy"], 0.3], ": it → trophy 0.05"],
  [["<", "rest_to_separator", 0.1], ": rest to separator 0.25"],
  [["key is", "trophy"], ""],
])("%j", (tree, words) => {
  expect(numbersIn(tree, facts)).toBe(words);
});
