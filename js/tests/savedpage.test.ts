// The model object of a page without a kernel against the questions that the views ask.
import { deflateSync } from "node:zlib";
import type { AnyModel } from "@anywidget/types";
import { Window } from "happy-dom";
import { afterEach, expect, it, vi } from "vitest";
import { start as startPage } from "../src/host/savedpage";
import { ask, NEEDS_MODEL } from "../src/kernel/kernel";

/** Bytes as bertlens/export/deflate.py writes them: five letters for four bytes, the lowest digit first. */
function asText(bytes: Uint8Array): string {
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  const digits = [...new Uint32Array(padded.buffer)].flatMap((word) =>
    [1, 85, 85 ** 2, 85 ** 3, 85 ** 4].map((place) => Math.floor(word / place) % 85),
  );
  const letter = (digit: number) => String.fromCharCode({ 25: 120, 57: 121 }[digit] ?? digit + 35);
  return digits
    .map(letter)
    .join("")
    .slice(0, Math.ceil((bytes.length * 5) / 4));
}
const held = (text: string) => ({ $bytes: asText(Uint8Array.from(text, (letter) => letter.charCodeAt(0))) });
const DATA = {
  state: {
    layer: 1,
    heads: [[0, 1]],
    overview: { header: { map: "self" }, data: held("abc") },
    none: null,
  },
  overviews: { cross: { header: { map: "cross" }, data: held("xyz") } },
  holds: "layers 1",
  others: [],
};
const HEAD = '[["head",0],["layer",1],["map","self"],["op","head"]]';
const ANSWERS = {
  [HEAD]: { header: { layer: 1, head: 0, arrays: [] }, data: held("\u0001\u0002\u00ff") },
  '[["layer",1],["map","self"],["op","norms"]]': { header: { arrays: [] }, data: held("n") },
  '[["map","self"],["op","sheet"]]': { header: { arrays: [] }, data: held("s") },
};

function start(window = new Window(), state: unknown = DATA.state) {
  const { document } = window;
  const page = { ...DATA, state };
  const data = Object.entries({ "bertlens-data": page, ...ANSWERS }).map(([id, content]) => {
    const element = document.createElement("script");
    element.id = id;
    element.type = "application/json";
    element.textContent = JSON.stringify(content);
    return element;
  });
  const main = document.createElement("main");
  main.id = "bertlens";
  document.body.replaceChildren(main, ...data);
  const render = vi.fn();
  vi.stubGlobal("document", document);
  return { main, render, started: startPage({ render }) };
}
afterEach(() => {
  vi.unstubAllGlobals();
});

async function open(window?: Window, state?: unknown): Promise<{ model: AnyModel; el: HTMLElement }> {
  const { render, started } = start(window, state);
  await started;
  expect(render).toHaveBeenCalledOnce();
  return render.mock.calls[0]![0];
}

const forever = new AbortController().signal;
const bytes = (view: DataView) => [...new Uint8Array(view.buffer, view.byteOffset, view.byteLength)];

it("renders into the page with the traits, bytes as DataView", async () => {
  const { model, el } = await open();
  expect(el.id).toBe("bertlens");
  expect([model.get("layer"), model.get("heads"), model.get("none")]).toEqual([1, [[0, 1]], null]);
  expect(bytes(model.get("overview").data)).toEqual([97, 98, 99]);
});

it("answers a head that it holds, byte by byte", async () => {
  const { fields, buffers } = await ask(
    (await open()).model,
    "head",
    { trace: "t", map: "self", layer: 1, head: 0 },
    forever,
  );
  expect(fields).toMatchObject({ layer: 1, head: 0, arrays: [] });
  expect(bytes(buffers[0]!)).toEqual([1, 2, 255]);
});

