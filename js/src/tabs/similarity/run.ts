// Two texts that each are a run of their own, and the run of either of them alone.
import { batch } from "@preact/signals";
import { SETTINGS } from "../../generated/vocabulary";
import { visit } from "../../state/page";
import type { View } from "../../state/view";

/** Show why two texts are similar; the tasks are those of the texts before. */
export function compareTexts(
  { page }: View,
  a: string,
  b: string,
  [task_a, task_b]: [string, string] = ["", ""],
): void {
  batch(() => {
    page.similarTo.value = { a, b, task_a, task_b };
    page.similarPair.value = SETTINGS.similar_pair;
  });
}

/** Run the first text, and show it beside the second, which is read on its own; without a second there is one run. */
export async function runApart(view: View, a: string, b: string): Promise<void> {
  const { page, synced } = view;
  await view.run(a, "");
  batch(() => {
    page.similarTo.value = SETTINGS.similar_to;
    if (b.trim()) {
      compareTexts(view, a, b);
      visit(view, "similarity");
    } else if (synced.view.value === "similarity") synced.put({ view: "" });
  });
}

/** The run of a text with a token of it pinned, and why it looks where it does. */
export async function openRun(view: View, text: string, query: number): Promise<void> {
  const { synced, overview, page } = view;
  if (overview.text !== text || overview.text_pair) await view.run(text, "");
  batch(() => {
    const tabs = overview.tabs.map(({ name }) => name);
    page.allHeads.value = true;
    synced.parts.value = ["header", "atlas", "head", ...tabs]; // of this page alone
    visit(view, "why", { query, key: null });
  });
}
