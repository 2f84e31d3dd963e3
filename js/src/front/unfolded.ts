// Whether the heads and the matrix stand below the sentence and its answer.
import type { View } from "../state/view";

/** Whether all heads and the matrix are seen: asked for, or there is nothing else to see, or something in them is pointed at. */
export const isUnfolded = ({ synced, overview, page }: View): boolean =>
  page.allHeads.value ||
  synced.view.value !== "" ||
  !synced.parts.value.includes("header") ||
  !overview.lens ||
  Object.keys(synced.lesson.value).length > 0;
