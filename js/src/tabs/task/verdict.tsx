// Whether the answer to the example that is open is right, over its bars; and what it rests on, in place of what a head
// looks at that does nothing.

import { units } from "../../compute/grid";
import { isSure, toldChange } from "../../compute/logodds";
import type { HiddenWords } from "../../generated/answers";
import { headLabel, signed } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { wordName } from "../../parts/token";
import { useHeads, useHeadsToCome } from "../../state/frontanswers";
import { useView, type View } from "../../state/view";
import { columnOf, examplesOf, isWrong, shownPlace, type Task, taskOf, valueAt, workOf } from "./examples";
import { hiddenWordsOf, isPart, lossesOf, wholeOf } from "./hiddenwords";

const taskIn = (view: View): Task | null => {
  const answer = view.synced.parts.value.includes("examples") ? taskOf(view) : null;
  return answer?.state === "answered" ? answer.value : null;
};

/** "wrong: the label is complaint". */
export function Verdict() {
  const view = useView();
  const task = taskIn(view);
  const examples = task && examplesOf(view, task);
  const place = examples && shownPlace(view, examples, task);
  const label = examples && columnOf(examples, "label");
  if (!examples || place === null || !label || view.overview.changes.length > 0) return null;
  const wrong = isWrong(examples, place);
  if (wrong === null) return null;
  return (
    <p class={wrong ? "bl-verdict bl-is-wrong" : "bl-verdict bl-muted"} data-testid="verdict">
      <span class="bl-dot" aria-hidden="true" /> {wrong ? "wrong" : "right"}: the label is{" "}
      <i class="bl-text-word">{visibleText(String(valueAt(label, place)))}</i>
    </p>
  );
}

/** What hiding words does, while the program chose the head; null where the front is to tell of a head. */
export function useHidden(): HiddenWords | null {
  const answer = hiddenWordsOf(useView());
  return answer?.state === "answered" && !answer.value.why_not && answer.value.words.length > 0 ? answer.value : null;
}

export function TaskClaim({ words }: { words: HiddenWords }) {
  const { queries } = useView().overview;
  const [heaviest] = lossesOf(words);
  const inOdds = isSure(words.unit, words.before);
  const name = words.name ? <i class="bl-text-word">{words.name}</i> : "the score";
  const digits = Math.abs(wholeOf(words)) < 0.1 ? 4 : 2;
  const inUnit = (value: number) => signed(wholeOf(words, value), digits);
  const rests = heaviest !== undefined && heaviest.loss > 0 && isPart(words, heaviest.loss);
  const word = heaviest && (
    <i class="bl-text-word">
      {units(queries, true)
        .filter(({ pieces }) => pieces.some((piece) => heaviest.pieces.includes(piece)))
        .map(wordName)
        .join("")}
    </i>
  );
  return (
    <div class="bl-claim" data-testid="claim">
      <p>It rests on {rests ? word : "no single word"}.</p>
      {heaviest && (
        <p class="bl-claim-second">
          {rests ? "Hidden, " : `Of ${words.words.length}, each hidden alone, `}
          {!rests && (heaviest.loss <= 0 || inUnit(words.before) === inUnit(heaviest.after)) ? (
            `none lowers it by ${10 ** -digits}.`
          ) : (
            <>
              {!rests && [word, " takes most: "]}
              {inOdds ? "the log-odds of " : ""}
              {name} {inOdds ? "go" : "goes"} from <span class="bl-number">{inUnit(words.before)}</span> to{" "}
              <span class="bl-number bl-strong">{inUnit(heaviest.after)}</span>.
            </>
          )}{" "}
          <HeadClause words={words} />
        </p>
      )}
      <TestClause />
    </div>
  );
}

/** Which head does most here, and whether that is much. */
function HeadClause({ words }: { words: HiddenWords }) {
  const heads = useHeads();
  const { isComing } = useHeadsToCome();
  if (heads.state !== "answered" || isComing || !heads.value.heads[0]) return null;
  const [layer, head, change] = heads.value.heads[0];
  const moved = toldChange(words.unit, words.before, change);
  const { tried } = heads.value;
  return (
    <>
      {isPart(words, moved) ? `Of ${tried} heads, ` : `No single head carries it: of ${tried}, `}
      <b>{headLabel(layer, head)}</b> moves it most, by <span class="bl-number">{signed(moved, 2)}</span>.
    </>
  );
}

/** What the test over all examples says of heads, where it was made. */
function TestClause() {
  const view = useView();
  const task = taskIn(view);
  const answer = task?.held.includes("heads") ? workOf(view, task, "heads") : undefined;
  const rows = answer?.state === "answered" && answer.value ? answer.value.rows : null;
  if (!rows) return null;
  const run = rows.filter(({ effect, head }) => effect !== null && head >= 0);
  const findings = run.filter(({ finding }) => finding);
  return (
    <p class="bl-claim-test bl-muted" data-testid="task-test">
      Over all examples{" "}
      {findings.length > 0
        ? `${findings
            .slice(0, 3)
            .map(({ part }) => part)
            .join(", ")} ${findings.length === 1 ? "decides" : "decide"}`
        : "no head decides"}{" "}
      ({run.length} run, {findings.length === 0 ? "none" : findings.length} by more than chance).
    </p>
  );
}
