// Labelled examples: their list, the sentence about the one that is open, and beside them scores, heads, errors, slices.
import { useMemo } from "preact/hooks";
import { csv } from "../../export/csv";
import { counted } from "../../paint/format";
import { Close, into, Segmented, Select } from "../../parts/controls";
import { useCopy } from "../../parts/copy";
import { Waiting } from "../../parts/section";
import { visibleText } from "../../parts/token";
import { useView } from "../../state/view";
import { Change } from "./change";
import { Confusion } from "./confusion";
import {
  examplesOf,
  listed,
  openRow,
  rowAt,
  type Side,
  type State,
  shownPlace,
  stateOf,
  type Told,
  toldOf,
  workOf,
} from "./data";
import { Errors, Slices } from "./errors";
import { Heads } from "./heads";
import { List } from "./list";
import { exampleNumbers } from "./numbers";
import { Opened } from "./opened";
import { Scores } from "./scores";
import { countWords, firstScore } from "./words";

const SIDES: [Side, string][] = [
  ["confusion", "Confusion"],
  ["scores", "Scores"],
  ["heads", "Heads"],
  ["errors", "Errors"],
  ["slices", "Slices"],
];
const CHANGE: [Side, string] = ["change", "Before and now"];
const RATED = ["all", "wrong", "right"];

export function Task() {
  const view = useView();
  const answer = toldOf(view);
  if (answer.state !== "answered") return <Waiting answer={answer} doing="reading the examples" />;
  return <Shown told={answer.value} />;
}

function Shown({ told }: { told: Told }) {
  const view = useView();
  const state = stateOf(view);
  const { search, only, cell, order, side } = state;
  const examples = examplesOf(view, told);
  const places = useMemo(() => listed(examples, state), [examples, search.value, only.value, cell.value, order.value]);
  const shown = shownPlace(view, examples, told);
  const errors = workOf(view, told, "errors");
  const found = errors?.state === "answered" && errors.value ? errors.value : null;
  const rests = useMemo(() => found && new Map(found.rows.map(({ row, words }) => [row, words])), [found]);
  const beside = side.value ?? (told.against ? "change" : "confusion");
  const open = (row: number) => {
    openRow(view, row).catch(() => undefined); // the link says why
  };
  return (
    <div class="bl-task" data-testid="task">
      <div class="bl-task-head">
        <b>{told.source ? visibleText(told.source) : "Labelled examples"}</b>
        <span class="bl-muted">
          {counted(told.examples)} examples{told.wrong === null ? "" : `, ${counted(told.wrong)} wrong`} ·{" "}
          <span data-testid="task-score">{firstScore(told)}</span>
        </span>
        <span class="bl-spacer" />
        <Segmented
          label="beside"
          value={beside}
          choices={[...SIDES, ...(told.against ? [CHANGE] : [])].map(([value, label]) => ({ value, label }))}
          onChange={(chosen) => {
            side.value = chosen;
          }}
        />
      </div>
      <div>
        <Filters state={state} told={told} places={places} />
        <List {...{ examples, places, state, shown, open }} rests={rests} />
        {shown !== null && <Opened examples={examples} n={shown} told={told} />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it */}
      <section class="bl-task-side bl-scroll" aria-label="About all examples" tabIndex={0}>
        {beside === "confusion" && <Confusion told={told} state={state} />}
        {beside === "scores" && <Scores told={told} />}
        {beside === "heads" && <Heads told={told} state={state} />}
        {beside === "errors" && <Errors told={told} row={shown === null ? null : rowAt(examples, shown)} open={open} />}
        {beside === "slices" && <Slices told={told} />}
        {beside === "change" && told.against && <Change told={told} against={told.against} state={state} />}
      </section>
    </div>
  );
}

function Filters({ state, told, places }: { state: State; told: Told; places: number[] }) {
  const view = useView();
  const { search, only, cell } = state;
  const [said, copyText] = useCopy();
  const examples = examplesOf(view, told);
  const asked = cell.value;
  return (
    <div class="bl-controls">
      <input
        type="search"
        aria-label="Search the examples"
        placeholder="words, or #17"
        value={search.value}
        onInput={(event) => into(search)(event.currentTarget.value)}
      />
      {told.wrong !== null && (
        <Select
          label="show"
          value={only.value}
          choices={[...RATED, ...(told.against?.counts ?? []).map(([name]) => name)].map((name) => ({
            value: name,
            label: name,
          }))}
          onChange={into(only)}
        />
      )}
      {asked && (
        <span class="bl-chip">
          {visibleText(asked[0])} guessed {visibleText(asked[1])}
          <Close label="All cells again" onClick={() => into(cell)(null)} />
        </span>
      )}
      <span class="bl-muted" data-testid="task-count">
        {countWords(places.length, examples, told)}
      </span>
      <span class="bl-spacer" />
      <button
        type="button"
        class="bl-button"
        onClick={() => {
          const { columns, rows, facts } = exampleNumbers(view, told, places);
          copyText(csv(facts, columns, rows));
        }}
      >
        Copy as CSV
      </button>
      <span role="status" class="bl-muted">
        {said}
      </span>
    </div>
  );
}
