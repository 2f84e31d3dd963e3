// What changed from a model before: examples fixed and broken, heads that turned, and what each matters in both models.
import { counted, number } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { Button } from "../../parts/controls";
import { HeadLink } from "../../parts/headlink";
import { numbers, Table } from "../../parts/table";
import { useView } from "../../state/view";
import type { Against, Part, State, Task, TurnedEffect, TurnedEffects, TurnedHead } from "./examples";
import { unitOf } from "./taskwords";
import { Work } from "./work";

const MOST_NATS = Math.LN2.toFixed(3);

export function Change({ task, against, state }: { task: Task; against: Against; state: State }) {
  const { counts, said: sentence, note, heads, texts, model } = against;
  return (
    <div data-testid="task-change">
      <div class="bl-controls">
        {counts.map(([name, count]) => (
          <Button
            class="bl-button"
            key={name}
            disabled={count === 0}
            aria-pressed={state.only.value === name}
            onClick={() => {
              state.only.value = state.only.value === name ? "all" : name;
              state.cell.value = null;
            }}
          >
            {counted(count)} {name}
          </Button>
        ))}
      </div>
      <p>
        Before: {visibleText(model)}. {sentence}
      </p>
      {heads.length === 0 ? (
        <p class="bl-muted">{note}</p>
      ) : (
        <>
          <Work
            work="turned"
            task={task}
            ways
            label="Which heads matter now and did not?"
            about="In both models the same heads and MLPs are taken out: ten with the largest estimates in either and ten others, on the half of the examples that had no part in the choice. Choose how before you look."
          >
            {(effects) => <Matter effects={effects} />}
          </Work>
          <Table<TurnedHead>
            title="Heads that turned"
            about={`how far attention is from what it was, mean over ${counted(texts)} texts: nats from 0 to ${MOST_NATS}`}
            rows={heads}
            first="distance"
            columns={[
              { name: "head", value: ({ part }) => part, show: (one) => <PartName at={one} /> },
              numbers("distance", ({ distance }) => distance, { digits: 3 }),
              numbers("low", ({ low }) => low, { digits: 3 }),
              numbers("high", ({ high }) => high, { digits: 3 }),
            ]}
          />
        </>
      )}
    </div>
  );
}

function PartName({ at: { part, layer, head }, strong }: { at: Part; strong?: boolean }) {
  const { synced } = useView();
  const name = head < 0 ? part : <HeadLink at={[layer, head]} pick={(layer, head) => synced.put({ layer, head })} />;
  return strong ? <b>{name}</b> : <span>{name}</span>;
}

function Matter({ effects: { said: sentence, measure, rows } }: { effects: TurnedEffects }) {
  return (
    <div data-testid="task-turned">
      <p>{sentence}</p>
      <Table<TurnedEffect>
        title="Before and now"
        about={`${unitOf(measure)}; bold: the difference is no chance`}
        rows={rows}
        columns={[
          { name: "part", value: ({ part }) => part, show: (one) => <PartName at={one} strong={one.finding} /> },
          numbers("before", ({ before }) => before, { digits: 3 }),
          numbers("now", ({ after }) => after, { digits: 3 }),
          numbers("difference", ({ difference }) => difference, { digits: 3 }),
          { name: "95 %", value: ({ low, high }) => `${number(low, 3)} to ${number(high, 3)}` },
          numbers("p (Holm)", ({ p_holm }) => p_holm, { digits: 3 }),
        ]}
      />
    </div>
  );
}
