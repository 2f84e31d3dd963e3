// Work that takes long: a button that begins it, how far it is, a button that stops it; then what it found.
import type { ComponentChildren } from "preact";
import * as phrases from "../../generated/phrases";
import type { Kind } from "../../kernel/answers";
import { percent } from "../../paint/format";
import { Button, type Choice, Select } from "../../parts/controls";
import { useView, type View } from "../../state/view";
import { stateOf, type Task, type Way, type WorkName, type Works, workOf } from "./examples";

interface Props<W extends WorkName> {
  work: W;
  task: Task;
  label: string; // of the button
  about: string;
  ways?: boolean; // what effects are of, and how a part is taken out, is chosen before
  children: (report: Works[W]) => ComponentChildren;
}

function begin(view: View, work: WorkName, way: Partial<Way>): void {
  const { starts } = stateOf(view);
  starts.value = { ...starts.value, [work]: { times: (starts.value[work]?.times ?? 0) + 1, way } };
}

const stop = ({ request }: View, work: WorkName): void => {
  request("task_stop", { work }).catch(() => undefined); // the link says why
};

export function Work<W extends WorkName>({ work, task, label, about, ways, children }: Props<W>) {
  const view = useView();
  const { link } = view;
  const answer = workOf(view, task, work);
  if (answer?.state === "answered" && answer.value) return <>{children(answer.value)}</>;
  if (answer?.state === "asking") {
    const { doing, said: cost } = (answer.told ?? {}) as { doing?: string; said?: string };
    return (
      <div data-testid={`work-${work}`}>
        <p aria-live="polite">
          {doing || "beginning"} … <progress max="1" value={answer.done ?? 0} aria-label={label} />{" "}
          {percent(answer.done ?? 0)}{" "}
          <Button class="bl-button" onClick={() => stop(view, work)}>
            Stop
          </Button>
        </p>
        {cost && <p class="bl-muted">{cost.split(";")[0]}.</p>}
      </div>
    );
  }
  const live = link.kernel.value;
  return (
    <div data-testid={`work-${work}`}>
      <p class="bl-muted">{about}</p>
      {answer?.state === "refused" && <p role="alert">{answer.reason}</p>}
      {answer?.state === "answered" && <p>Stopped.</p>}
      {live ? (
        <>
          {ways && <Ways work={work} rated={task.rated} />}
          <Button class="bl-button bl-primary" onClick={() => begin(view, work, ways ? stateOf(view).way.peek() : {})}>
            {label}
          </Button>
        </>
      ) : (
        <p>{link.needs.value}</p>
      )}
    </div>
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