it("answers only when all of the page has arrived", async () => {
  const window = new Window();
  const { document } = window;
  Object.defineProperty(document, "readyState", { value: "loading" });
  const { model } = await open(window);
  const late = document.getElementById(HEAD)!;
  const whole = late.textContent;
  late.textContent = whole.slice(0, 20);
  const asked = ask(model, "head", { trace: "t", map: "self", layer: 1, head: 0 }, forever);
  await new Promise((done) => setTimeout(done));
  late.textContent = whole;
  document.dispatchEvent(new window.Event("DOMContentLoaded"));
  expect(bytes((await asked).buffers[0]!)).toEqual([1, 2, 255]);
});

it("answers another map's overview, and says that it is no kernel", async () => {
  const { model } = await open();
  const { fields, buffers } = await ask(model, "overview", { trace: "t", map: "cross" }, forever);
  expect(fields.map).toBe("cross");
  expect(bytes(buffers[0]!)).toEqual([120, 121, 122]);
  expect((await ask(model, "hello", {}, forever)).fields.kernel).toBe(false);
});

it("answers other questions by what they ask, whatever the order and the trace", async () => {
  const { model } = await open();
  const { buffers } = await ask(model, "norms", { trace: "t", map: "self", layer: 1 }, forever);
  expect(bytes(buffers[0]!)).toEqual([110]);
  await expect(ask(model, "norms", { map: "self", layer: 2 }, forever)).rejects.toThrow("layer 2 is not in this page");
  await expect(ask(model, "norms", { map: "cross", layer: 1 }, forever)).rejects.toThrow("layer 1 is not in this page");
});

it("answers what is shown first before the rest of the page has arrived", async () => {
  const window = new Window();
  Object.defineProperty(window.document, "readyState", { value: "loading" });
  const { model } = await open(window);
  expect((await ask(model, "hello", {}, forever)).fields.kernel).toBe(false);
  expect((await ask(model, "overview", { trace: "t", map: "cross" }, forever)).fields.map).toBe("cross");
});

it("says why it cannot answer the rest", async () => {
  const { model } = await open();
  await expect(ask(model, "head", { map: "self", layer: 3, head: 0 }, forever)).rejects.toThrow(
    "layer 3 is not in this page, which holds layers 1",
  );
  await expect(ask(model, "trace", { text: "a" }, forever)).rejects.toThrow(NEEDS_MODEL);
  await expect(ask(model, "constructor", {}, forever)).rejects.toThrow(NEEDS_MODEL);
});

it("tells who listens about a change, once, until they leave", async () => {
  const { model } = await open();
  const [named, any] = [vi.fn(), vi.fn()];
  model.on("change:layer", named);
  model.on("change", any);
  model.set("layer", 2);
  model.set("layer", 2);
  model.save_changes();
  expect([named.mock.calls.length, any.mock.calls.length, model.get("layer")]).toEqual([1, 1, 2]);
  model.off("change:layer", named);
  model.set("layer", 0);
  expect([named.mock.calls.length, any.mock.calls.length]).toEqual([1, 2]);
});

// 40,000 numbers, deflated as bertlens/export/deflate.py does: all first bytes, then all second ones, …
const NUMBERS = Float32Array.from({ length: 40_000 }, (_, n) => Math.sqrt(n) * (n % 3 ? 1 : -1));
function deflated({ buffer }: Float32Array) {
  const plain = new Uint8Array([7, 8, 9, 10, ...new Uint8Array(buffer)]);
  const apart = plain.slice(4).map((_, n, all) => all[(n % 40_000) * 4 + Math.floor(n / 40_000)]!);
  const $bytes = asText(deflateSync(new Uint8Array([7, 8, 9, 10, ...apart])));
  return { plain, data: { $bytes, length: plain.length, planes: [[4, plain.length, 4]] } };
}

it("unpacks what was deflated, and puts the numbers together", async () => {
  const { plain, data } = deflated(NUMBERS);
  const { model } = await open(undefined, { ...DATA.state, overview: { header: { map: "self" }, data } });
  expect(model.get("overview").header).toEqual({ map: "self" });
  expect(bytes(model.get("overview").data)).toEqual([...plain]);
});

