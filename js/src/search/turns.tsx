// Does the word that is named matter, over all failures? Work of minutes, which can be stopped.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { amount, counted, percent } from "../paint/format";
import { Button } from "../parts/controls";
import type { Row } from "./answers";
import { useSearch } from "./state";
import { Sheet } from "./tables";

const PAUSE = 700; // ms between two looks

interface Turns {
  idle?: boolean;
  again?: boolean;
  done?: number;
  rows?: Row[];
  said?: string;
}

const ABOUT =
  "The word of the wrong passage that puts most into the difference is hidden, wherever it stands; beside it eight random " +
  "words of the passage, and the eight nearest in how often they stand there. Shares of these are of the words without which the order turns.";

export function AllFailures({ failures }: { failures: number }) {
  const { ask, kernel } = useSearch();
  const state = useSignal<Turns>({});
  const problem = useSignal("");
  const follow = async (act: string) => {
    problem.value = "";
    try {
      let turns = await ask<Turns>("search_turns", { act });
      state.value = turns;
      while (turns.again) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        turns = await ask<Turns>("search_turns", { act: "look" });
        state.value = turns;
      }
    } catch (error) {
      state.value = { idle: true };
      problem.value = (error as Error).message;
    }
  };
  useEffect(() => {
    follow("look");
  }, []);
  const { again, done = 0, rows, said = "" } = state.value;
  if (rows)
    return <Sheet name="turns" title="The named word, over all failures" sheet={{ said, about: ABOUT, rows }} />;
  return (
    <div class="bl-sheet" data-testid="turns">
      <p class="bl-sheet-said">Does the word that is named matter, over all failures?</p>
      {again ? (
        <p class="bl-controls" role="status">
          <progress value={done} aria-label="failures that were tried" /> {percent(done)} of{" "}
          {amount(failures, "failure")}
          <Button class="bl-button" onClick={() => ask("search_turns", { act: "stop" })}>
            Stop
          </Button>
        </p>
      ) : (
        <Button
          class="bl-button bl-primary"
          disabled={!kernel.value}
          title="Up to 18 runs of the wrong passage of each failure"
          onClick={() => follow("start")}
        >
          Take it out of {failures === 1 ? "the one failure" : `all ${counted(failures)} failures`}
        </Button>
      )}
      <p class="bl-muted">{problem.value || ABOUT}</p>
    </div>
  );
}
