// Back and forward through the states of a view. Another text begins anew: its tokens are others.
import { computed, effect, signal } from "@preact/signals";

const MOST_STEPS = 100; // steps kept
const TOGETHER = 1000; // ms within which the moves of a slider are one step
const SLID = new Set(["atlas_minimum", "line_minimum", "thresholds"]);

type State = Record<string, unknown>;

export interface History {
  canUndo: { readonly value: boolean };
  canRedo: { readonly value: boolean };
  undo(): void;
  redo(): void;
  /** What the program itself has just done is no step. */
  absorb(): void;
  /** Begin to follow; what ends it. */
  watch(): () => void;
}

/** `now` and `subject` are read as signals: the state, and what it is about. */
export function createHistory(now: () => State, subject: () => string, restore: (state: State) => void): History {
  const past = signal<string[]>([]);
  const future = signal<string[]>([]);
  let [current, about, slid] = ["", "", 0];

  const record = () => {
    const text = JSON.stringify(now());
    if (subject() !== about) {
      [current, about] = [text, subject()];
      past.value = future.value = [];
    }
    if (text === current) return;
    const isSlide = differing(JSON.parse(current), JSON.parse(text)).every((name) => SLID.has(name));
    if (!isSlide || Date.now() - slid > TOGETHER) past.value = [...past.peek(), current].slice(-MOST_STEPS);
    slid = isSlide ? Date.now() : 0;
    future.value = [];
    current = text;
  };
  const step = (from: typeof past, to: typeof past) => () => {
    record(); // what changed just now
    const text = from.peek().at(-1);
    if (text === undefined) return;
    from.value = from.peek().slice(0, -1);
    to.value = [...to.peek(), current];
    [current, slid] = [text, 0];
    restore(JSON.parse(text));
  };
  return {
    canUndo: computed(() => past.value.length > 0),
    canRedo: computed(() => future.value.length > 0),
    undo: step(past, future),
    redo: step(future, past),
    absorb: () => {
      current = JSON.stringify(now());
    },
    watch: () =>
      effect(() => {
        now();
        subject();
        queueMicrotask(record); // what changes together is one step
      }),
  };
}

const differing = (a: State, b: State): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]),
  );
