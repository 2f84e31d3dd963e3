// The chosen head stays in sight where the atlas scrolls: it may be chosen elsewhere, in a table or by a key.
import { useEffect } from "preact/hooks";
import { useView } from "../state/view";

/** Scrolls the atlas, never the page around it, to the chosen head, should it lie outside. */
export function useKeepInView() {
  const { root, page, shownHead } = useView();
  useEffect(() => {
    const frame = root.current?.querySelector(".bl-atlas .bl-scroll");
    const button = frame?.querySelector(".bl-chosen")?.getBoundingClientRect();
    if (!frame || !button) return;
    const { top, bottom, left, right } = frame.getBoundingClientRect();
    if (button.top < top || button.bottom > bottom) frame.scrollTop += (button.top + button.bottom - top - bottom) / 2;
    if (button.left < left || button.right > right) frame.scrollLeft += (button.left + button.right - left - right) / 2;
  }, [shownHead.layer, shownHead.head, page.atlasOrder.value]);
}
