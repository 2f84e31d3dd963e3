// What was done in a lesson of a page without a kernel: kept in the browser where the frame has storage, so that it is
// still there when the page is opened again. A kernel keeps it in its trait.
import { effect } from "@preact/signals";
import type { Done, Lesson } from "../state/lesson";
import type { View } from "../state/view";

const nameOf = (lesson: Lesson) => `bertlens lesson ${location.pathname} ${lesson.title}`;

/** The browser's storage; null in a frame that has none, such as a sandboxed one. */
export function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

/** Bring back what was done, and keep what is done from here on; what ends that. */
export function remember({ synced, link }: View, lesson: Lesson): () => void {
  let end = () => {};
  let isOver = false;
  void link.met.then((hasKernel) => {
    if (isOver || (hasKernel && !link.page.peek())) return;
    const record = doneBefore(lesson);
    if (record.length > 0 && !synced.lesson_done.peek()?.length) synced.put({ lesson_done: record });
    end = effect(() => {
      const record = synced.lesson_done.value ?? [];
      try {
        if (record.length > 0) storage()?.setItem(nameOf(lesson), JSON.stringify(record));
        else storage()?.removeItem(nameOf(lesson));
      } catch {
        // it is full: what was done is in the page
      }
    });
  });
  return () => {
    isOver = true;
    end();
  };
}

function doneBefore({ steps, ...lesson }: Lesson): Done[] {
  try {
    const entries: unknown = JSON.parse(storage()?.getItem(nameOf({ ...lesson, steps })) ?? "[]");
    const isOf = (one: Done) => Number.isInteger(one?.step) && steps[Number(one.step) - 1] !== undefined;
    return Array.isArray(entries) ? entries.filter(isOf) : [];
  } catch {
    return [];
  }
}
