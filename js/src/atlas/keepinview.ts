// The chosen head stays in sight where the atlas scrolls: it may be chosen elsewhere, in a table or by a key.
import { useEffect } from "preact/hooks";
import { useView } from "../state/view";

/** Scrolls the atlas, never the page around it, to the chosen head, should it lie outside. */
export function useKeepInView() {
  const { root, page, shown } = useView();
  useEffect(() => {
    const frame = root.current?.querySelector(".bl-atlas .bl-scroll");
    const chosen = frame?.querySelector(".bl-chosen")?.getBoundingClientRect();
    if (!frame || !chosen) return;
    const { top, bottom, left, right } = frame.getBoundingClientRect();
    if (chosen.top < top || chosen.bottom > bottom) frame.scrollTop += (chosen.top + chosen.bottom - top - bottom) / 2;
    if (chosen.left < left || chosen.right > right) frame.scrollLeft += (chosen.left + chosen.right - left - right) / 2;
  }, [shown.layer, shown.head, page.atlasOrder.value]);
}
