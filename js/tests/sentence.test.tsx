// @vitest-environment happy-dom
// The sentence where it is drawn: arcs over words that stand somewhere, and what a click and a drag do to them.
import { signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Sentence } from "../src/front/sentence/sentence";
import { createView, ViewContext } from "../src/state/view";
import { bench, hello, overviewOf, quiet, TOKENS } from "./fake";

const hosts = [0, 1].map(() => document.createElement("div"));
document.body.append(...hosts);

beforeEach(() => {
  vi.spyOn(Element.prototype, "getClientRects").mockImplementation(function (this: HTMLElement) {
    return [new DOMRect(120 * Number(this.dataset.n), 200, 80, 30)] as unknown as DOMRectList;
  });
});
afterEach(() => {
  for (const host of hosts) render(null, host);
  vi.restoreAllMocks();
});

let kernel: ReturnType<typeof bench>;

async function drawn(host: HTMLDivElement, overview = overviewOf(TOKENS, { text: "the cat sat" }), traits = {}) {
  const b = bench(overview, { text: overview.header.text, ...traits });
  kernel = b;
  await hello(b);
  const view = createView(b.store, signal(false));
  view.root.current = host;
  render(
    <ViewContext.Provider value={view}>
      <Sentence />
    </ViewContext.Provider>,
    host,
  );
  await quiet();
  return view;
}

it("two views in one document paint their arcs with their own fades", async () => {
  for (const host of hosts) await drawn(host);
  const ids = hosts.map((host) => [...host.querySelectorAll("linearGradient")].map(({ id }) => id));
  expect(ids.every((list) => list.length > 0)).toBe(true);
  expect(new Set(ids.flat()).size).toBe(ids.flat().length);
});

it("the number on an arc leads to the strongest cell between its words", async () => {
  const tokens = ["[CLS]", "un", "##believ", "##able", "cats", "[SEP]"];
  const words = [-1, 0, 0, 0, 1, -1];
  const special = words.map((word) => Number(word < 0));
  const queries = { tokens, words, special, segments: words.map(() => 0), continuation: "##" };
  for (const head of [0, 2]) {
    const overview = overviewOf(tokens, { layer: 1, head, text: "unbelievable cats", queries });
    const view = await drawn(hosts[0]!, overview, { query: 4, view: "" });
    const number = hosts[0]!.querySelector('.bl-weight[data-word="1"]')!;
    number.dispatchEvent(new Event("click", { bubbles: true }));
    const row = view.shownHead.weights.row(4);
    const { query, key, view: tab } = view.synced;
    expect([query.value, key.value, tab.value]).toEqual([4, row.indexOf(Math.max(...row.slice(1, 4))), "neurons"]);
    await quiet();
    expect(number.getAttribute("aria-expanded")).toBe("true");
    number.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })); // and closes it
    expect([query.value, tab.value]).toEqual([4, ""]);
    render(null, hosts[0]!);
  }
});

it("what is written while a model is on its way is run once it is here", async () => {
  const view = await drawn(hosts[0]!, overviewOf(TOKENS, { text: "the cat sat" }), { text: "the cat sat" });
  const area = () => hosts[0]!.querySelector("textarea")!;
  const ran = () => kernel.model.asked.flatMap(({ message }) => (message.op === "trace" ? [message.text] : []));
  view.link.kernel.value = false;
  await quiet();
  expect(area().disabled).toBe(true); // without a model nothing is written
  view.link.coming.value = "loading the model: 40 %";
  await quiet();
  expect(area().disabled).toBe(false);
  area().value = "the cats sat";
  area().dispatchEvent(new Event("input", { bubbles: true }));
  area().dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await quiet();
  expect([ran(), area().value]).toEqual([[], "the cats sat"]);
  view.link.coming.value = "";
  view.link.kernel.value = true;
  await quiet();
  expect(area().value).toBe("the cats sat");
  expect(ran()).toEqual(["the cats sat"]);
});

it.each([
  ["<s>", "</s>", "<s></s>"],
  ["[CLS]", "[SEP]", "CLSSEP"],
  ["<|startoftext|>", "<|endoftext|>", "startoftextendoftext"],
])("the marks of %s … %s are no other text's letters", async (first, last, seen) => {
  const tokens = [first, "cats", last];
  const queries = { tokens, words: [-1, 0, -1], special: [1, 0, 1], segments: [0, 0, 0], continuation: "" };
  await drawn(hosts[0]!, overviewOf(tokens, { text: "cats", queries, languages: { cats: "en" } }));
  const marks = [...hosts[0]!.querySelectorAll(".bl-chipmark")].map(({ textContent }) => textContent);
  expect(marks.join("")).toBe(seen);
  expect(hosts[0]!.querySelector(".bl-textline")).toMatchObject({ lang: "en", dir: "ltr" });
});
