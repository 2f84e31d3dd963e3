// Labelled examples: their list, the sentence about the one that is open, and beside them scores, heads, errors, slices.

import { useMemo } from "preact/hooks";
import { csv } from "../../export/csv";
import { counted } from "../../paint/format";
import { isolate, visibleText } from "../../paint/quotes";
import { Button, binding, Close, into, Segmented, Select } from "../../parts/controls";
import { useCopy } from "../../parts/copy";
import { Waiting } from "../../parts/section";
import { useView } from "../../state/view";
import { Confusion } from "./confusion";
import { Errors, Slices } from "./errors";
import { exampleNumbers } from "./examplerows";
import {
  examplesOf,
  listed,
  openRow,
  rowAt,
  type Side,
  type State,
  shownPlace,
  stateOf,
  type Task,
  taskOf,
  workOf,
} from "./examples";
import { List } from "./list";
import { Change } from "./modelcomparison";
import { Opened } from "./openexample";
import { Scores } from "./scores";
import { Heads } from "./taskatlas";
import { countWords, firstScore } from "./taskwords";

const SIDES: [Side, string][] = [
  ["confusion", "Confusion"],
  ["scores", "Scores"],
  ["heads", "Heads"],
  ["errors", "Errors"],
  ["slices", "Slices"],
];
const CHANGE: [Side, string] = ["change", "Before and now"];
const RATED = ["all", "wrong", "right"];

export function TaskView() {
  const view = useView();
  const answer = taskOf(view);
  if (answer.state !== "answered") return <Waiting answer={answer} doing="reading the examples" />;
  return <Panels task={answer.value} />;
}

function Panels({ task }: { task: Task }) {
  const view = useView();
  const state = stateOf(view);
  const { search, only, cell, order, side } = state;
  const examples = examplesOf(view, task);
  const places = useMemo(() => listed(examples, state), [examples, search.value, only.value, cell.value, order.value]);
  const place = shownPlace(view, examples, task);
  const errors = workOf(view, task, "errors");
  const notes = errors?.state === "answered" && errors.value ? errors.value : null;
  const rests = useMemo(() => notes && new Map(notes.rows.map(({ row, words }) => [row, words])), [notes]);
  const panel = side.value ?? (task.against ? "change" : "confusion");
  const open = (row: number) => {
    openRow(view, row).catch(() => undefined); // the link says why
  };
  return (
    <div class="bl-task" data-testid="task">
      <div class="bl-task-head">
        <b>{task.source ? visibleText(task.source) : "Labelled examples"}</b>
        <span class="bl-muted">
          {counted(task.examples)} examples{task.wrong === null ? "" : `, ${counted(task.wrong)} wrong`} ·{" "}
          <span data-testid="task-score">{firstScore(task)}</span>
        </span>
        <span class="bl-spacer" />
        <Segmented
          label="beside"
          value={panel}
          choices={[...SIDES, ...(task.against ? [CHANGE] : [])].map(([value, label]) => ({ value, label }))}
          onChange={(name) => {
            side.value = name;
          }}
        />
      </div>
      <div>
        <Filters state={state} task={task} places={places} />
        <List {...{ examples, places, state, shown: place, open }} rests={rests} />
        {place !== null && <Opened examples={examples} n={place} task={task} />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it */}
      <section class="bl-task-side bl-scroll" aria-label="About all examples" tabIndex={0}>
        {panel === "confusion" && <Confusion task={task} state={state} />}
        {panel === "scores" && <Scores task={task} />}
        {panel === "heads" && <Heads task={task} state={state} />}
        {panel === "errors" && <Errors task={task} row={place === null ? null : rowAt(examples, place)} open={open} />}
        {panel === "slices" && <Slices task={task} />}
        {panel === "change" && task.against && <Change task={task} against={task.against} state={state} />}
      </section>
    </div>
  );
}

function Filters({ state, task, places }: { state: State; task: Task; places: number[] }) {
  const view = useView();
  const { search, only, cell } = state;
  const [copyNote, copyText] = useCopy();
  const examples = examplesOf(view, task);
  const pair = cell.value;
  return (
    <div class="bl-controls">
      <input
        type="search"
        aria-label="Search the examples"
        placeholder="words, or #17"
        value={search.value}
        onInput={(event) => into(search)(event.currentTarget.value)}
      />
      {task.wrong !== null && (
        <Select
          label="show"
          choices={[...RATED, ...(task.against?.counts ?? []).map(([name]) => name)].map((name) => ({
            value: name,
            label: name,
          }))}
          {...binding(only)}
        />
      )}
      {pair && (
        <span class="bl-chip">
          {isolate(visibleText(pair[0]))} guessed {isolate(visibleText(pair[1]))}
          <Close label="All cells again" onClick={() => into(cell)(null)} />
        </span>
      )}
      <span class="bl-muted" data-testid="task-count">
        {countWords(places.length, examples, task)}
      </span>
      <span class="bl-spacer" />
      <Button
        class="bl-button"
        onClick={() => {
          const { columns, rows, facts } = exampleNumbers(view, task, places);
          copyText(csv(facts, columns, rows));
        }}
      >
        Copy as CSV
      </Button>
      <span role="status" class="bl-muted">
        {copyNote}
      </span>
    </div>
  );
}
