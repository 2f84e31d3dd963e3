// What is of all layers of a long text comes while its view is open: the atlas fills.
import { useEffect } from "preact/hooks";
import { layerQueue } from "../state/layerqueue";
import { askForThumbnails } from "../state/thumbnails";
import { useView } from "../state/view";

export function Pictures() {
  const view = useView();
  useEffect(() => {
    view.answers.setLayerQueue(layerQueue(view, (layer) => isSeen(view.root.current, layer)));
    return askForThumbnails(view);
  }, []);
  return null;
}

/** Whether any of a layer's heads is in sight, in the page and in the part of the atlas that is scrolled to. */
function isSeen(root: Element | null, layer: number): boolean {
  const head = root?.querySelector(`[data-head^="${layer}-"]`);
  const frame = head?.closest(".bl-scroll")?.getBoundingClientRect();
  if (!head || !frame) return false;
  const { top, bottom } = head.getBoundingClientRect();
  return bottom > Math.max(0, frame.top) && top < Math.min(innerHeight, frame.bottom);
}
