// Work of minutes that Python does for a search: a button that begins it, how far it is, one that stops it; then its result.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { percent } from "../../paint/format";
import { Button } from "../../parts/controls";
import { type Fields, useSearch } from "../state";

const PAUSE = 700; // ms between two looks

interface Progress {
  idle?: boolean;
  again?: boolean;
  done?: number;
  rows?: unknown[];
}

interface Props<T> {
  op: string;
  fields?: Fields;
  name: string; // for tests
  question: string;
  begin: string; // on the button
  title?: string; // of the button
  of?: string; // what is counted: " of 12 failures"
  about: string;
  children: (result: T) => ComponentChildren;
}

export function Work<T>({ op, fields, name, question, begin, title, of = "", about, children }: Props<T>) {
  const { ask, kernel } = useSearch();
  const state = useSignal<Progress>({});
  const problem = useSignal("");
  const send = (act: string) => ask<Progress>(op, { ...fields, act });
  const follow = async (act: string) => {
    problem.value = "";
    try {
      state.value = await send(act);
      while (state.value.again) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        state.value = await send("look");
      }
    } catch (error) {
      state.value = { idle: true };
      problem.value = (error as Error).message;
    }
  };
  useEffect(() => {
    follow("look");
  }, []);
  const { again, done = 0, rows } = state.value;
  if (rows) return <>{children(state.value as T)}</>;
  return (
    <div class="bl-sheet" data-testid={name}>
      <p class="bl-sheet-said">{question}</p>
      {again ? (
        <p class="bl-controls" role="status">
          <progress value={done} aria-label={question} /> {percent(done)}
          {of}
          <Button class="bl-button" onClick={() => send("stop")}>
            Stop
          </Button>
        </p>
      ) : (
        <Button class="bl-button bl-primary" disabled={!kernel.value} title={title} onClick={() => follow("start")}>
          {begin}
        </Button>
      )}
      <p class="bl-muted">{problem.value || about}</p>
    </div>
  );
}