it("makes numbers of integers that stand in their place, to the last bit", async () => {
  const [step, least] = [2 ** -16, -70_000];
  const integers = Uint32Array.from({ length: 5000 }, (_, n) => (n * n) % 140_000);
  const planes = [[8, 8 + integers.byteLength, 4, step, least]];
  const head = new Uint8Array(8);
  const bytesApart = new Uint8Array(integers.buffer).map((_, n, all) => all[(n % 5000) * 4 + Math.floor(n / 5000)]!);
  const $bytes = asText(deflateSync(new Uint8Array([...head, ...bytesApart])));
  const overview = { header: { map: "self" }, data: { $bytes, length: 8 + integers.byteLength, planes } };
  const { model } = await open(undefined, { ...DATA.state, overview });
  const { buffer } = model.get("overview").data as DataView<ArrayBuffer>;
  const numbers = [...new Float32Array(buffer, 8, 5000)];
  expect(numbers).toEqual([...integers].map((n) => Math.fround((n + least) * step)));
});

it("says in a sentence what a browser lacks, and that a page is damaged", async () => {
  const { data } = deflated(NUMBERS);
  const damaged = { ...data, $bytes: "nonsense" };
  const page = start(undefined, { ...DATA.state, overview: { header: {}, data: damaged } });
  await page.started;
  expect(page.main.textContent).toBe("This page is damaged: its data cannot be unpacked.");
  vi.stubGlobal("DecompressionStream", undefined);
  const old = start(undefined, { ...DATA.state, overview: { header: {}, data } });
  await old.started;
  expect(old.main.textContent).toBe(
    "This browser cannot unpack the page: open it in one that has DecompressionStream.",
  );
  expect(page.render).not.toHaveBeenCalled();
  expect(old.render).not.toHaveBeenCalled();
  const plain = start(); // whose first picture is not packed
  await plain.started;
  vi.unstubAllGlobals();
  expect(plain.render).toHaveBeenCalled();
});

it("answers about a damaged part that it is damaged", async () => {
  const window = new Window();
  const { model } = await open(window);
  const { data } = deflated(NUMBERS);
  const damaged = { header: {}, data: { ...data, $bytes: data.$bytes.slice(0, 4000) } };
  window.document.getElementById(HEAD)!.textContent = JSON.stringify(damaged);
  await expect(ask(model, "head", { map: "self", layer: 1, head: 0 }, forever)).rejects.toThrow("damaged");
});

it("shows how far it is once it has unpacked for two seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { plain, data } = deflated(NUMBERS);
  let go = () => {};
  const held = new Promise<void>((done) => {
    go = done;
  });
  const Real = DecompressionStream;
  class Slow {
    #given = 0;
    #real = new Real("deflate");
    writable = this.#real.writable;
    readable = this.#real.readable.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: async (piece, out) => {
          if (this.#given++ > 0) await held;
          out.enqueue(piece);
        },
      }),
    );
  }
  vi.stubGlobal("DecompressionStream", Slow);
  const { main, render, started } = start(undefined, { ...DATA.state, overview: { header: {}, data } });
  vi.advanceTimersByTime(1999);
  expect(main.querySelector("progress")).toBeNull();
  vi.advanceTimersByTime(1);
  const bar = () => main.querySelector("progress");
  await vi.waitFor(() => expect(Number(bar()?.value)).toBeGreaterThan(0));
  expect(Number(bar()?.value)).toBeLessThan(1);
  expect(main.textContent).toBe("unpacking the page ");
  go();
  await started;
  vi.useRealTimers();
  vi.unstubAllGlobals();
  expect(bar()).toBeNull();
  expect(bytes(render.mock.calls[0]![0].model.get("overview").data)).toEqual([...plain]);
});
