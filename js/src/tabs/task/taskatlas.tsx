// What each head and each MLP matters to the task: an atlas of them, those that were run, and the pruning curve.
import { useRef } from "preact/hooks";
import { cssColor, inkOn } from "../../paint/colormap";
import { signed, upTo } from "../../paint/format";
import { signedColours } from "../../paint/palette";
import { Button, into, Segmented } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import type { HeadEffects, PartEffect, State, Task } from "./examples";
import { Curve } from "./pruningcurve";
import { DIGITS_OF_EFFECTS, partWords, unitOf } from "./taskwords";
import { Work } from "./work";

export function Heads({ task, state }: { task: Task; state: State }) {
  return (
    <Work
      work="heads"
      task={task}
      ways
      label="Which heads does the task need?"
      about="One backward pass over all examples estimates it for every head and MLP. Ten with the largest estimates and ten others are then taken out, one after the other, on the half of the examples that had no part in the choice. Choose how before you look."
    >
      {(effects) => <Effects effects={effects} task={task} state={state} />}
    </Work>
  );
}

function Effects({ effects, task, state }: { effects: HeadEffects; task: Task; state: State }) {
  const run = effects.rows.filter(({ effect }) => effect !== null);
  return (
    <div data-testid="task-heads">
      <Atlas effects={effects} state={state} />
      <p>{effects.said}</p>
      <Work
        work="pruning"
        task={task}
        label="How many heads does it need?"
        about="More and more heads are switched off, those with the smallest estimates first, and as many at random."
      >
        {(curve) => <Curve curve={curve} />}
      </Work>
      <Table<PartEffect>
        title="Switched off"
        about={`effect: ${unitOf(effects.measure)}`}
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

function Atlas({ effects, state }: { effects: HeadEffects; state: State }) {
  const view = useView();
  const { synced, dark, overview } = view;
  const grid = useRef<HTMLDivElement>(null);
  const by = state.coloured.value;
  const [rows, cols] = [overview.n_layers, overview.n_heads + 1];
  const effectsAt = new Map(effects.rows.map((one) => [one.layer * cols + (one.head < 0 ? cols - 1 : one.head), one]));
  const limit = Math.max(1e-9, ...effects.rows.map((one) => Math.abs(one[by] ?? 0)));
  const selection = { row: synced.layer.value, col: synced.head.value };
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
            const cell = effectsAt.get(at);
            const value = cell?.[by] ?? null;
            const fill = value === null ? undefined : cssColor(value, -limit, limit, signedColours(dark));
            const [row, col] = [Math.floor(at / cols), at % cols];
            const isHere = row === selection.row && col === selection.col;
            return [
              ...(col === 0 ? [<span key={`L${row}`}>L{row}</span>] : []),
              <Button
                key={at}
                data-part={at}
                disabled={!cell}
                tabIndex={isHere ? 0 : -1}
                aria-pressed={isHere}
                aria-label={cell ? partWords(cell, effects.measure) : `L${row}: no MLP that can be switched off`}
                title={cell && partWords(cell, effects.measure)}
                style={fill && { background: fill, color: inkOn(fill) }}
                onClick={() => choose({ row, col })}
              >
                {cell?.finding ? "●" : ""}
              </Button>,
            ];
          })}
        </div>
      </div>
      <p class="bl-muted">
        From {signed(-limit, DIGITS_OF_EFFECTS)} to {signed(limit, DIGITS_OF_EFFECTS)},{" "}
        {by === "effect" ? unitOf(effects.measure) : "loss gained without it, nats, to first order"}; above 0 the task
        needs it. ● no chance (Holm, 5 %){by === "effect" ? "; empty: not switched off" : ""}.
      </p>
    </>
  );
}
