// Work that takes long: a button that begins it, how far it is, a button that stops it; then what it found.
import type { ComponentChildren } from "preact";
import * as phrases from "../../generated/phrases";
import type { Kind } from "../../kernel/answers";
import { type Choice, Select } from "../../parts/controls";
import { LongWork } from "../../parts/work/work";
import { useView } from "../../state/view";
import { stateOf, type Task, type Way, type WorkName, type Works, workOf } from "./examples";

interface Props<W extends WorkName> {
  work: W;
  task: Task;
  label: string; // of the button
  about: string;
  ways?: boolean; // what effects are of, and how a part is taken out, is chosen before
  children: (report: Works[W]) => ComponentChildren;
}

export function Work<W extends WorkName>({ work, task, ways, ...props }: Props<W>) {
  const view = useView();
  const { kernel, needs } = view.link;
  const { starts, way } = stateOf(view);
  const begin = () => {
    const times = (starts.peek()[work]?.times ?? 0) + 1;
    starts.value = { ...starts.peek(), [work]: { times, way: ways ? way.peek() : {} } };
  };
  const stop = () => {
    view.request("task_stop", { work }).catch(() => undefined); // the link says why
  };
  return (
    <LongWork<Works[W]>
      {...props}
      {...{ begin, stop }}
      name={work}
      answer={workOf(view, task, work)}
      needs={kernel.value ? "" : needs.value}
      ways={ways && <Ways work={work} rated={task.rated} />}
    />
  );
}

const MEASURES: Choice<Way["effect_of"]>[] = [
  { value: "loss", label: "the loss" },
  { value: "accuracy", label: "the accuracy" },
];
const ABLATIONS: Choice<Way["ablation"]>[] = [
  { value: "zero", label: "switched off" },
  { value: "mean", label: "at its mean over texts" },
  { value: "resample", label: phrases.RESAMPLED },
];

const COST: Kind<string, "task_cost"> = { op: "task_cost", read: ({ fields }) => fields.said };

/** Named before anything is seen, with what it will take. */
function Ways({ work, rated }: { work: WorkName; rated: boolean }) {
  const view = useView();
  const { subject, way } = stateOf(view);
  const cost = view.answers.get(COST, subject, { work, ablation: way.value.ablation });
  const choose = (chosen: Partial<Way>) => {
    way.value = { ...way.value, ...chosen };
  };
  return (
    <>
      <div class="bl-controls">
        {rated && (
          <Select
            label="effect on"
            value={way.value.effect_of}
            choices={MEASURES}
            onChange={(effect_of) => choose({ effect_of })}
          />
        )}
        <Select
          label="each part"
          value={way.value.ablation}
          choices={ABLATIONS}
          onChange={(ablation) => choose({ ablation })}
        />
      </div>
      <p class="bl-muted" data-testid={`cost-${work}`}>
        {cost.state === "answered" ? cost.value : cost.state === "refused" ? cost.reason : "timing one batch …"}
      </p>
    </>
  );
}
