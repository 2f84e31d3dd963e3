// A number of the run before and after some changes, each alone: one row for each, with what makes it and takes it back.
import type { ComponentChildren } from "preact";
import { Button } from "../../parts/controls";
import { useView } from "../../state/view";
import type { Asked } from "../../state/whatif";
import { remove, undo } from "../../whatif/doing";

export interface EffectRow {
  name: ComponentChildren; // what is changed
  before: string;
  after: ComponentChildren;
  change: string;
  refused?: string; // instead of the numbers: why there are none
  asked?: Asked; // the change, where it can be made
  label: string; // in words
  isShown: boolean; // whether the run shown has it
  takeBack?: number; // that change of the run, where it need not be the last
}

interface Props {
  caption: string;
  rows: EffectRow[];
  show: (row: number) => void;
}

export function EffectTable({ caption, rows, show }: Props) {
  return (
    <div class="bl-scroll">
      <table class="bl-effects">
        <caption>{caption}</caption>
        <thead>
          <tr>
            {["changed", "before", "after", "change"].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col">
              <span class="bl-hidden">run</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={row.label} class={row.isShown ? "bl-pinned" : ""} data-testid="effect">
              <th scope="row">{row.name}</th>
              {row.refused ? (
                <td colSpan={3} class="bl-muted">
                  {row.refused}
                </td>
              ) : (
                <>
                  <td class="bl-number">{row.before}</td>
                  <td class="bl-number">{row.after}</td>
                  <td class="bl-number">{row.change}</td>
                </>
              )}
              <td>
                <RunButton row={row} show={() => show(n)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunButton({ row, show }: { row: EffectRow; show: () => void }) {
  const view = useView();
  const isLive = view.link.kernel.value;
  if (row.refused || view.link.now.value.state === "saved") return null;
  const latest = view.overview.changes.at(-1)?.id;
  const back = () => (row.takeBack === undefined || row.takeBack === latest ? undo(view) : remove(view, row.takeBack));
  const [text, about, act] = row.isShown
    ? (["Undo", `Take back: ${row.label}`, back] as const)
    : (["show this run", `The whole page of the run with this change: ${row.label}`, show] as const);
  return (
    <Button
      class="bl-link"
      disabled={!isLive}
      aria-label={`${text}: ${row.label}`}
      title={isLive ? about : view.link.needs.value}
      onClick={act}
    >
      {text}
    </Button>
  );
}
