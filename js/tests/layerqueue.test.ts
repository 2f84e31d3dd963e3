// What is of all layers of a long text: asked for layer by layer, all kinds in turn, what is seen first.
import { effect } from "@preact/signals";
import { expect, it } from "vitest";
import { GATE_LABELS, relabelled, USUAL } from "../src/atlas/gatemarks";
import { headValue, STATS, sentences } from "../src/atlas/headvalues";
import type { Traits } from "../src/generated/vocabulary";
import { arrived } from "../src/kernel/answers";
import { sentenceText } from "../src/parts/phrasing";
import { layerQueue } from "../src/state/layerqueue";
import { askForThumbnails } from "../src/state/thumbnails";
import type { View } from "../src/state/view";
import { bench, floats, HEADS, headAnswer, LAYERS, overviewOf, pack, settled, TOKENS } from "./fake";

const S = TOKENS.length;
const STATISTICS = ["entropy", "k90", "variation"];
const ALL = Array.from({ length: LAYERS }, (_, l) => l);

/** The kernel's answer about one layer, with numbers that tell it. */
function ofLayer(op: string, layer: number) {
  const full = new Float32Array(HEADS * 2).fill(layer / 10);
  const arrays = {
    pictures: {
      thumbs: { shape: [HEADS, S, S], data: new Uint8Array(HEADS * S * S).fill(10 + layer) },
      thumb_max: { shape: [HEADS], data: new Float32Array(HEADS).fill(layer) },
      stats: { shape: [HEADS, 8], data: new Float32Array(HEADS * 8).fill(layer / 10) },
    },
    thumbs: {
      thumbs: { shape: [1, HEADS, S, S], data: new Uint8Array(HEADS * S * S).fill(50 + layer) },
      thumb_max: { shape: [1, HEADS], data: new Float32Array(HEADS).fill(layer + 0.5) },
    },
    gates: { full: { shape: [1, HEADS, 2], data: full }, content: { shape: [1, HEADS, 2], data: full } },
    statistics: {
      stats: { shape: [1, HEADS, 3], data: new Float32Array(HEADS * 3).fill(layer / 10 + 0.5) },
      received: { shape: [1, HEADS, S], data: new Float32Array(HEADS * S).fill(layer) },
    },
  }[op]!;
  const labels = [Array(HEADS).fill(`gate of ${layer}`)];
  const own = op === "gates" ? { labels: { full: labels, content: labels }, names: ["a", "b"], least: 0.3 } : {};
  const { index, data } = pack(arrays as never);
  return { fields: { names: STATISTICS, ...own, arrays: index }, buffers: [data] };
}

async function open(selected: Partial<Traits> = {}, pending = ALL, isSeen?: (layer: number) => boolean) {
  const b = bench(overviewOf(TOKENS, { pending, measures: ["weight", "norm", "difference"] }), selected);
  b.store.answers.setLayerQueue(layerQueue(b.store, isSeen));
  const end = askForThumbnails(b.store);
  await settled();
  const kinds = ["pictures", "thumbs", "gates", "statistics"];
  const asked = () => b.model.asked.filter(({ message }) => kinds.includes(message.op));
  /** Answer what waits, and say what it was. */
  const give = async () => {
    const [one] = asked();
    if (!one) throw new Error("nothing waits");
    b.model.asked.splice(b.model.asked.indexOf(one), 1);
    const { op, layer } = one.message;
    const { fields, buffers } = ofLayer(op, layer as number);
    one.give(fields, buffers);
    await settled();
    return `${op} ${layer}`;
  };
  return { ...b, stop: end, asked, give };
}

/** Norms and the heads that a change of measure asks for. */
async function others({ model }: Awaited<ReturnType<typeof open>>) {
  for (const one of model.asked.splice(0)) {
    const { op, layer, head } = one.message;
    if (op === "norms") {
      const { fields, buffers } = floats("norms", [HEADS, S], new Float32Array(HEADS * S).fill(2));
      one.give(fields, buffers);
    } else if (op === "head") {
      const { fields, buffers } = headAnswer(TOKENS, layer as number, head as number);
      one.give(fields, buffers);
    } else model.asked.push(one);
  }
  await settled();
}

it("thumbnails by another measure come layer by layer, in turn with the weights', one question at a time", async () => {
  const b = await open({ measure: "norm", layer: 1 });
  await others(b);
  const order: string[] = [];
  while (b.asked().length > 0) {
    expect(b.asked()).toHaveLength(1);
    order.push(await b.give());
    const { thumbs } = b.store.shownHead.value;
    const came = order.filter((one) => one.startsWith("thumbs")).map((one) => Number(one.at(-1)));
    if (came.length === 0) continue;
    expect(thumbs.measure).toBe("norm");
    expect(thumbs.pending).toEqual(ALL.filter((l) => !came.includes(l)));
    for (const l of ALL) {
      expect(thumbs.data[l * HEADS * S * S]).toBe(came.includes(l) ? 50 + l : 0);
      if (came.includes(l)) expect(thumbs.max[l * HEADS]).toBe(l + 0.5);
    }
  }
  expect(order.slice(0, 2).sort()).toEqual(["pictures 1", "thumbs 1"]);
  expect([...order].sort()).toEqual(ALL.flatMap((l) => [`pictures ${l}`, `thumbs ${l}`]).sort());
});

