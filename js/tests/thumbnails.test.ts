// Thumbnails that arrive layer by layer.
import { expect, it } from "vitest";
import { statistics } from "../src/parts/phrasing";
import { layerQueue } from "../src/state/layerqueue";
import { askForThumbnails } from "../src/state/thumbnails";
import { bench, HEADS, LAYERS, overviewOf, pack, settled, TOKENS } from "./fake";

const S = TOKENS.length;
const pictures = (layer: number, names: number) => {
  const made = pack({
    thumbs: { shape: [HEADS, S, S], data: new Uint8Array(HEADS * S * S).fill(10 + layer) },
    thumb_max: { shape: [HEADS], data: new Float32Array(HEADS).fill(layer + 0.5) },
    stats: { shape: [HEADS, names], data: new Float32Array(HEADS * names).fill(layer / 10) },
  });
  return { fields: { layer, arrays: made.index }, buffers: [made.data] };
};

async function open(selected = {}) {
  const b = bench(overviewOf(TOKENS, { pending: Array.from({ length: LAYERS }, (_, l) => l) }), selected);
  b.store.answers.setLayerQueue(layerQueue(b.store));
  const end = askForThumbnails(b.store);
  await settled();
  const asked = () => b.model.asked.filter(({ message }) => message.op === "pictures");
  const give = async () => {
    const one = asked()[0]!;
    b.model.asked.splice(b.model.asked.indexOf(one), 1);
    const { stats } = b.store.shownHead.value.overview;
    const { fields, buffers } = pictures(one.message.layer as number, stats.length);
    one.give(fields, buffers);
    await settled();
  };
  return { ...b, end, asked, give };
}

it("are asked for one layer at a time, the open head's first", async () => {
  const { asked, give, store } = await open({ layer: 1 });
  const order: unknown[] = [];
  while (asked().length > 0) {
    expect(asked()).toHaveLength(1);
    order.push(asked()[0]!.message.layer);
    await give();
  }
  expect(order).toEqual([1, 0, 2]);
  expect(store.grown.value.now.pending).toEqual([]); // drawn once the head that was asked for is here
});

it("are drawn as they arrive, and nothing else changes", async () => {
  const { asked, give, store } = await open();
  const { thumbs, overview, weights } = store.shownHead.value;
  expect(statistics(overview)).toEqual(overview.stats);
  await give();
  const now = store.shownHead.value;
  expect(now.thumbs).not.toBe(thumbs); // who looks at it draws again
  expect(now.weights).toBe(weights);
  expect(now.overview.pending).toEqual([1, 2]);
  expect(now.overview.queries).toBe(overview.queries);
  const size = HEADS * S * S;
  expect(Array.from(now.thumbs.data.subarray(0, size))).toEqual(Array(size).fill(10));
  expect(now.thumbs.max[0]).toBe(0.5);
  expect(now.overview.statistic(0, HEADS - 1, overview.stats[0]!)).toBe(0);
  await give();
  expect(store.shownHead.value.overview.statistic(1, 0, overview.stats[0]!)).toBeCloseTo(0.1);
  expect(asked()).toHaveLength(1);
});

it("are asked for no more when the view is closed or has another text", async () => {
  const closed = await open();
  closed.end();
  await closed.give();
  expect(closed.asked()).toEqual([]);
  expect(closed.store.shownHead.value.overview.pending).toEqual([0, 1, 2]);

  const changed = await open();
  const late = changed.asked()[0]!;
  changed.model.set("overview", overviewOf(["[CLS]", "x", "[SEP]"], { trace: "other" }));
  changed.model.asked.splice(0);
  const { fields, buffers } = pictures(0, 2);
  late.give(fields, buffers);
  await settled();
  expect(changed.asked()).toEqual([]);
  expect(changed.store.shownHead.value.overview.trace).toBe("other");
});
