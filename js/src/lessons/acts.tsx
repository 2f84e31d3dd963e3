// What there is to do in a step, and what is said of it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { TOLERANCE } from "../generated/vocabulary";
import { headLabel } from "../paint/format";
import { Button, into, Submit } from "../parts/controls";
import { Token } from "../parts/token";
import { changesOf } from "../state/changequeue";
import { type Done, doneIn, type Lesson, type Step } from "../state/lesson";
import { useView, type View } from "../state/view";
import { factsOf, headFor, isOfHeads } from "./facts";
import { enter, go, keep } from "./go";
import { Markdown } from "./markdown";
import { Sheet } from "./steptable";
import { choicesIn, outcomeOf } from "./truth";
import { holds, numbersIn, type Tree, verdict } from "./verdict";

interface ActProps {
  lesson: Lesson;
  step: Step;
  n: number;
}

/** What is shown is what is selected, and nothing is on its way. */
const isSettled = ({ shownHead, synced, overview, running, page }: View) => {
  const { layer, head, measure } = synced;
  const isHead = shownHead.layer === layer.value && shownHead.head === head.value;
  const isMeasure = shownHead.measure === measure.value || !overview.measures.includes(measure.value);
  return isHead && isMeasure && !running.value && !page.lesson.busy.value;
};

const placeOf = ({ shownHead, overview, focus }: View) =>
  JSON.stringify([overview.subject, changesOf(overview), shownHead.layer, shownHead.head, focus]);

export function Act(props: ActProps) {
  const view = useView();
  const { lesson, step, n } = props;
  const { refused, busy, entered } = view.page.lesson;
  const outcome = doneIn(view.synced, n);
  const settled = isSettled(view);
  useEffect(() => {
    if (settled && entered.value === null) entered.value = placeOf(view);
  });
  if (refused.value) return <p class="bl-lesson-said bl-lesson-wrong">{refused.value}</p>;
  if (busy.value) return <p class="bl-muted">one moment …</p>;
  return (
    <>
      {step.act === "predict" && !outcome && <Predict {...props} />}
      {(step.act === "find" || step.act === "change") && <Fulfil {...props} done={outcome} />}
      {step.act === "write" && <Write key={n} {...props} done={outcome} />}
      {outcome && <Outcome step={step} done={outcome} />}
      {step.table && (step.act !== "predict" || outcome) && <Sheet table={step.table} />}
      {step.act && !outcome && (
        <div class="bl-lesson-help">
          <Hints step={step} n={n} />
          {canShow(view, step) && (
            <Button class="bl-button" onClick={() => showMe(view, lesson, step)}>
              Show me
            </Button>
          )}
          <span class="bl-spacer" />
          <Button
            class="bl-link"
            onClick={() => {
              keep(view, lesson, { skipped: true });
              go(view, lesson, n + 1);
            }}
          >
            skip
          </Button>
        </div>
      )}
    </>
  );
}

function Hints({ step, n }: { step: Step; n: number }) {
  const { hints: hintCounts } = useView().page.lesson;
  const hints = step.hints ?? [];
  const count = hintCounts.value[n] ?? 0;
  const showNext = () => {
    const counts = [...hintCounts.value];
    counts[n] = count + 1;
    hintCounts.value = counts;
  };
  return (
    <>
      {count < hints.length && (
        <Button class="bl-button" onClick={showNext}>
          Hint
        </Button>
      )}
      {hints.slice(0, count).map((hint) => (
        <p key={hint} class="bl-lesson-hint">
          {hint}
        </p>
      ))}
    </>
  );
}

/** What was done: said once it is. */
function Outcome({ step, done }: { step: Step; done: Done }) {
  const { truth, right, said: note, skipped } = done;
  return (
    <div class="bl-lesson-said" role="status" data-right={right ?? undefined}>
      {skipped ? (
        <p>Skipped.</p>
      ) : (
        (truth || note) && (
          <p>
            <b>
              {right === true && "✓ "}
              {truth}
              {truth && note && "."}
            </b>{" "}
            {note}
          </p>
        )
      )}
      {step.act === "write" && step.model && <Markdown text={step.model} />}
      {step.after && <Markdown text={step.after} />}
    </div>
  );
}