it("are asked for no more when another measure is shown, and again when it comes back", async () => {
  const b = await open({ measure: "norm" });
  await others(b);
  while (!(await b.give()).startsWith("thumbs"));
  b.synced.put({ measure: "weight" });
  await settled();
  const rest: string[] = [];
  while (b.asked().length > 0) rest.push(await b.give());
  expect(rest.filter((one) => one.startsWith("thumbs")).length).toBeLessThanOrEqual(1); // the one on its way
  b.synced.put({ measure: "norm" });
  await settled();
  expect(b.asked()).toHaveLength(1);
  const again: string[] = [];
  while (b.asked().length > 0) again.push(await b.give());
  expect(again).toEqual(ALL.map((l) => `thumbs ${l}`));
  expect(b.store.shownHead.value.thumbs.pending).toEqual([]);
});

it("are asked for no more when there is another text", async () => {
  const b = await open({ measure: "norm" });
  await others(b);
  b.stop(); // its pictures
  while (!(await b.give()).startsWith("thumbs"));
  b.synced.put({ measure: "weight" });
  b.model.set("overview", overviewOf(["[CLS]", "x", "[SEP]"], { trace: "other" }));
  await settled();
  while (b.asked().length > 0) await b.give();
  expect(b.store.shownHead.value.overview.trace).toBe("other");
  expect(b.store.shownHead.value.thumbs.data[0]).not.toBe(50);
});

it("the head's layer goes first, then those in sight, last those that are left out", async () => {
  const asked = async (b: Awaited<ReturnType<typeof open>>) => {
    const order: string[] = [];
    while (b.asked().length > 0) order.push((await b.give()).replace("pictures ", ""));
    return order.join(" ");
  };
  expect(await asked(await open({ layer: 1 }, ALL, (layer) => layer === 2))).toBe("1 2 0");
  expect(await asked(await open({ layer: 2, include_layers: [1, 2] }, ALL))).toBe("2 1 0");
  expect(await asked(await open({ layer: 0 }, [1, 2]))).toBe("1 2"); // the others are here
});

it("what is of a text that came whole is asked for at once", async () => {
  const b = await open({ measure: "norm" }, []);
  expect(b.asked().map(({ message }) => [message.op, "layer" in message])).toEqual([["thumbs", false]]);
});

it("gates have labels of the layers that are here, and are whole when all are", async () => {
  const b = await open({}, [2]);
  const { overview } = b.store.shownHead.value;
  const seen: unknown[] = [];
  const end = effect(() => {
    const answer = b.store.answers.get(GATE_LABELS, overview, USUAL);
    if (answer.state === "answered") seen.push([answer.pending, Object.keys(answer.value.labels.full)]);
  });
  await settled();
  let whole = false;
  const wait = arrived(() => b.store.answers.get(GATE_LABELS, overview, USUAL)).then((gates) => {
    whole = true;
    return gates;
  });
  for (let n = 0; n < LAYERS; n++) {
    expect(whole).toBe(false);
    while (!(await b.give()).startsWith("gates"));
  }
  const gates = await wait;
  expect(seen).toEqual([
    [[1, 2], ["0"]],
    [[2], ["0", "1"]],
    [[], ["0", "1", "2"]],
  ]);
  expect(gates.labels.full[2]![0]).toBe("gate of 2");
  expect(gates.full[(2 * HEADS + 1) * 2]).toBeCloseTo(0.2);
  const first = {
    ...gates,
    labels: { full: gates.labels.full.slice(0, 1), content: gates.labels.content.slice(0, 1) },
  };
  expect(relabelled(first, 0.9, 0).labels.full).toEqual([Array(HEADS).fill("mixed")]);
  end();
});

it("a sentence by norm is of norms where they are here, else of weights", async () => {
  const b = await open({}, [1, 2]);
  const { overview } = b.store.shownHead.value;
  const view = { overview, answers: b.store.answers, grid: { rows: [], cols: [] } } as unknown as View;
  const end = effect(() => void b.store.answers.get(STATS, overview, { by: "norm" }).state);
  await settled();
  while (!(await b.give()).startsWith("statistics"));
  const says = sentences(view, "difference");
  expect(says(0, 1).next).toBe("50 % of what it takes comes from elsewhere");
  expect(sentenceText(says(1, 1))).toBe("L1·H1 is not computed yet.");
  const value = headValue(view, "entropy", "norm")!;
  expect([value.of(0, 0), value.of(1, 0), value.whole]).toEqual([0.5, Number.NaN, false]);
  while (b.asked().length > 0) await b.give();
  const all = headValue(view, "entropy", "norm")!;
  expect(all.of(1, 0)).toBeCloseTo(0.6);
  expect(all.whole).toBe(true);
  end();
});

it("a layer of which only some heads are done is asked for again, in turn with other kinds", async () => {
  const b = await open({ measure: "norm", layer: 1 });
  await others(b);
  const [first] = b.asked();
  b.model.asked.splice(b.model.asked.indexOf(first!), 1);
  first!.give({ layer: 1, again: true }, []);
  await settled();
  const said = [first!.message.op];
  while (b.asked().length > 0) said.push((await b.give()).replace(/ \d/, ""));
  expect(said.filter((op) => op === first!.message.op)).toHaveLength(LAYERS + 1);
  expect(b.store.shownHead.value.overview.pending).toEqual([]);
});
