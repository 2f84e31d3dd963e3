// Whether the heads and the matrix stand below the sentence and its answer, and which question stands between the two.
import { batch } from "@preact/signals";
import { lessonOf } from "../state/lesson";
import type { View } from "../state/view";

/** What is asked of a weight: each answer opens as a leaf at the place of its number. */
const LEAVES = ["neurons", "why", "matter"];

/** Whether they cannot be folded away: there is nothing else to see, or a lesson points at them. */
export const isUnfoldedForGood = ({ synced, overview }: View): boolean =>
  !synced.parts.value.includes("header") || !overview.lens || lessonOf(synced) !== null;

/** The leaf that is open, "" for none; where all heads stand below, the whole of its answer stands there instead. */
export function leafOf(view: View): string {
  const { synced, page, overview } = view;
  const name = synced.view.value;
  const hasPlace = !page.allHeads.value && !overview.patches && !isUnfoldedForGood(view);
  return hasPlace && LEAVES.includes(name) ? name : "";
}

/** Whether they are seen: so, or a tab that is open is about them, or they were asked for. */
export const isUnfolded = (view: View): boolean =>
  isUnfoldedForGood(view) || view.page.allHeads.value || (Boolean(view.synced.view.value) && !leafOf(view));

/** Whether the pictures of all heads stand under those that matter; what is asked of a weight takes their place. */
export const hasHeadsLeaf = (view: View): boolean =>
  view.page.headsLeaf.value && !view.synced.view.value && !isUnfolded(view);

/** Whether sentence and answer give way to what is open below them. */
export const isBrief = (view: View): boolean =>
  isUnfoldedForGood(view) || (isUnfolded(view) && Boolean(view.synced.view.value));

/** Show all heads as a leaf, or fold them away with what is open among them. */
export const fold = ({ page, synced }: View, isFolded: boolean): void =>
  batch(() => {
    page.headsLeaf.value = !isFolded;
    page.allHeads.value = false;
    if (synced.view.value !== "") synced.put({ view: "" });
  });
