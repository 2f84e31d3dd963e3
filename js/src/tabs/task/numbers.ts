// The examples as rows of a file.
import type { CsvCell, Facts } from "../../export/csv";
import { arrived } from "../../kernel/answers";
import type { View } from "../../state/view";
import { examplesOf, listed, stateOf, type Told, toldOf, valueAt } from "./data";
import { countWords, firstScore } from "./words";

/** Those that are listed, in their order. */
export function exampleNumbers(view: View, told: Told, places: number[]) {
  const examples = examplesOf(view, told);
  const facts: Facts = [
    ["examples", told.source],
    ["of all", firstScore(told)],
    ["listed", countWords(places.length, examples, told)],
  ];
  return {
    columns: examples.columns.map(({ name }) => name),
    rows: places.map((n): CsvCell[] => examples.columns.map((column) => valueAt(column, n))),
    facts,
  };
}

export async function taskNumbers(view: View) {
  const told = await arrived(() => toldOf(view));
  return exampleNumbers(view, told, listed(examplesOf(view, told), stateOf(view)));
}
