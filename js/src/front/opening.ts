// The head that a view opens on: once no more heads are run, the one that matters most of those that were, unless its
// reader has chosen another.
import { useEffect } from "preact/hooks";
import { isOfProgram, movedBy, placeIn } from "../kernel/opened";
import { isNothing } from "../paint/ranked";
import { type HeadsThatMatter, useHeads, useHeadsToCome } from "../state/frontanswers";
import { useView, type View } from "../state/view";

/** Whether a view stands where the program opened it, and nobody is doing anything with it either. */
export function isUntouched({ synced, overview, page }: View): boolean {
  const { factor, preview, word } = page.front;
  return (
    isOfProgram(placeIn(synced)) &&
    synced.layer_map.value === "" &&
    page.target.value === "" &&
    overview.changes.length === 0 &&
    factor.value === null &&
    preview.value === null &&
    word.value === null
  );
}

/** The first head of those that matter which the view may show, and the row that matters in it; null where none does,
 * and of a lone vector, whose view opens on a clear link between two words. */
export function placeOf({ kind, heads, rows }: HeadsThatMatter, layers: number[] | null, numbers: number[] | null) {
  const n = heads.findIndex(([l, h]) => (layers?.includes(l) ?? true) && (numbers?.includes(h) ?? true));
  const [layer, head, change] = heads[n] ?? [];
  if (kind === "embedding" || layer === undefined || head === undefined || isNothing(change!)) return null;
  return { layer, head, query: rows[n]! < 0 ? null : rows[n]!, key: null };
}

export function useOpening(): void {
  const view = useView();
  const heads = useHeads();
  const isComing = useHeadsToCome().isComing;
  const matter = heads.state === "answered" && !isComing ? heads.value : null;
  const mayMove = isUntouched(view);
  useEffect(() => {
    const { synced, history } = view;
    const place = matter && placeOf(matter, synced.include_layers.peek(), synced.include_heads.peek());
    if (!place || !isUntouched(view)) return; // now: a key may have been pressed since it was drawn
    if (place.layer === synced.layer.peek() && place.head === synced.head.peek()) return;
    synced.put(movedBy(placeIn(synced), place));
    history.absorb();
  }, [matter, mayMove]);
}
