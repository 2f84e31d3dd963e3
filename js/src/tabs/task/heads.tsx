// What each head and each MLP matters to the task: an atlas of them, those that were run, and the pruning curve.
import { useRef } from "preact/hooks";
import { cssColor, inkOn } from "../../paint/colormap";
import { signed, upTo } from "../../paint/format";
import { signedColours } from "../../paint/palette";
import { into, Segmented } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import { Curve } from "./curve";
import type { HeadsFound, Part, State, Told } from "./data";
import { DIGITS_OF_EFFECTS, partWords, unitOf } from "./words";
import { Work } from "./work";

export function Heads({ told, state }: { told: Told; state: State }) {
  return (
    <Work
      work="heads"
      told={told}
      ways
      label="Which heads does the task need?"
      about="One backward pass over all examples estimates it for every head and MLP. Ten with the largest estimates and ten others are then taken out, one after the other, on the half of the examples that had no part in the choice. Choose how before you look."
    >
      {(found) => <Found found={found} told={told} state={state} />}
    </Work>
  );
}

function Found({ found, told, state }: { found: HeadsFound; told: Told; state: State }) {
  const run = found.rows.filter(({ effect }) => effect !== null);
  return (
    <div data-testid="task-heads">
      <Atlas found={found} state={state} />
      <p>{found.said}</p>
      <Work
        work="pruning"
        told={told}
        label="How many heads does it need?"
        about="More and more heads are switched off, those with the smallest estimates first, and as many at random."
      >
        {(curve) => <Curve found={curve} />}
      </Work>
      <Table<Part>
        title="Switched off"
        about={`effect: ${unitOf(found.measure)}`}
        rows={run}
        first="effect"
        columns={[
          { name: "part", value: ({ part }) => part, show: ({ part, finding }) => (finding ? <b>{part}</b> : part) },
          numbers("effect", ({ effect }) => effect, { digits: DIGITS_OF_EFFECTS }),
          numbers("low", ({ low }) => low, { digits: DIGITS_OF_EFFECTS }),
          numbers("high", ({ high }) => high, { digits: DIGITS_OF_EFFECTS }),
          numbers("p (Holm)", ({ p_holm }) => p_holm, { digits: 3 }),
          numbers("estimate", ({ estimate }) => estimate, { digits: DIGITS_OF_EFFECTS }),
        ]}
      />
    </div>
  );
}

function Atlas({ found, state }: { found: HeadsFound; state: State }) {
  const view = useView();
  const { synced, dark, overview } = view;
  const grid = useRef<HTMLDivElement>(null);
  const by = state.coloured.value;
  const [rows, cols] = [overview.n_layers, overview.n_heads + 1];
  const parts = new Map(found.rows.map((one) => [one.layer * cols + (one.head < 0 ? cols - 1 : one.head), one]));
  const most = Math.max(1e-9, ...found.rows.map((one) => Math.abs(one[by] ?? 0)));
  const here = { row: synced.layer.value, col: synced.head.value };
  const choose = ({ row, col }: { row: number; col: number }) => {
    if (col < cols - 1) synced.put({ layer: row, head: col });
    (grid.current!.querySelector(`[data-part="${row * cols + col}"]`) as HTMLElement | null)?.focus();
  };
  return (
    <>
      <Segmented
        label="colour"
        value={by}
        choices={[
          { value: "effect", label: "effect", title: "Of those that were switched off" },
          { value: "estimate", label: "estimate", title: "Of all, by one backward pass on the other half" },
        ]}
        onChange={into(state.coloured)}
      />
      <div class="bl-scroll">
        <div
          ref={grid}
          class="bl-task-atlas"
          role="group"
          aria-label="What each head and each MLP matters to the task"
          style={{ gridTemplateColumns: `auto repeat(${cols - 1}, minmax(20px, 32px)) 40px` }}
          onKeyDown={(event) => {
            const at = Number((event.target as HTMLElement).dataset.part);
            onGridKey({ rows, cols }, () => ({ row: Math.floor(at / cols), col: at % cols }), choose)(event);
          }}
        >
          <span />
          {upTo(cols).map((h) => (
            <span key={h} style={{ textAlign: "center" }}>
              {h < cols - 1 ? h : "MLP"}
            </span>
          ))}
          {upTo(rows * cols).flatMap((at) => {
            const one = parts.get(at);
            const value = one?.[by] ?? null;
            const fill = value === null ? undefined : cssColor(value, -most, most, signedColours(dark));
            const [row, col] = [Math.floor(at / cols), at % cols];
            const isHere = row === here.row && col === here.col;
            return [
              ...(col === 0 ? [<span key={`L${row}`}>L{row}</span>] : []),
              <button
                type="button"
                key={at}
                data-part={at}
                disabled={!one}
                tabIndex={isHere ? 0 : -1}
                aria-pressed={isHere}
                aria-label={one ? partWords(one, found.measure) : `L${row}: no MLP that can be switched off`}
                title={one && partWords(one, found.measure)}
                style={fill && { background: fill, color: inkOn(fill) }}
                onClick={() => choose({ row, col })}
              >
                {one?.finding ? "●" : ""}
              </button>,
            ];
          })}
        </div>
      </div>
      <p class="bl-muted">
        From {signed(-most, DIGITS_OF_EFFECTS)} to {signed(most, DIGITS_OF_EFFECTS)},{" "}
        {by === "effect" ? unitOf(found.measure) : "loss gained without it, nats, to first order"}; above 0 the task
        needs it. ● no chance (Holm, 5 %){by === "effect" ? "; empty: not switched off" : ""}.
      </p>
    </>
  );
}
