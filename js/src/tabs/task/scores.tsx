// The scores, each with its interval or why there is none: whatever the task measures.
import { counted } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { numbers, Table } from "../../parts/table";
import type { Metric, Task } from "./examples";
import { betweenWords } from "./taskwords";

const DIGITS = 3;

export function Scores({ task }: { task: Task }) {
  const ofClasses = task.metrics.some(({ label }) => label);
  return (
    <div data-testid="task-scores">
      <Table<Metric>
        title="Scores"
        about="95 % intervals: over examples drawn as these were"
        rows={task.metrics}
        columns={[
          { name: "measure", value: ({ measure }) => measure },
          ...(ofClasses ? [{ name: "of", value: ({ label }: Metric) => visibleText(label || "all") }] : []),
          numbers("value", ({ value }) => value, { digits: DIGITS }),
          { name: "interval", value: betweenWords },
          { name: "n", value: ({ n }) => n, show: ({ n }) => counted(n) },
          { name: "note", value: ({ note }) => note, copied: true },
        ]}
      />
      {task.notes.map((sentence) => (
        <p key={sentence} class="bl-muted">
          {sentence}
        </p>
      ))}
    </div>
  );
}