/** A guess; what it is of comes into sight after it. */
function Predict({ lesson, step }: ActProps) {
  const view = useView();
  const typed = useSignal("");
  const { shownHead } = view;
  const refusedNow = outcomeOf(view, step, null);
  if (typeof refusedNow === "string" && !isSettled(view)) return <p class="bl-muted">one moment …</p>;
  if (typeof refusedNow === "string") return <p class="bl-lesson-said bl-lesson-wrong">{refusedNow}.</p>;
  const take = (guess: string, label = guess) => {
    const outcome = outcomeOf(view, step, guess);
    if (typeof outcome === "string") return;
    const { truth, right, instead, head } = outcome;
    keep(view, lesson, { guess: label, truth, right, said: right ? "That was your guess." : instead });
    if (head) view.synced.put(head);
  };
  if (step.predict === "key")
    return (
      <div class="bl-lesson-words" role="group" aria-label="Your guess: a word">
        {choicesIn(view, step).map(({ label, pieces }) => (
          <Button
            key={pieces[0]}
            class={pieces.includes(view.focus.query) ? "bl-button bl-lesson-row" : "bl-button"}
            onClick={() => take(String(pieces[0]), label)}
          >
            <Token text={label} />
          </Button>
        ))}
      </div>
    );
  if (step.predict === "head")
    return (
      <Button class="bl-button bl-primary" onClick={() => take(headLabel(shownHead.layer, shownHead.head))}>
        {headLabel(shownHead.layer, shownHead.head)} is my guess
      </Button>
    );
  return (
    <form class="bl-lesson-guess">
      <input
        type="text"
        {...(step.predict === "number" ? { inputMode: "decimal", pattern: " *[0-9]*[.,]?[0-9]+ *" } : {})}
        title={step.predict === "number" ? "a number, such as 0.4" : "a word"}
        required
        aria-label="Your guess"
        value={typed.value}
        onInput={({ currentTarget }) => into(typed)(currentTarget.value)}
      />
      <Submit submit={() => take(typed.value.trim().replace(step.predict === "number" ? "," : "\n", "."))}>
        Guess
      </Submit>
    </form>
  );
}

/** Find or change something until the check holds: said while it is done. */
function Fulfil({ lesson, step, done }: ActProps & { done: Done | undefined }) {
  const view = useView();
  const { entered } = view.page.lesson;
  const { shownHead, overview } = view;
  const facts = factsOf(view);
  const check = verdict(step.tree as Tree, facts);
  const isNew = isSettled(view) && entered.value !== null && entered.value !== placeOf(view);
  const isDone = isNew && holds(check) && (!done || done.skipped === true);
  const where =
    step.act === "find" ? headLabel(shownHead.layer, shownHead.head) : overview.changes.map(({ label }) => label);
  useEffect(() => {
    if (isDone) keep(view, lesson, { guess: String(where), truth: String(where), right: true, skipped: false });
  }, [isDone]);
  return (
    <p
      class="bl-lesson-check"
      data-holds={holds(check)}
      title={/[<>]|argmax/.test(step.check!) ? `A number within ${TOLERANCE} of its threshold counts.` : undefined}
    >
      <code>{step.check}</code>
      <span>{check.why || `${holds(check) ? "Yes" : "Not yet"}${numbersIn(step.tree as Tree, facts)}.`}</span>
    </p>
  );
}

/** Something to write: kept, never graded. */
function Write({ lesson, done }: ActProps & { done: Done | undefined }) {
  const view = useView();
  const text = useSignal(String(done?.written ?? ""));
  return (
    <form class="bl-lesson-write">
      <textarea
        aria-label="Your answer"
        rows={4}
        maxLength={2000}
        value={text.value}
        onInput={({ currentTarget }) => into(text)(currentTarget.value)}
      />
      <Submit submit={() => keep(view, lesson, { written: text.value.trim(), skipped: false })}>
        {done ? "Keep" : "Done"}
      </Submit>
    </form>
  );
}

const canShow = (view: View, step: Step) =>
  step.act === "predict"
    ? typeof outcomeOf(view, step, null) !== "string"
    : Boolean(step.show) || (step.act === "find" && isOfHeads(step.tree));

/** The truth without a guess; or the view in a state in which the step is done. */
function showMe(view: View, lesson: Lesson, step: Step): void {
  if (step.act === "predict") {
    const outcome = outcomeOf(view, step, null);
    if (typeof outcome === "string") return;
    keep(view, lesson, { truth: outcome.truth, shown: true, right: null });
    if (outcome.head) view.synced.put(outcome.head);
    return;
  }
  const state = step.show;
  const head = state ? null : headFor(view, step.tree as Tree);
  if (!state && !head) {
    keep(view, lesson, { truth: "No head of this model does, on this text.", shown: true, right: null });
    return;
  }
  const where = head && { layer: head[0], head: head[1] };
  keep(view, lesson, { shown: true, right: null, truth: where ? headLabel(...head) : "", skipped: false });
  if (where) view.synced.put(where);
  else void enter(view, { text: view.overview.text, text_pair: view.overview.text_pair, ...state });
}
