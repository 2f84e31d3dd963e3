// @vitest-environment happy-dom
// The neurons of a query of a long text: all its keys can be listed, those around what is scrolled to are drawn.
import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { blockOf, gapsBefore, rowsInView } from "../src/compute/neuronsheet";
import { signed } from "../src/paint/format";
import { createView, ViewContext } from "../src/state/view";
import { Neurons } from "../src/tabs/neurons/neuronview";
import { bench, overviewOf } from "./fake";

const MOST = 16_000; // pixels a side that browsers still give a canvas

it("counts the keys hidden above each of those listed, going through them once", () => {
  const left = Array.from({ length: 4000 }, (_, j) => 2 * j);
  for (const keys of [[], [0], [4, 6, 100], [5], [1, 3, 7998], left, [9000]]) {
    const expected = keys.map((key, n) => left.filter((j) => j > (keys[n - 1] ?? -1) && j < key).length);
    expect(gapsBefore(keys, left)).toEqual(expected);
  }
  let looks = 0;
  const counted = new Proxy(left, {
    get(all, name, self) {
      looks++;
      return Reflect.get(all, name, self);
    },
  });
  gapsBefore(left, counted);
  expect(looks).toBeLessThan(6 * left.length);
});

it("draws three blocks of rows around the one in view, and all of a short list", () => {
  expect(rowsInView(0, 12)).toEqual({ from: 0, to: 12 });
  expect(rowsInView(7, 300)).toEqual({ from: 0, to: 300 });
  for (const count of [301, 1455, 8192])
    for (let row = 0; row < count; row += 37) {
      const { from, to } = rowsInView(blockOf(row), count);
      expect(to - from).toBeLessThanOrEqual(300);
      expect(from === 0 || from <= row - 50).toBe(true);
      expect(to === count || to >= row + 50).toBe(true);
    }
  expect(rowsInView(blockOf(5000), 12)).toEqual({ from: 0, to: 12 }); // the list became short
});

it("unfolds the steps of Present beside each other, with the numbers of a naive loop", () => {
  const tokens = ["the", "cat", "sat", "on", "it", "there", "."];
  const view = createView(bench(overviewOf(tokens), { query: 2, key: 4 }).store, signal(false));
  const { q, k, d, scaling } = view.shownHead.slice;
  const scores = tokens.map((_, j) => {
    let dot = 0;
    for (let n = 0; n < d; n++) dot += q![2 * d + n]! * k![j * d + n]!;
    return dot * scaling;
  });
  const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
  const root = document.createElement("div");
  view.root.current = root;
  act(() => {
    render(
      <ViewContext.Provider value={view}>
        <Neurons />
      </ViewContext.Provider>,
      root,
    );
  });
  const steps = [...root.querySelectorAll("[data-testid=steps] li:has(h4)")];
  expect(steps.map((step) => step.querySelector("h4")!.textContent)).toEqual(
    "Query and key, q · k, The score, The exponential, The softmax".split(", "),
  );
  const says = steps.map((step) => step.querySelector("p")!.textContent);
  expect(says[1]).toContain(`q·k = ${signed(scores[4]! / scaling, 3)}.`);
  expect(says[2]).toContain(`= ${signed(scores[4]!, 3)}: the score of “it”`);
  expect(says[4]).toContain(`= ${signed(Math.exp(scores[4]!) / sum, 3)}: that part of the attention of “sat”`);
  const bars = [...steps[4]!.querySelectorAll(".bl-present-bars li")];
  expect(bars).toHaveLength(5);
  expect(bars.filter((bar) => bar.classList.contains("bl-is-key"))).toHaveLength(1);
});

it("lists all keys of a long text on canvases that a browser can draw, and scrolls to any of them", () => {
  const tokens = Array.from({ length: 1500 }, (_, n) => `t${n}`);
  const b = bench(overviewOf(tokens), { query: 3, key: 5 });
  const view = createView(b.store, signal(false));
  view.page.allKeys.value = true;
  const root = document.createElement("div");
  view.root.current = root;
  act(() => {
    render(
      <ViewContext.Provider value={view}>
        <Neurons />
      </ViewContext.Provider>,
      root,
    );
  });
  const listed = () => [...root.querySelectorAll<HTMLElement>("[data-tokens]")].map((one) => +one.dataset.tokens!);
  const drawn = () => [...root.querySelectorAll("canvas")].map(({ height }) => height);
  expect(listed()).toEqual(Array.from({ length: 300 }, (_, j) => j));
  expect(Math.max(...drawn())).toBeLessThan(MOST);
  const list = root.querySelector<HTMLElement>(".bl-neurons-scroll")!;
  Object.defineProperty(list, "scrollTop", { value: 20 * 1000 });
  act(() => {
    list.dispatchEvent(new Event("scroll"));
  });
  expect([listed()[0], listed().at(-1)]).toEqual([900, 1199]);
  expect(root.querySelectorAll("[data-alpha]")).toHaveLength(300);
  const tall = (one: HTMLElement) =>
    Number.parseInt(one.style.paddingTop, 10) + Number.parseInt(one.style.paddingBottom, 10);
  expect(tall(root.querySelector(".bl-neuron-tokens")!)).toBe(20 * (1500 - 300)); // the list stays as long as it is
  expect(root.textContent).toContain("all 1,500 keys");
});
