// The model object of a page without a kernel (bertlens/export/page.js) against the questions that the views ask.
import type { AnyModel } from "@anywidget/types";
import { Window } from "happy-dom";
import { expect, it, vi } from "vitest";
import start from "../../bertlens/export/page.js?raw";
import { ask } from "../src/kernel";

const base64 = (text: string) => btoa(text);
const DATA = {
  state: {
    layer: 1,
    heads: [[0, 1]],
    overview: { header: { map: "self" }, data: { $bytes: base64("abc") } },
    none: null,
  },
  overviews: { cross: { fields: { map: "cross" }, data: base64("xyz") } },
  holds: "layers 1",
};
const HEAD = '[["head",0],["layer",1],["map","self"],["op","head"]]';
const ANSWERS = {
  [HEAD]: { fields: { layer: 1, head: 0, arrays: [] }, data: base64("\u0001\u0002\u00ff") },
  '[["layer",1],["map","self"],["op","norms"]]': { fields: { arrays: [] }, data: base64("n") },
  '[["map","self"],["op","sheet"]]': { fields: { arrays: [] }, data: base64("s") },
};

function open({ document } = new Window()): { model: AnyModel; el: HTMLElement } {
  const data = Object.entries({ "bertlens-data": DATA, ...ANSWERS }).map(([id, content]) => {
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
  new Function("widget", "document", `(${start})(widget)`)({ render }, document);
  expect(render).toHaveBeenCalledOnce();
  return render.mock.calls[0]![0];
}

const forever = new AbortController().signal;
const bytes = (view: DataView) => [...new Uint8Array(view.buffer, view.byteOffset, view.byteLength)];

it("renders into the page with the traits, bytes as DataView", () => {
  const { model, el } = open();
  expect(el.id).toBe("bertlens");
  expect([model.get("layer"), model.get("heads"), model.get("none")]).toEqual([1, [[0, 1]], null]);
  expect(bytes(model.get("overview").data)).toEqual([97, 98, 99]);
});

it("answers a head that it holds, byte by byte", async () => {
  const { fields, buffers } = await ask(open().model, "head", { trace: "t", map: "self", layer: 1, head: 0 }, forever);
  expect(fields).toMatchObject({ layer: 1, head: 0, arrays: [] });
  expect(bytes(buffers[0]!)).toEqual([1, 2, 255]);
});

it("answers only when all of the page has arrived", async () => {
  const window = new Window();
  const { document } = window;
  Object.defineProperty(document, "readyState", { value: "loading" });
  const { model } = open(window);
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
  const { model } = open();
  const { fields, buffers } = await ask(model, "overview", { trace: "t", map: "cross" }, forever);
  expect(fields.map).toBe("cross");
  expect(bytes(buffers[0]!)).toEqual([120, 121, 122]);
  expect((await ask(model, "hello", {}, forever)).fields.kernel).toBe(false);
});

it("answers other questions by what they ask, whatever the order and the trace", async () => {
  const { model } = open();
  const { buffers } = await ask(model, "norms", { trace: "t", map: "self", layer: 1 }, forever);
  expect(bytes(buffers[0]!)).toEqual([110]);
  await expect(ask(model, "norms", { map: "self", layer: 2 }, forever)).rejects.toThrow("layer 2 is not in this page");
  await expect(ask(model, "norms", { map: "cross", layer: 1 }, forever)).rejects.toThrow("layer 1 is not in this page");
});

it("answers what takes no head, or none at all, whoever asks with layer and head", async () => {
  const { model } = open();
  const ofHead = { map: "self", layer: 1, head: 0 };
  expect(bytes((await ask(model, "norms", ofHead, forever)).buffers[0]!)).toEqual([110]);
  expect(bytes((await ask(model, "sheet", ofHead, forever)).buffers[0]!)).toEqual([115]);
});

it("answers what is shown first before the rest of the page has arrived", async () => {
  const window = new Window();
  Object.defineProperty(window.document, "readyState", { value: "loading" });
  const { model } = open(window);
  expect((await ask(model, "hello", {}, forever)).fields.kernel).toBe(false);
  expect((await ask(model, "overview", { trace: "t", map: "cross" }, forever)).fields.map).toBe("cross");
});

it("says why it cannot answer the rest", async () => {
  const { model } = open();
  await expect(ask(model, "head", { map: "self", layer: 3, head: 0 }, forever)).rejects.toThrow(
    "layer 3 is not in this page, which holds layers 1",
  );
  await expect(ask(model, "trace", { text: "a" }, forever)).rejects.toThrow("this page has no kernel");
  await expect(ask(model, "constructor", {}, forever)).rejects.toThrow("this page has no kernel");
});

it("tells who listens about a change, once, until they leave", () => {
  const { model } = open();
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
