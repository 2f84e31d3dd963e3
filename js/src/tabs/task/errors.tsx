// What wrong answers rest on, and in which slices more is wrong than chance would make it.
import { counted, number, percent } from "../../paint/format";
import { numbers, Table } from "../../parts/table";
import { visibleText } from "../../parts/token";
import type { Explained, SlicesFound, Told } from "./data";
import { explainedWords } from "./words";
import { Work } from "./work";

export function Errors({ told, row, open }: { told: Told; row: number | null; open: (row: number) => void }) {
  return (
    <Work
      work="errors"
      told={told}
      label="What do wrong answers rest on?"
      about="Of the 20 examples with the largest loss: the words that the answer rests on and how faithful they are, some 210 runs each; the nearest right text of the class; and near-duplicates with other labels."
    >
      {({ said, rows }) => {
        const own = rows.find((one) => one.row === row);
        return (
          <div data-testid="task-errors">
            <p>{said}</p>
            {own ? (
              <Explanation one={own} open={open} />
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

function Explanation({ one, open }: { one: Explained; open: (row: number) => void }) {
  const link = (row: number) => (
    <button type="button" class="bl-link" onClick={() => open(row)}>
      {counted(row)}
    </button>
  );
  return (
    <div class="bl-note" data-testid="task-explained">
      <p>{explainedWords(one)}</p>
      {one.nearest >= 0 && (
        <p>
          The nearest right text of its class is {link(one.nearest)} (cosine {number(one.similarity)}): “
          {visibleText(one.nearest_text)}”
        </p>
      )}
      {one.twin >= 0 && <p>Nearly the same text has another label: {link(one.twin)}.</p>}
    </div>
  );
}

export function Slices({ told }: { told: Told }) {
  return (
    <Work work="slices" told={told} label="Where is more wrong?" about="By length, class and frequent words.">
      {({ said, rows }) => (
        <div data-testid="task-slices">
          <p>{said}</p>
          <Table<SlicesFound["rows"][number]>
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
              { name: "wrong", value: ({ rate }) => rate, show: ({ rate }) => percent(rate) },
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
