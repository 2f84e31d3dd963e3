// A lesson beside the view: which step, its text and what to do; by mouse, by keys, by a list of all steps.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { units } from "../compute/grid";
import { Button, into } from "../parts/controls";
import { Token } from "../parts/token";
import { isPlain } from "../state/cloze";
import { doneIn, isAboutAnswer, type Lesson, lessonOf } from "../state/lesson";
import { useView } from "../state/view";
import { Act } from "./acts";
import { needsIn, withheldIn } from "./facts";
import { go } from "./go";
import { Markdown } from "./markdown";
import { remember } from "./remember";
import { Result } from "./result";

/** What a view shows, with its lesson where there is one. */
export function WithLesson({ children }: { children: ComponentChildren }) {
  const view = useView();
  const lesson = lessonOf(view.synced);
  useEffect(() => {
    if (!lesson) return;
    view.page.lesson.hints.value = []; // those of another lesson
    go(view, lesson, 0);
    return remember(view, lesson);
  }, [lesson]);
  const frame = useRef<HTMLDivElement>(null);
  const large = useSignal(false);
  useEffect(() => (large.value && frame.current ? enlarge(frame.current, large) : undefined), [large.value]);
  const n = view.page.lesson.at.value;
  const withheld = lesson ? withheldIn(view, lesson) : "";
  const needs = needsIn(lesson?.steps[n]);
  const isHidden = withheld === "key" || withheld === "number";
  const previous = useRef({ n: 0, withheld });
  useEffect(() => {
    const was = previous.current;
    previous.current = { n, withheld };
    const isNext = was.n !== n;
    const selector = isNext ? partFor(withheld, needs) : was.withheld && !withheld ? partFor(was.withheld) : "";
    if (selector) frame.current?.querySelector(selector)?.scrollIntoView({ block: "nearest" });
  }, [n, withheld]);
  if (!lesson) return <>{children}</>;
  return (
    <div
      ref={frame}
      class="bl-lessoned"
      data-withheld={withheld}
      data-needs={needs}
      data-answer={isAboutAnswer(lesson, n, !isPlain(view))}
    >
      <Panel lesson={lesson} large={large} />
      <div class="bl-lesson-view">
        {children}
        {isHidden && <Asked />}
      </div>
    </div>
  );
}

/** What has to be in sight: to act in a step, or, where no needs are given, to see what was withheld. */
function partFor(withheld: string, needs?: string): string {
  if (withheld === "word" || needs?.includes("text") || (needs !== undefined && /key|number/.test(withheld)))
    return ".bl-title";
  return needs === "heads" ? ".bl-atlas" : needs === undefined ? ".bl-head" : "";
}

/** In place of a picture that is withheld: the sentence, with the word whose row is asked about. */
function Asked() {
  const { overview, focus } = useView();
  const isOf = (pieces: number[]) => focus.pinnedQuery && pieces.includes(focus.query);
  return (
    <div class="bl-lesson-asked" aria-hidden="true">
      <p>
        {units(overview.queries, true)
          .filter(({ special }) => !special)
          .map(({ label, pieces }) => (
            <span key={pieces[0]} class={isOf(pieces) ? "bl-lesson-row" : ""}>
              <Token text={label} />
            </span>
          ))}
      </p>
      <p class="bl-muted">Your guess first: the picture comes after it.</p>
    </div>
  );
}

/** Where the lesson is of another model than the view: that it is, and a button that runs that model. */
function OtherModel({ lesson }: { lesson: Lesson }) {
  const view = useView();
  const { overview, link, request, page } = view;
  const run = async () => {
    await request("lesson_model", { trace: overview.trace, map: overview.map }).then(
      () => go(view, lesson, page.lesson.at.peek()),
      () => undefined, // the link says why not
    );
  };
  return (
    <p class="bl-muted">
      Written for {lesson.model}; this is {overview.model}. Checks hold for it too; what the text says of heads may not.{" "}
      {lesson.embedded && link.kernel.value && !link.page.value && (
        <Button class="bl-link" onClick={run}>
          Run {lesson.model}
        </Button>
      )}
    </p>
  );
}

