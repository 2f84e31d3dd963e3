// Signals a frame later: what stands beside and below the head is drawn after it, so that no frame has to hold it all.
import { batch, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";

const LONGEST_WAIT = 200; // ms; a hidden page draws no frames

/** Do something once the next frame has been painted; who changes their mind calls what this gives. */
export function afterFrame(go: () => void): () => void {
  let frame = 0;
  const once = () => {
    cancel();
    go();
  };
  const timer = setTimeout(once, LONGEST_WAIT);
  frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(once); // the first frame has ended when the second begins
  });
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  return cancel;
}

/**
 * Copies that follow together, once the frame that shows a change has been painted; at once where `subject` changes:
 * what is asked about another text must not wait.
 */
export function aFrameLater<T extends Record<string, ReadonlySignal>>(signals: T, subject: ReadonlySignal): T {
  const now = () => Object.entries(signals).map(([name, one]) => [name, one.value] as const);
  const copies = Object.fromEntries(untracked(now).map(([name, value]) => [name, signal(value)]));
  let cancel = () => {};
  let previous: unknown = subject.peek();
  const follow = () => {
    cancel();
    batch(() => {
      for (const [name, value] of untracked(now)) copies[name]!.value = value;
    });
  };
  effect(() => {
    const isOther = subject.value !== previous;
    previous = subject.value;
    if (now().every(([name, value]) => copies[name]!.peek() === value)) return cancel();
    if (isOther) return follow();
    cancel();
    cancel = afterFrame(follow);
  });
  return copies as unknown as T;
}
