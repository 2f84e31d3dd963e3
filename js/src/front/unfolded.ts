// Whether the heads and the matrix stand below the sentence and its answer.
import { batch } from "@preact/signals";
import { lessonOf } from "../state/lesson";
import type { View } from "../state/view";

/** Whether they cannot be folded away: there is nothing else to see, or a lesson points at them. */
export const isUnfoldedForGood = ({ synced, overview }: View): boolean =>
  !synced.parts.value.includes("header") || !overview.lens || lessonOf(synced) !== null;

/** Whether they are seen: so, or a tab that is open is about them, or they were asked for. */
export const isUnfolded = (view: View): boolean =>
  isUnfoldedForGood(view) || Boolean(view.synced.view.value) || view.page.allHeads.value;

/** Unfold them, or fold them away with what is open among them. */
export const fold = ({ page, synced }: View, isFolded: boolean): void =>
  batch(() => {
    page.allHeads.value = !isFolded;
    if (isFolded && synced.view.value !== "") synced.put({ view: "" });
  });
