// Questions about all layers of a long text are asked layer by layer, all kinds in turn, the layer of the head first.
// Another question waits for one layer at most, or for some of its heads. The queue ends with another text, with a closed
// view, or when nobody looks at the answer any more.

import { type LayerQueue, PATIENCE } from "../kernel/answers";
import type { Arrays } from "../kernel/wire";
import type { Overview } from "./overview";
import type { Store } from "./store";

type Fields = Record<string, unknown> & { labels?: Record<string, unknown[]> };

/** Room for all layers: not a number, or nothing, where none has come. */
function roomFor(layers: number, part: Arrays): Arrays {
  const room = Object.entries(part).map(([name, { dtype, shape, data }]) => {
    const stack = new (data.constructor as Float32ArrayConstructor)(layers * data.length);
    if (dtype.startsWith("f")) stack.fill(Number.NaN);
    return [name, { dtype, shape: [layers, ...shape.slice(1)], data: stack }];
  });
  return Object.fromEntries(room);
}

/** Fields with those of one layer more: labels are lists of layers, with holes. */
function joined(all: Fields, part: Fields, layer: number): Fields {
  if (!part.labels) return part;
  const labels = Object.entries(part.labels).map(([view, [ofLayer]]) => {
    const list = all.labels?.[view]?.slice() ?? [];
    list[layer] = ofLayer;
    return [view, list];
  });
  return { ...part, labels: Object.fromEntries(labels) };
}

/** How layers are asked for. `isSeen`: whether a layer is on the screen, which goes before those that are not. */
export function layerQueue(
  { answers, synced }: Pick<Store, "answers" | "synced">,
  isSeen: (layer: number) => boolean = () => true,
): LayerQueue {
  let turn: Promise<unknown> = Promise.resolve();
  const distance = (layer: number) => {
    const isLeftOut = synced.include_layers.peek()?.includes(layer) === false;
    return layer === synced.layer.peek() ? 0 : isLeftOut ? 3 : isSeen(layer) ? 1 : 2;
  };
  return async (name, kind, subject, args) => {
    const overview = subject as Overview;
    const isOverview = kind.op === "pictures"; // its arrays are the overview's own
    let arrays: Arrays | null = isOverview ? overview.arrays : null;
    let fields: Fields = {};
    let pending = isOverview ? overview.pending : Array.from({ length: overview.n_layers }, (_, layer) => layer);
    const refuse = (reason: string) => answers.put(name, { state: "refused", reason }, 0);
    const next = async () => {
      if (!answers.isWanted(name)) return false;
      const layer = pending.reduce((best, one) => (distance(one) < distance(best) ? one : best));
      const reply = answers.plain(kind.op, subject, { ...args, layer }, (answer) => answer);
      answers.link.follow(name, reply, PATIENCE, refuse, !kind.spoken);
      const { value: layerRead } = await reply;
      if (layerRead.fields.again) return true; // some of its heads are done
      arrays ??= roomFor(overview.n_layers, layerRead.arrays);
      for (const [key, { data }] of Object.entries(layerRead.arrays)) arrays[key]!.data.set(data, layer * data.length);
      fields = joined(fields, layerRead.fields, layer);
      pending = pending.filter((one) => one !== layer);
      const bytes = Object.values(arrays).reduce((sum, { data }) => sum + data.byteLength, 0);
      const value = kind.read({ fields, arrays, pending } as Parameters<typeof kind.read>[0], args);
      answers.put(name, { state: "answered", value, pending }, isOverview ? 0 : bytes);
      return pending.length > 0;
    };
    try {
      for (let isPending = true; isPending; ) {
        const request = turn.then(next);
        turn = request.catch(() => undefined);
        isPending = await request;
      }
    } catch (error) {
      refuse((error as Error).message);
    }
  };
}
