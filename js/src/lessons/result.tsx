// What was done in a lesson as one line of text that a teacher can collect: bertlens/lessons/results.py reads it.
import { useSignal } from "@preact/signals";
import { Button, into } from "../parts/controls";
import { useCopy } from "../parts/copy";
import type { Done, Lesson } from "../state/lesson";
import { useView } from "../state/view";
import { go } from "./go";
import { storage } from "./remember";

const MARK = "bertlens-lesson-1";

/** FNV-1a, 32 bits: it finds a line that was cut or mistyped, and proves nothing. */
export function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** The line: a mark, what was done in base64, and a checksum of that. */
export function lineOf({ title }: Lesson, name: string, done: Done[]): string {
  const outcomes = done.map(({ said: _, ...one }) => one);
  const bytes = new TextEncoder().encode(JSON.stringify({ lesson: title, name, done: outcomes }));
  const body = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `${MARK}:${body}:${checksum(body)}`;
}

export function Result({ lesson }: { lesson: Lesson }) {
  const view = useView();
  const { synced, link, page } = view;
  const name = useSignal("");
  const [message, copyText] = useCopy();
  return (
    <div class="bl-lesson-guess">
      <input
        type="text"
        aria-label="Your name, or none"
        placeholder="your name, or none"
        maxLength={60}
        value={name.value}
        onInput={({ currentTarget }) => into(name)(currentTarget.value)}
      />
      <Button class="bl-button" onClick={() => copyText(lineOf(lesson, name.value.trim(), synced.lesson_done.value))}>
        Copy my result
      </Button>
      <span class="bl-muted">{message}</span>
      <small>
        One line: the name, your guesses and what you wrote.{" "}
        {link.kernel.value && !link.page.value
          ? "It is kept in the notebook's kernel."
          : storage()
            ? "It is kept in this browser."
            : "It is kept in this page only; close it and it is gone."}
      </small>
      <Button
        class="bl-link"
        onClick={() => {
          synced.put({ lesson_done: [] });
          page.lesson.hints.value = [];
          go(view, lesson, 0);
        }}
      >
        begin anew
      </Button>
    </div>
  );
}
