// @vitest-environment happy-dom
// Two runs on the screen and in a file: aligned words first, one scale for all heads, maps side by side, both texts named.
import { signal } from "@preact/signals";
import { render } from "preact";
import { expect, it, vi } from "vitest";
import { tabFigure } from "../src/frame/export";
import { POSITIVE } from "../src/generated/vocabulary";
import { SCREEN } from "../src/parts/figure";
import type { Tab } from "../src/state/overview";
import { createView, ViewContext } from "../src/state/view";
import { Compare } from "../src/tabs/compare/comparison";
import { bench, HEADS, hello, LAYERS, overviewOf, pack, settled, TOKENS } from "./fake";

/** "the cat sat" beside "the dog cat": the heads are `largest` nats apart at most. */
async function opened(largest: number, other = "the dog cat") {
  const host = document.createElement("div");
  document.body.append(host);
  const b = bench(
    overviewOf(TOKENS, {
      lens: true,
      text: "the cat sat",
      tabs: [{ name: "compare", label: "Compare", about: "", why_not: "" }],
    }),
  );
  await hello(b);
  const view = createView(b.store, signal(false));
  view.root.current = host;
  view.page.tabChosen.value = true;
  const inView = (
    <ViewContext.Provider value={view}>
      <Compare />
    </ViewContext.Provider>
  );
  render(inView, host);
  const field = host.querySelector<HTMLInputElement>("input");
  await vi.waitFor(() => expect(document.activeElement).toBe(field)); // an effect: some frames on a machine that is busy
  view.page.compareWith.value = { run: "", text: other, text_pair: "" };
  await settled();
  b.take("compared_with").give({
    sides: [
      { model: "m", text: "the cat sat", changes: [] },
      { model: "m", text: other, changes: [] },
    ],
    ...{ by: "tokens", keys: null, said: ["all", "aligned"], only: false, matched: true, heads: null, open: null },
    queries: [
      ["[CLS]", "[CLS]", 0],
      ["the", "the", 1],
      [null, "dog", 2],
      ["cat", "cat", 2],
      ["sat", null, 3],
      ["[SEP]", "[SEP]", 4],
    ],
  });
  await settled();
  const { message } = b.model.asked.find(({ message }) => message.op === "compared_heads")!;
  const apart = Array.from({ length: LAYERS * HEADS }, (_, n) => (n === 5 ? largest : 0));
  b.take("compared_heads").give({ apart, most: [] });
  await settled();
  const values = Float32Array.from({ length: 16 }, (_, n) => (n === 6 ? largest : 0.001));
  const { index, data } = pack({ a: { shape: [4, 4], data: values }, b: { shape: [4, 4], data: values } });
  const question = b.take("compared");
  question.give({ ...question.message, other: [0, 0], arrays: index }, [data]);
  await settled();
  return { host, view, field, message, question };
}

const colourOf = (host: Element) => host.querySelector<HTMLElement>('[data-apart="1-1"]')!.style.background;

it("opens on the aligned words", async () => {
  const { message, question, host } = await opened(0.2);
  expect([message.aligned, question.message.aligned]).toEqual([true, true]);
  expect(host.querySelectorAll(".bl-word-strip button").length).toBe(4);
  render(null, host);
});

it("paints 0.008 nats not like 0.178, and says where the scale ends", async () => {
  const [small, large] = [await opened(0.008), await opened(0.178)];
  expect(colourOf(small.host)).not.toBe(colourOf(large.host));
  for (const { host } of [small, large]) {
    const ends = [...host.querySelectorAll(".bl-legend")].map((one) => one.textContent);
    expect(ends).toEqual([
      "00.693nats apart, the whole scale",
      "01.000α, the same for every head",
      "01.000α, the same for every head",
      `−1.000+1.000${POSITIVE}: more in b`,
    ]);
  }
  const cells = ({ host }: { host: Element }) => host.querySelector(".bl-three image")!.getAttribute("href");
  expect(cells(small)).not.toBe(cells(large));
  render(null, small.host);
  render(null, large.host);
});

it("selects the text in its field, so that what is typed takes its place", async () => {
  const { field, host } = await opened(0.1);
  expect([field!.value, field!.selectionStart, field!.selectionEnd]).toEqual(["the cat sat", 0, 11]);
  render(null, host);
});

it("is at 180 mm a row of three maps, no higher than wide, with both texts in its caption", async () => {
  const { view, host } = await opened(0.1);
  const tab = { name: "compare", label: "Compare", about: "" } as Tab;
  const svg = (mm: number) =>
    new DOMParser().parseFromString(tabFigure(view, tab, { ...SCREEN, mm }), "text/xml").documentElement;
  const wide = svg(180);
  const millimetres = (one: Element) => ["width", "height"].map((side) => Number.parseFloat(one.getAttribute(side)!));
  expect(millimetres(wide)[0]).toBe(180);
  expect(millimetres(wide)[1]).toBeLessThan(120);
  const maps = [...wide.querySelectorAll("[data-charts] > svg[aria-label]")].filter((one) =>
    one.getAttribute("aria-label"),
  );
  expect(maps.length).toBe(3);
  expect(new Set(maps.map((one) => one.getAttribute("y"))).size).toBe(1);
  const edges = maps.map((one) => [Number(one.getAttribute("x") ?? 0), Number(one.getAttribute("width"))] as const);
  for (const [n, [x]] of edges.entries()) if (n) expect(x).toBeGreaterThanOrEqual(edges[n - 1]![0] + edges[n - 1]![1]);
  expect(edges[2]![0] + edges[2]![1]).toBeLessThanOrEqual(Number(wide.getAttribute("viewBox")!.split(" ")[2]));
  expect(wide.querySelector("metadata")!.textContent).toMatch(/a: m; the cat sat\nb: m; the dog cat/);
  const narrow = [...svg(85).querySelectorAll("[data-charts] > svg[aria-label]")].filter((one) =>
    one.getAttribute("aria-label"),
  );
  expect(new Set(narrow.map((one) => one.getAttribute("y"))).size).toBe(3);
  render(null, host);
});
