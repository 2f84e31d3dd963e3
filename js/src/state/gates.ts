// Gate labels and scores of all heads, as the kernel gives them for the thresholds in force.
import { useComputed } from "@preact/signals";
import { useAnswer } from "./answer";
import type { Page } from "./page";
import type { Store } from "./store";

export interface Gates {
  names: string[]; // of the scores
  labels: { full: string[][]; content: string[][] }; // [layer][head]
  threshold: number;
  margin: number;
  full: Float32Array; // (L·H·G)
  content: Float32Array;
}

/** A letter and a mark for each gate: told apart without colour. */
export const GATE_SIGNS: Record<string, [letter: string, mark: string]> = {
  directional: ["D", "↓"],
  open: ["O", "○"],
  closed: ["C", "▮"],
  "forward contextual": ["F", "▸"],
  "backward contextual": ["B", "◂"],
  cluster: ["K", "▚"],
  instance: ["I", "∴"],
  self: ["S", "◇"],
  bidirectional: ["T", "◆"],
  mixed: ["M", "~"],
  undefined: ["?", ""],
};

export const gateSign = (label: string) => GATE_SIGNS[label] ?? ["?", ""];

/** The gates of the trace shown, null until they are here or where there are none. */
export function useGates(store: Store, page: Page): Gates | null {
  const [threshold, margin] = page.thresholds.value;
  const there = useComputed(() => store.shown.value.picture.gates).value;
  return useAnswer(
    store,
    there ? "gates" : null,
    ({ fields, arrays }) => ({
      ...(fields as unknown as Gates),
      full: arrays.full!.data as Float32Array,
      content: arrays.content!.data as Float32Array,
    }),
    { threshold, margin },
  );
}
