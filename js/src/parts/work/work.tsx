// Work that takes long: a button that begins it, how far it is, a button that stops it; then what it found.
import type { ComponentChildren } from "preact";
import type { Answer } from "../../kernel/answers";
import { percent } from "../../paint/format";
import { Button } from "../controls";

interface Props<T> {
  name: string; // for tests
  answer: Answer<T | false> | undefined; // undefined: it was not begun; false: it was stopped
  label: string; // of the button
  title?: string; // of the button
  question?: string;
  about: string;
  of?: string; // what is counted: "of 12 failures"
  needs: string; // why it cannot be begun; "" where it can
  begin: () => void;
  stop: () => void;
  ways?: ComponentChildren; // how it is to be done, chosen before
  children: (value: T) => ComponentChildren;
}

export function LongWork<T>(props: Props<T>) {
  const { answer, label, needs } = props;
  if (answer?.state === "answered" && answer.value !== false) return <>{props.children(answer.value)}</>;
  const isAtWork = answer?.state === "asking";
  const told = isAtWork ? answer.told : null;
  return (
    <div class="bl-sheet" data-testid={`work-${props.name}`}>
      {props.question && <p class="bl-sheet-said">{props.question}</p>}
      {isAtWork ? (
        <p aria-live="polite">
          {told?.doing || "beginning"} … <progress max="1" value={answer.done ?? 0} aria-label={label} />{" "}
          {percent(answer.done ?? 0)} {props.of}
          <Button class="bl-button" onClick={props.stop}>
            Stop
          </Button>
        </p>
      ) : (
        <p class="bl-muted">{props.about}</p>
      )}
      {told?.said && <p class="bl-muted">{told.said.split(";")[0]}.</p>}
      {answer?.state === "refused" && <p role="alert">{answer.reason}</p>}
      {answer?.state === "answered" && <p>Stopped.</p>}
      {!isAtWork && (needs || props.ways)}
      {!isAtWork && !needs && (
        <Button class="bl-button bl-primary" title={props.title} onClick={props.begin}>
          {label}
        </Button>
      )}
    </div>
  );
}
