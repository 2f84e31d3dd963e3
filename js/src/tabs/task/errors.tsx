// What wrong answers rest on, in which slices more is wrong than chance would make it, and what words answers go by.

import * as phrases from "../../generated/phrases";
import { counted, number, percent } from "../../paint/format";
import { quotation, visibleText } from "../../paint/quotes";
import { Button } from "../../parts/controls";
import { type Column, numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import { type ErrorNote, type SliceRates, stateOf, type Task, type WordEffects } from "./examples";
import { explainedWords } from "./taskwords";
import { Work } from "./work";

export function Errors({ task, row, open }: { task: Task; row: number | null; open: (row: number) => void }) {
  return (
    <Work
      work="errors"
      task={task}
      label="What do wrong answers rest on?"
      about="Of the 20 with the largest loss: words that answers rest on (210 runs each), nearest right texts, near-duplicates."
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

type Part = SliceRates["rows"][number] & Partial<WordEffects["rows"][number]>;

const ABOUT = {
  slices: ["Slices", "Where is more wrong?", "By length, class, pieces."],
  words: ["Words", "What does it go by?", "Each word is hidden in turn."],
} as const;

/** Parts of the examples with the share that is wrong; of words also what their class loses without them. */
export function Slices({ task, work }: { task: Task; work: keyof typeof ABOUT }) {
  const state = stateOf(useView());
  const [title, label, about] = ABOUT[work];
  const lead = (text: string, about: string, name: string, of: number[], count: number) => (
    <Button
      class="bl-link"
      disabled={!of.length}
      aria-label={`${text}: ${about}`}
      onClick={() => {
        const rest = of.length < count ? `, the ${of.length} ${phrases.LARGEST_LOSS}` : "";
        state.rows.value = { name: name + rest, of: new Set(of) };
        state.cell.value = null;
        state.only.value = "all";
      }}
    >
      {text}
    </Button>
  );
  const isOfWords = work === "words";
  const nameOf = ({ kind, slice }: Part) => visibleText(`${kind}${isOfWords ? ":" : ""} ${slice}`);
  const share = (name: "low" | "high" | "rate_outside"): Column<Part> => ({
    name: name.replace("rate_", ""),
    value: (row) => row[name],
    show: (row) => percent(row[name] ?? Number.NaN),
  });
  const effect = (name: "effect" | "matched" | "turned") => numbers<Part>(name, (row) => row[name]);
  return (
    <Work work={work} task={task} label={label} about={about}>
      {({ said, rows }) => (
        <div data-testid={`task-${work}`}>
          <p>{said}</p>
          <Table<Part>
            title={title}
            about="the share that is wrong, with its 95 % interval, beside the rest"
            rows={rows}
            columns={[
              {
                name: isOfWords ? "class: word" : "slice",
                value: ({ kind, slice }) => `${kind} ${slice}`,
                show: (row) => (row.finding ? <b>{nameOf(row)}</b> : nameOf(row)),
              },
              {
                name: "n",
                value: ({ n }) => n,
                show: (row) =>
                  row.held ? lead(counted(row.n), nameOf(row), nameOf(row), row.held, row.n) : counted(row.n),
              },
              ...(isOfWords ? (["effect", "matched", "turned"] as const).map(effect) : []),
              {
                name: "wrong",
                value: ({ rate }) => rate,
                show: (row) =>
                  lead(
                    percent(row.rate),
                    `${counted(row.wrong)} wrong in ${nameOf(row)}`,
                    `${nameOf(row)}, wrong`,
                    row.rows,
                    row.wrong,
                  ),
              },
              ...(["low", "high", "rate_outside"] as const).map(share),
              numbers("p (Holm)", ({ p_holm }) => p_holm, { digits: 3 }),
            ]}
          />
        </div>
      )}
    </Work>
  );
}
