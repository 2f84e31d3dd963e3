// @vitest-environment happy-dom
// What a token attends to as an image of patches: which pixel is which, what the rest of the row is, how one is chosen.
import { signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import type { Traits } from "../src/generated/vocabulary";
import { AboveList } from "../src/head/patches";
import { createView, ViewContext } from "../src/state/view";
import { bench, overviewOf } from "./fake";

const TOKENS = ["[CLS]", "r0 c0", "r0 c1", "r0 c2", "r1 c0", "r1 c1", "r1 c2"];
const S = TOKENS.length;
// row i, column j: (1 + j) / 28 turned by i
const weights = Float32Array.from({ length: S * S }, (_, n) => (1 + (((n % S) + Math.floor(n / S)) % S)) / 28);
const patches = { rows: 2, cols: 3, tokens: [1, 2, 3, 4, 5, 6], picture: null as string | null };

let host = document.createElement("div");
afterEach(() => render(null, host));

function drawnWith(more: Partial<Traits>, given = patches) {
  const inputs = { attention: { shape: [S, S], data: weights } };
  const { store } = bench(overviewOf(TOKENS, { inputs, patches: given }), more);
  const view = createView(store, signal(false));
  host = document.createElement("div");
  document.body.append(host);
  const root = document.createElement("div");
  view.root.current = root;
  const { grid, row, col } = view;
  const own = row !== null ? grid.values.row(row) : col !== null ? grid.values.column(col) : new Float32Array(S);
  const items = grid.cols.map((unit, n) => ({ unit, n, value: own[n]! }));
  render(
    <ViewContext.Provider value={view}>
      <AboveList items={items} />
    </ViewContext.Provider>,
    host,
  );
  return { view, text: () => host.textContent!, image: host.querySelector<HTMLElement>("[role=grid]")! };
}

const key = (name: string) => new KeyboardEvent("keydown", { key: name, bubbles: true });
const place = (name: string) => {
  const { left, top, width, height } = host.querySelector<HTMLElement>(`.bl-mark-${name}`)!.style;
  return [left, top, width, height].map(Number.parseFloat).map(Math.round);
};

describe("an image of patches", () => {
  it("says what patches and what other tokens have: together the row", () => {
    const { text } = drawnWith({ query: 2 }); // (3 4 5 6 7 1 2) / 28
    expect(text()).toContain("6 patches: 0.893, [CLS] 0.107");
    expect(text()).toContain("0.250α of a patch"); // where the colours end: the largest of a patch
  });
  it("outlines the query, and the key with a thinner line", () => {
    drawnWith({ query: 6, key: 2 });
    expect(place("cell")).toEqual([67, 50, 33, 50]);
    expect(place("row")).toEqual([33, 0, 33, 50]);
  });
  it("outlines nothing for a query that is no patch, and the key where a column is shown", () => {
    drawnWith({ query: 0 });
    expect(host.querySelector("[class^=bl-mark]")).toBeNull();
    drawnWith({ query: null, key: 4 });
    expect(place("cell")).toEqual([0, 50, 33, 50]);
    expect(host.querySelector(".bl-mark-row")).toBeNull();
  });
  it("is walked by arrow keys: each patch that they lead to is the query", () => {
    const { view, image } = drawnWith({ query: 2 });
    for (const [name, query] of [
      ["ArrowDown", 5],
      ["ArrowRight", 3],
      ["Home", 1],
    ] as const) {
      view.synced.put({ query: 2, key: 3 });
      image.dispatchEvent(key(name));
      expect([view.synced.query.value, view.synced.key.value]).toEqual([query, null]);
      expect(view.page.announcement.value).toBe(`query ${TOKENS[query]}`);
    }
    expect(image.getAttribute("aria-activedescendant")).toBe(host.querySelector("[role=gridcell]")!.id);
  });
  it("takes the patch under the pointer and a token that is none", () => {
    const { view, image } = drawnWith({ query: 2 });
    image.getBoundingClientRect = () => ({ left: 0, top: 0, width: 300, height: 200 }) as DOMRect;
    image.dispatchEvent(new MouseEvent("click", { clientX: 299, clientY: 101, bubbles: true }));
    expect(view.synced.query.value).toBe(6);
    image.dispatchEvent(new MouseEvent("click", { clientX: 190, clientY: 99, bubbles: true }));
    expect(view.synced.query.value).toBe(2);
    host.querySelector<HTMLElement>("p button")!.click();
    expect(view.synced.query.value).toBe(0);
  });
  it("counts other tokens where they are many", () => {
    const { text } = drawnWith({ query: 0 }, { ...patches, rows: 1, cols: 3, tokens: [6, 5, 4] });
    expect(text()).toContain("3 patches: 0.643, 4 other tokens 0.357");
  });
  it("has no switch without a picture, and a picture that can be taken away", () => {
    drawnWith({ query: 2 });
    expect(host.querySelector("[role=group]")).toBeNull();
    const { image } = drawnWith({ query: 2 }, { ...patches, picture: "data:image/png;base64,AAAA" });
    expect(image.style.backgroundImage).toContain("data:image/png;base64,AAAA");
    expect([...host.querySelectorAll("[role=group] button")].map((one) => one.textContent)).toEqual([
      "picture",
      "nothing",
    ]);
  });
});
