// What wrong answers rest on, and in which slices more is wrong than chance would make it.

import { counted, number, percent } from "../../paint/format";
import { quotation, visibleText } from "../../paint/quotes";
import { Button } from "../../parts/controls";
import { numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import { type ErrorNote, type SliceRates, stateOf, type Task } from "./examples";
import { explainedWords } from "./taskwords";
import { Work } from "./work";

export function Errors({ task, row, open }: { task: Task; row: number | null; open: (row: number) => void }) {
  return (
    <Work
      work="errors"
      task={task}
      label="What do wrong answers rest on?"
      about="Of the 20 examples with the largest loss: the words that the answer rests on and how faithful they are, some 210 runs each; the nearest right text of the class; and near-duplicates with other labels."
    >
      {({ said, rows }) => {
        const note = rows.find((one) => one.row === row);
        return (
          <div data-testid="task-errors">
            <p>{said}</p>
            {note ? (
              <Explanation note={note} open={open} />
            ) : (
              <p class="bl-muted">
                Explained are the {counted(rows.length)} examples with the largest loss: click one of them.
              </p>
            )}
          </div>
        );
      }}
    </Work>
  );
}

function Explanation({ note, open }: { note: ErrorNote; open: (row: number) => void }) {
  const link = (row: number) => (
    <Button class="bl-link" onClick={() => open(row)}>
      {counted(row)}
    </Button>
  );
  return (
    <div class="bl-note" data-testid="task-explained">
      <p>{explainedWords(note)}</p>
      {note.nearest >= 0 && (
        <p>
          The nearest right text of its class is {link(note.nearest)} (cosine {number(note.similarity)}):
          {quotation(visibleText(note.nearest_text))}
        </p>
      )}
      {note.twin >= 0 && <p>Nearly the same text has another label: {link(note.twin)}.</p>}
    </div>
  );
}

export function Slices({ task }: { task: Task }) {
  const state = stateOf(useView());
  return (
    <Work work="slices" task={task} label="Where is more wrong?" about="By length, class and frequent words.">
      {({ said, rows }) => (
        <div data-testid="task-slices">
          <p>{said}</p>
          <Table<SliceRates["rows"][number]>
            title="Slices"
            about="the share that is wrong, with its 95 % interval, beside the rest"
            rows={rows}
            columns={[
              {
                name: "slice",
                value: ({ kind, slice }) => `${kind} ${slice}`,
                show: ({ kind, slice, finding }) => {
                  const text = visibleText(`${kind} ${slice}`);
                  return finding ? <b>{text}</b> : text;
                },
              },
              { name: "n", value: ({ n }) => n, show: ({ n }) => counted(n) },
              {
                name: "wrong",
                value: ({ rate }) => rate,
                show: ({ kind, slice, wrong, rate, rows }) => (
                  <Button
                    class="bl-link"
                    disabled={wrong === 0}
                    aria-label={`${percent(rate)}: ${counted(wrong)} wrong in ${visibleText(`${kind} ${slice}`)}`}
                    onClick={() => {
                      state.rows.value = { name: visibleText(`${kind} ${slice}, wrong`), of: new Set(rows) };
                      state.cell.value = null;
                      state.only.value = "all";
                    }}
                  >
                    {percent(rate)}
                  </Button>
                ),
              },
              { name: "low", value: ({ low }) => low, show: ({ low }) => percent(low) },
              { name: "high", value: ({ high }) => high, show: ({ high }) => percent(high) },
              { name: "outside", value: (one) => one.rate_outside, show: (one) => percent(one.rate_outside) },
              numbers("p (Holm)", ({ p_holm }) => p_holm, { digits: 3 }),
            ]}
          />
        </div>
      )}
    </Work>
  );
}
