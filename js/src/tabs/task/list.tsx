// The list of examples: those whose answer is wrong by most come first.
import { useMemo } from "preact/hooks";
import { csv } from "../../export/csv";
import { counted, number } from "../../paint/format";
import { isolate, visibleText } from "../../paint/quotes";
import { type CaseRow, CaseList as Cases } from "../../parts/cases/list";
import { Button, binding, Close, into } from "../../parts/controls";
import { useCopy } from "../../parts/copy";
import { useView } from "../../state/view";
import { exampleNumbers } from "./examplerows";
import {
  columnOf,
  type Examples,
  examplesOf,
  isWrong,
  listed,
  openRow,
  rowAt,
  type State,
  shownPlace,
  stateOf,
  type Task,
  valueAt,
} from "./examples";
import { countWords, firstScore } from "./taskwords";

const CHARACTERS = 300; // of a text
const RATED = ["all", "wrong", "right"];
const NUMBERS = ["loss", "error", "margin", "probability"]; // the first that there is stands beside each
const ORDERS: Record<string, [down: string, up: string]> = {
  loss: ["largest loss first", "smallest loss first"],
  probability: ["surest first", "least sure first"],
};

/** What one line of the list has of an example. */
export function caseOf(examples: Examples, n: number, by: string): CaseRow {
  const said = (name: string) => {
    const column = columnOf(examples, name);
    if (!column) return "";
    const value = valueAt(column, n);
    return typeof value === "number" ? number(value, 2) : isolate(visibleText(value));
  };
  const texts = examples.columns.filter(({ kind, name }) => kind === "text" && name.startsWith("text"));
  const text = texts.map(({ values }) => values![n]!.slice(0, CHARACTERS)).join(" / ");
  const wrong = isWrong(examples, n);
  const change = said("change");
  const note =
    wrong === null
      ? `label ${said("label")}, guess ${said("guess")}`
      : `${wrong ? "wrong" : "right"}: ${said("guess")}`;
  return {
    ...{ id: rowAt(examples, n), text: visibleText(text), number: said(by), about: by },
    is: wrong === null ? "" : wrong ? "wrong" : "right",
    note: change ? `${change}, ${note}` : note,
  };
}

export function List({ task }: { task: Task }) {
  const view = useView();
  const state = stateOf(view);
  const { search, only, cell, order, rows } = state;
  const examples = examplesOf(view, task);
  const places = useMemo(
    () => listed(examples, state),
    [examples, search.value, only.value, cell.value, order.value, rows.value],
  );
  const place = shownPlace(view, examples, task);
  const numbered = NUMBERS.find((name) => columnOf(examples, name)) ?? "row";
  const sortedBy = order.value && columnOf(examples, order.value.name)?.kind === "number" ? order.value.name : numbered;
  const hint = order.value ? (ORDERS[order.value.name]?.[order.value.down ? 0 : 1] ?? `by ${order.value.name}`) : "";
  return (
    <Cases
      label="Examples"
      heading={
        task.wrong === null
          ? `${counted(task.examples)} examples`
          : `${counted(task.wrong)} of ${counted(task.examples)} wrong`
      }
      hint={hint || (numbered === "loss" ? "largest loss first" : "in their order")}
      count={places.length}
      at={(n) => caseOf(examples, places[n]!, sortedBy)}
      current={place === null ? -1 : places.indexOf(place)}
      open={(n) => {
        openRow(view, rowAt(examples, places[n]!)).catch(() => undefined); // the link says why
      }}
      nothing="No example is like this."
    >
      <Filters {...{ state, task, places, examples }} />
    </Cases>
  );
}

function Filters(props: { state: State; task: Task; places: number[]; examples: Examples }) {
  const { state, task, places, examples } = props;
  const view = useView();
  const { search, only, cell, order, rows } = state;
  const [copyNote, copyText] = useCopy();
  const pair = cell.value;
  const names = [...RATED, ...(task.against?.counts ?? []).map(([name]) => name)];
  const keyOf = (name: string, down: boolean) => `${name} ${down ? "down" : "up"}`;
  const chip = (text: string, label: string, forget: () => void) => (
    <span class="bl-chip bl-wide">
      {text}
      <Close label={label} onClick={forget} />
    </span>
  );
  return (
    <>
      <span class="bl-muted" data-testid="task-score">
        {firstScore(task)}
      </span>
      <div class="bl-case-filters">
        <input
          type="search"
          aria-label="Search the examples"
          placeholder="words, or #17"
          value={search.value}
          onInput={(event) => into(search)(event.currentTarget.value)}
        />
        {task.wrong !== null && (
          <select
            aria-label="show"
            value={only.value}
            onChange={({ currentTarget }) => binding(only).onChange(currentTarget.value)}
          >
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
        <select
          aria-label="sort"
          value={order.value ? keyOf(order.value.name, order.value.down) : ""}
          onChange={({ currentTarget: { value } }) => {
            const [name = "", way] = value.split(" ");
            order.value = name ? { name, down: way === "down" } : null;
          }}
        >
          <option value="">worst first</option>
          {examples.columns
            .filter(({ name }) => name !== "right")
            .flatMap(({ name }) => [true, false].map((down) => ({ name, down })))
            .map(({ name, down }) => (
              <option key={keyOf(name, down)} value={keyOf(name, down)}>
                {ORDERS[name]?.[down ? 0 : 1] ?? `${name} ${down ? "▾" : "▴"}`}
              </option>
            ))}
        </select>
        {pair &&
          chip(`${isolate(visibleText(pair[0]))} guessed ${isolate(visibleText(pair[1]))}`, "All cells again", () =>
            into(cell)(null),
          )}
        {rows.value && chip(rows.value.name, "All slices again", () => into(rows)(null))}
      </div>
      <p>
        <span class="bl-muted" data-testid="task-count">
          {countWords(places.length, examples, task)}
        </span>{" "}
        <Button
          class="bl-link bl-muted"
          onClick={() => {
            const { columns, rows, facts } = exampleNumbers(view, task, places);
            copyText(csv(facts, columns, rows));
          }}
        >
          Copy as CSV
        </Button>{" "}
        <span role="status" class="bl-muted">
          {copyNote}
        </span>
      </p>
    </>
  );
}
