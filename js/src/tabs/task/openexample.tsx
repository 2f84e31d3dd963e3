// The example that is open, in a sentence; and which head its answer hangs on.
import { useState } from "preact/hooks";
import { askHeads } from "../../atlas/questions";
import { Button } from "../../parts/controls";
import { HeadLink } from "../../parts/headlink";
import { effect, metricOf, strongest, sweep } from "../../state/effects";
import { useView } from "../../state/view";
import type { Examples, Task } from "./examples";
import { exampleWords } from "./taskwords";

export function Opened({ examples, n, task }: { examples: Examples; n: number; task: Task }) {
  const view = useView();
  const { page, synced, overview, link } = view;
  const [run, setRun] = useState(""); // of which run
  const hasAtlas = synced.parts.value.includes("atlas");
  const tab = (name: string) => {
    page.tabChosen.value = true;
    synced.put({ view: name });
    requestAnimationFrame(() => view.root.current?.querySelector(`[data-tab="${name}"]`)?.scrollIntoView());
  };
  const bothModels = () => {
    page.compareWith.value = { run: "before", text: "", text_pair: "" };
    tab("compare");
  };
  const whichHead = () => {
    askHeads(view, "matters");
    setRun(overview.trace);
  };
  return (
    <div class="bl-note" data-testid="task-opened">
      <p aria-live="polite">
        {exampleWords(examples, n)}{" "}
        {hasAtlas && (
          <>
            <Button class="bl-link" onClick={whichHead}>
              Which head does it?
            </Button>{" "}
            <Button class="bl-link" onClick={() => tab("matter")}>
              Which words?
            </Button>
            {task.against && link.kernel.value && (
              <>
                {" "}
                <Button class="bl-link" onClick={bothModels}>
                  Both models
                </Button>
              </>
            )}
          </>
        )}
      </p>
      {run === overview.trace && <Head />}
    </div>
  );
}

function Head() {
  const view = useView();
  const metric = metricOf(view);
  if (!metric) return <p class="bl-muted">asking for the answer …</p>;
  const { values, exact, refused } = sweep(view, metric.name);
  if (refused) return <p class="bl-muted">{refused}</p>;
  if (exact < values.length)
    return (
      <p class="bl-muted">
        switching off each head: {exact} of {values.length} …
      </p>
    );
  const [peak] = strongest(values, view.overview.n_heads, -1);
  if (!peak) return <p data-testid="task-head">No head, switched off alone, lowers {metric.label}.</p>;
  return (
    <p data-testid="task-head">
      <HeadLink at={peak.name} pick={(layer, head) => view.synced.put({ layer, head })} />, switched off alone, lowers{" "}
      {metric.label} most of {values.length} heads: {effect(peak.value)}.
    </p>
  );
}