/** Lesson and view on the whole screen, for a projector, until Escape; what ends it. */
function enlarge(frame: HTMLElement, large: Signal<boolean>): () => void {
  let mine = false;
  const changed = () => {
    if (mine && !document.fullscreenElement) large.value = false; // Escape left the full screen
    mine = Boolean(document.fullscreenElement);
  };
  const escaped = ({ key }: KeyboardEvent) => {
    if (key === "Escape") large.value = false;
  };
  frame.popover = "manual";
  frame.showPopover();
  document.addEventListener("fullscreenchange", changed);
  window.addEventListener("keydown", escaped, true);
  document.documentElement.requestFullscreen?.().catch(() => undefined); // a frame that may not: then all of the frame
  return () => {
    document.removeEventListener("fullscreenchange", changed);
    window.removeEventListener("keydown", escaped, true);
    if (mine) document.exitFullscreen().catch(() => undefined);
    frame.hidePopover();
    frame.popover = null;
  };
}

function Panel({ lesson, large }: { lesson: Lesson; large: Signal<boolean> }) {
  const view = useView();
  const notes = useSignal(false);
  const { synced, page, overview } = view;
  const n = page.lesson.at.value;
  const { steps, title, lang, model } = lesson;
  const step = steps[n]!;
  const marked = steps.filter((_, at) => doneIn(synced, at)).length;
  const live = view.link.kernel.value;
  useEffect(() => {
    if (live && page.lesson.refused.peek()) go(view, lesson, page.lesson.at.peek());
  }, [live]);
  const move = (by: number) => go(view, lesson, n + by);
  const onward = useRef<HTMLButtonElement>(null);
  const isFirst = useRef(true);
  const isDone = doneIn(synced, n) !== undefined;
  useEffect(() => {
    // what had the focus is gone, such as the word that was guessed: the keys stay with the lesson
    if (!isFirst.current && document.activeElement === document.body) onward.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [n, isDone]);
  return (
    <section
      class="bl-lesson"
      aria-label={`Lesson: ${title}`}
      onKeyDown={(event) => {
        if ((event.target as Element).closest("input, textarea, select") || event.altKey || event.ctrlKey) return;
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        move(by);
      }}
    >
      <header>
        <b lang={lang}>{title}</b>
        <span class="bl-spacer" />
        <span class="bl-group">
          <span class="bl-muted bl-lesson-place">
            step {n + 1} of {steps.length}
          </span>
          <Button class="bl-button" aria-label="Step before" disabled={n === 0} onClick={() => move(-1)}>
            ‹
          </Button>
          <button
            ref={onward}
            type="button"
            class={(!step.act || isDone) && n + 1 < steps.length ? "bl-button bl-primary" : "bl-button"}
            aria-label="Next step"
            disabled={n + 1 === steps.length}
            onClick={() => move(1)}
          >
            ›
          </button>
        </span>
      </header>
      <progress aria-label="Steps done" value={Math.max(marked, n)} max={steps.length} />
      <div class="bl-lesson-step" lang={lang} dir="auto">
        <Markdown text={step.text} />
        {notes.value && step.notes && (
          <div class="bl-lesson-notes">
            <span class="bl-caps">for the teacher</span>
            <Markdown text={step.notes} />
          </div>
        )}
        <Act lesson={lesson} step={step} n={n} />
        {n + 1 === steps.length && marked > 0 && <Result lesson={lesson} />}
      </div>
      {model && model !== overview.model && <OtherModel lesson={lesson} />}
      <label class="bl-lesson-jump">
        <span class="bl-caps">all steps</span>
        <select value={String(n)} onChange={({ currentTarget }) => go(view, lesson, Number(currentTarget.value))}>
          {steps.map((one, at) => (
            <option key={at} value={String(at)}>
              {`${at + 1} ${doneIn(synced, at) ? "✓ " : ""}${one.title}`}
            </option>
          ))}
        </select>
      </label>
      <div class="bl-lesson-help">
        <Button
          class="bl-button"
          title="Lesson and view on the whole screen"
          aria-pressed={large.value}
          onClick={() => into(large)(!large.value)}
        >
          {large.value ? "Small" : "Present"}
        </Button>
        {steps.some((one) => one.notes) && (
          <Button
            class="bl-button"
            title="What stands here for the teacher"
            aria-pressed={notes.value}
            onClick={() => into(notes)(!notes.value)}
          >
            Notes
          </Button>
        )}
      </div>
    </section>
  );
}
