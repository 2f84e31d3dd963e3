// How a weight is computed, unfolded under its question: the slides of Present beside each other.
import { useContext, useMemo } from "preact/hooks";
import { computedSteps } from "../../head/present/computed";
import { AsTables } from "../../parts/picturetable";
import { useView } from "../../state/view";

const BARS = 5; // keys that have one

export function Steps({ query, target }: { query: number; target: number }) {
  const view = useView();
  const { slice, overview } = view.shownHead;
  const steps = useMemo(() => computedSteps(view, query, target, BARS), [slice, overview, query, target, view.dark]);
  const asTable = useContext(AsTables);
  return (
    <div class="bl-steps" data-testid="steps">
      <ol>
        {steps.map(({ title, says, body }) => (
          <li key={title}>
            <h4>{title}</h4>
            <p>{says}</p>
            {!asTable && body}
          </li>
        ))}
      </ol>
    </div>
  );
}
