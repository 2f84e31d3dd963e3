// A lesson beside the view: which step, its text and what to do; by mouse, by keys, by a list of all steps.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { into } from "../parts/controls";
import { doneIn, type Lesson, lessonOf } from "../state/lesson";
import { useView } from "../state/view";
import { Act } from "./acts";
import { withheldIn } from "./facts";
import { go } from "./go";
import { Markdown } from "./markdown";
import { Result } from "./result";

/** What a view shows, with its lesson where there is one. */
export function WithLesson({ children }: { children: ComponentChildren }) {
  const view = useView();
  const lesson = lessonOf(view.synced);
  useEffect(() => {
    if (lesson) go(view, lesson, 0);
  }, [lesson]);
  const frame = useRef<HTMLDivElement>(null);
  const large = useSignal(false);
  useEffect(() => (large.value && frame.current ? enlarge(frame.current, large) : undefined), [large.value]);
  if (!lesson) return <>{children}</>;
  return (
    <div ref={frame} class="bl-lessoned" data-withheld={withheldIn(view, lesson)}>
      <Panel lesson={lesson} large={large} />
      <div class="bl-lesson-view">{children}</div>
    </div>
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
          <button type="button" class="bl-button" aria-label="Step before" disabled={n === 0} onClick={() => move(-1)}>
            ‹
          </button>
          <button
            type="button"
            class="bl-button"
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
      {model && n === 0 && model !== overview.model && (
        <p class="bl-muted">
          Written for {model}: here is {overview.model}. Checks hold for it too; what the text says of heads may not.
        </p>
      )}
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
        <button
          type="button"
          class="bl-button"
          title="Lesson and view on the whole screen"
          aria-pressed={large.value}
          onClick={() => into(large)(!large.value)}
        >
          {large.value ? "Small" : "Present"}
        </button>
        {steps.some((one) => one.notes) && (
          <button
            type="button"
            class="bl-button"
            title="What stands here for the teacher"
            aria-pressed={notes.value}
            onClick={() => into(notes)(!notes.value)}
          >
            Notes
          </button>
        )}
      </div>
    </section>
  );
}
