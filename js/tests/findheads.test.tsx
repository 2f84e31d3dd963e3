// @vitest-environment happy-dom
// "Find heads that …": Enter takes the first line, and what is searched are the heads' own sentences too.
import { signal } from "@preact/signals";
import { render } from "preact";
import { expect, it } from "vitest";
import { FindHeads } from "../src/atlas/findheads";
import { HeadSentence } from "../src/atlas/headsentence";
import { createView, ViewContext } from "../src/state/view";
import { bench, HEADS, hello, LAYERS, overviewOf, pack, settled, TOKENS } from "./fake";

const S = TOKENS.length;
const STATS = ["previous", "entropy"];

async function opened() {
  const host = document.createElement("div");
  document.body.append(host);
  const b = bench(overviewOf(TOKENS, { stats: STATS }));
  await hello(b);
  const view = createView(b.store, signal(false));
  view.root.current = host;
  render(
    <ViewContext.Provider value={view}>
      <FindHeads counts={{}} value={null} />
    </ViewContext.Provider>,
    host,
  );
  await settled();
  const field = host.querySelector<HTMLInputElement>("input[type=search]")!;
  const search = async (words: string) => {
    field.value = words;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    await settled();
    if (b.model.asked.some(({ message }) => message.op === "statistics")) {
      const received = Float32Array.from({ length: LAYERS * HEADS * S }, (_, n) =>
        n === (HEADS + 2) * S + 2 ? 0.6 : 0.02,
      );
      const stats = new Float32Array(LAYERS * HEADS * STATS.length).fill(0.01);
      const packed = pack({
        stats: { shape: [LAYERS, HEADS, STATS.length], data: stats },
        received: { shape: [LAYERS, HEADS, S], data: received },
      });
      b.take("statistics").give({ names: STATS, arrays: packed.index }, [packed.data]);
      await settled();
    }
  };
  const enter = async () => {
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    await settled();
  };
  return { host, view, search, enter };
}

it("takes Enter", async () => {
  const { view, search, enter, host } = await opened();
  await search("previous");
  await enter();
  expect(view.page.atlasOrder.value).toBe("previous");
  render(null, host);
});

it("finds the heads that look at a word of the text, and Enter shows the first", async () => {
  const { view, search, enter, host } = await opened();
  await search("cat");
  const heads = [...host.querySelectorAll('[aria-label="Heads"] button')].map((one) => one.textContent);
  expect(heads[0]).toMatch(/^L1·H2 looks at “cat” \(60 %\)/);
  expect(host.textContent).not.toContain("one scale"); // how heads are drawn is not under a search
  await enter();
  expect([view.synced.layer.value, view.synced.head.value]).toEqual([1, 2]);
  render(null, host);
});

it("opens what a kind of head is by a click on its tag", async () => {
  const host = document.createElement("div");
  document.body.append(host);
  const tabs = [{ name: "gates", label: "Gates", about: "", why_not: "" }];
  const b = bench(overviewOf(TOKENS, { tabs, pending: [] }));
  await hello(b);
  const view = createView(b.store, signal(false));
  render(
    <ViewContext.Provider value={view}>
      <HeadSentence />
    </ViewContext.Provider>,
    host,
  );
  await settled();
  const labels = Array.from({ length: LAYERS }, () => Array<string>(HEADS).fill("closed"));
  const scores = { shape: [LAYERS, HEADS, 1], data: new Float32Array(LAYERS * HEADS).fill(1) };
  const { index, data } = pack({ full: scores, content: scores });
  const fields = { names: ["closed"], labels: { full: labels, content: labels }, content_tokens: 3, least: 0.35 };
  b.take("gates").give({ ...fields, threshold: 0.35, margin: 0.1, arrays: index }, [data]);
  await settled();
  const tag = host.querySelector<HTMLElement>(".bl-term")!;
  expect(tag.textContent).toBe("closed");
  tag.click();
  expect(view.synced.view.value).toBe("gates");
  render(null, host);
});
