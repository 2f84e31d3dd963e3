// Labelled examples: their list beside the one that is open, and what is known of all of them: leaves, one open at a time.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { counted } from "../../paint/format";
import { directionOf, visibleText } from "../../paint/quotes";
import { caseIn, nameCase } from "../../parts/cases/link";
import { Button } from "../../parts/controls";
import { Waiting } from "../../parts/section";
import { useView } from "../../state/view";
import { Confusion } from "./confusion";
import { Errors, Slices } from "./errors";
import { columnOf, examplesOf, openRow, rowAt, type Side, shownPlace, stateOf, type Task, taskOf } from "./examples";
import { List } from "./list";
import { Change } from "./modelcomparison";
import { Opened } from "./openexample";
import { Scores } from "./scores";
import { Heads } from "./taskatlas";
import { Layers } from "./tasklayers";

const SIDES: [Side, string][] = [
  ["confusion", "Confusion"],
  ["scores", "Scores"],
  ["heads", "Heads"],
  ["layers", "Layers"],
  ["errors", "Errors"],
  ["slices", "Slices"],
  ["words", "Words"],
];
const CHANGE: [Side, string] = ["change", "Before and now"];

/** The list and the leaves without the one screen, as the tab of another view. */
export const TaskView = () => (
  <WithExamples>
    <TaskLeaves />
  </WithExamples>
);

/** The list of examples beside the one that is open. */
export function WithExamples({ children }: { children: ComponentChildren }) {
  const view = useView();
  const answer = taskOf(view);
  const task = answer.state === "answered" ? answer.value : null;
  const [first] = (task && columnOf(task, "text")?.values) || [];
  const row = stateOf(view).opened.value?.row;
  const hasRow = row !== undefined;
  useEffect(() => {
    const id = caseIn(view.address);
    if (task && /^\d+$/.test(id)) openRow(view, Number(id)).catch(() => undefined); // the link says why
  }, [task !== null]);
  useEffect(() => {
    if (hasRow && (caseIn(view.address) || row !== task?.opened)) nameCase(view.address, row);
  }, [row]);
  return (
    <div class="bl-with-cases" dir={directionOf(first ?? "")} data-testid="task">
      {task ? <List task={task} /> : <Waiting answer={answer} doing="reading the examples" />}
      <div class="bl-the-case">{children}</div>
    </div>
  );
}

/** The example that is open in a sentence, and the leaves about all of them. */
export function TaskLeaves() {
  const view = useView();
  const answer = taskOf(view);
  return answer.state === "answered" ? <Leaves task={answer.value} /> : null;
}

function Leaves({ task }: { task: Task }) {
  const view = useView();
  const state = stateOf(view);
  const { side } = state;
  const examples = examplesOf(view, task);
  const place = shownPlace(view, examples, task);
  const hasFront = view.synced.parts.value.includes("header");
  const open = side.value ?? (task.against ? "change" : hasFront ? "" : "confusion");
  const hasLayers = task.layered && (view.link.kernel.value || task.held.includes("layers"));
  const leaves = [...SIDES, ...(task.against ? [CHANGE] : [])].filter(([name]) => name !== "layers" || hasLayers);
  const openCase = (row: number) => {
    openRow(view, row).catch(() => undefined); // the link says why
  };
  return (
    <section class="bl-task" aria-label="About all examples">
      {place !== null && <Opened examples={examples} n={place} task={task} />}
      <p class="bl-task-leaves">
        <span class="bl-muted">
          {task.source ? visibleText(task.source) : "Labelled examples"}, all {counted(task.examples)}:
        </span>{" "}
        {leaves.map(([name, label]) => (
          <Button
            key={name}
            class="bl-link"
            aria-expanded={name === open}
            onClick={() => {
              side.value = name === open ? "" : name;
            }}
          >
            {label}
          </Button>
        ))}
      </p>
      {open && (
        <div class="bl-task-side">
          {open === "confusion" && <Confusion task={task} state={state} />}
          {open === "scores" && <Scores task={task} />}
          {open === "heads" && <Heads task={task} state={state} />}
          {open === "layers" && <Layers task={task} />}
          {open === "errors" && (
            <Errors task={task} row={place === null ? null : rowAt(examples, place)} open={openCase} />
          )}
          {(open === "slices" || open === "words") && <Slices key={open} task={task} work={open} />}
          {open === "change" && task.against && <Change task={task} against={task.against} state={state} />}
        </div>
      )}
    </section>
  );
}
