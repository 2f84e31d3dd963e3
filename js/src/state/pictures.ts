// Thumbnails and statistics of a long text: asked for layer by layer once the head is on the screen, the open head's layer
// first. Another text, or a view that is closed, asks no more.
import { effect } from "@preact/signals";
import type { Arrays } from "../wire";
import type { Overview } from "./overview";
import type { Store } from "./store";

/** The overview with one layer more. Its arrays are the same ones, filled; who draws them looks at `thumbs`. */
function withPictures(overview: Overview, layer: number, { thumbs, thumb_max, stats }: Arrays): Overview {
  const put = (into: Uint8Array | Float32Array, part: Arrays[string]) => into.set(part.data, layer * part.data.length);
  put(overview.thumbs.data, thumbs!);
  put(overview.thumbs.max, thumb_max!);
  put(overview.numbers, stats!);
  const pending = overview.pending.filter((one) => one !== layer);
  return { ...overview, pending, thumbs: { ...overview.thumbs } };
}

/** Ask until nothing is pending; what ends it. */
export function askForPictures({ answers, grown, synced }: Pick<Store, "answers" | "grown" | "synced">): () => void {
  let isOver = false;
  const fill = async (overview: Overview) => {
    const isWanted = () => !isOver && grown.peek().of === overview;
    while (isWanted()) {
      const { pending } = grown.peek().now;
      const open = synced.layer.peek();
      const layer = pending.includes(open) ? open : pending[0];
      if (layer === undefined) return;
      const { value } = await answers.plain("pictures", overview, { layer }, ({ arrays }) => arrays);
      if (isWanted()) grown.value = { of: overview, now: withPictures(grown.peek().now, layer, value) };
    }
  };
  let before: Overview | null = null;
  const end = effect(() => {
    const { of } = grown.value;
    if (of !== before) fill(of).catch(() => undefined); // no kernel, or it has another text by now
    before = of;
  });
  return () => {
    isOver = true;
    end();
  };
}
