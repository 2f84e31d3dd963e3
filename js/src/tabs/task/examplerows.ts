// The examples as rows of a file.
import type { CsvCell, Facts } from "../../export/csv";
import { arrived } from "../../kernel/answers";
import type { View } from "../../state/view";
import { examplesOf, listed, stateOf, type Task, taskOf, valueAt } from "./examples";
import { countWords, firstScore } from "./taskwords";

/** Those that are listed, in their order. */
export function exampleNumbers(view: View, task: Task, places: number[]) {
  const examples = examplesOf(view, task);
  const facts: Facts = [
    ["examples", task.source],
    ["of all", firstScore(task)],
    ["listed", countWords(places.length, examples, task)],
  ];
  return {
    columns: examples.columns.map(({ name }) => name),
    rows: places.map((n): CsvCell[] => examples.columns.map((column) => valueAt(column, n))),
    facts,
  };
}

export async function taskNumbers(view: View) {
  const task = await arrived(() => taskOf(view));
  return exampleNumbers(view, task, listed(examplesOf(view, task), stateOf(view)));
}
