// Work that takes long: a button that begins it, how far it is, a button that stops it; then what it found.
import type { ComponentChildren } from "preact";
import { percent } from "../../paint/format";
import { useView } from "../../state/view";
import { beginWork, stopWork, type Told, type WorkName, type Works, workOf } from "./data";

interface Props<W extends WorkName> {
  work: W;
  told: Told;
  label: string; // of the button
  about: string;
  children: (found: Works[W]) => ComponentChildren;
}

export function Work<W extends WorkName>({ work, told, label, about, children }: Props<W>) {
  const view = useView();
  const { link } = view;
  const answer = workOf(view, told, work);
  if (answer?.state === "answered" && answer.value) return <>{children(answer.value)}</>;
  if (answer?.state === "asking") {
    const { doing, said } = (answer.told ?? {}) as { doing?: string; said?: string };
    return (
      <div data-testid={`work-${work}`}>
        <p aria-live="polite">
          {doing || "beginning"} … <progress max="1" value={answer.done ?? 0} aria-label={label} />{" "}
          {percent(answer.done ?? 0)}{" "}
          <button type="button" class="bl-button" onClick={() => stopWork(view, work)}>
            Stop
          </button>
        </p>
        {said && <p class="bl-muted">{said.split(";")[0]}.</p>}
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
        <button type="button" class="bl-button bl-primary" onClick={() => beginWork(view, work)}>
          {label}
        </button>
      ) : (
        <p>{link.needs.value}</p>
      )}
    </div>
  );
}
