// @vitest-environment happy-dom
// Where menus and tooltips stand: inside the window, at what they belong to, off what answers a click; what Escape closes.
import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, it, vi } from "vitest";
import { Explorer } from "../src/frame/explorer";
import { type Box, besides, standing } from "../src/paint/standing";
import { hideTip, showTip, Tooltip } from "../src/parts/tooltip";
import { createView, type View, ViewContext } from "../src/state/view";
import { bench, hello, overviewOf, quiet, settled, TOKENS } from "./fake";

const box = (left: number, top: number, width: number, height: number): Box => ({
  ...{ left, top },
  ...{ right: left + width, bottom: top + height },
});
const frame = box(0, 0, 968, 900);
const meets = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

describe("a menu", () => {
  const size = { width: 290, height: 200 };
  it.each([
    ["the left, in the middle", box(20, 300, 80, 28)],
    ["the right edge", box(900, 40, 60, 28)],
    ["the lower edge", box(20, 860, 80, 28)],
    ["the lower right corner", box(930, 870, 30, 28)],
  ])("opens at its button at %s, inside the window", (_, at) => {
    const spot = standing(at, size, frame);
    const list = box(spot.left, spot.top, size.width, spot.height);
    expect(list.left >= 0 && list.right <= 968 && list.top >= 0 && list.bottom <= 900).toBe(true);
    expect(spot.height).toBe(size.height);
    expect(Math.min(Math.abs(list.top - at.bottom), Math.abs(at.top - list.bottom))).toBeLessThanOrEqual(4);
    expect(list.left <= at.right && list.right >= at.left).toBe(true);
  });
  it("is as high as the larger side allows where it fits on neither", () => {
    const spot = standing(box(20, 500, 80, 28), { width: 290, height: 2000 }, frame);
    expect(spot.top).toBe(8);
    expect(spot.top + spot.height).toBe(496);
  });
});

describe("a tooltip", () => {
  const size = { width: 300, height: 60 };
  const grid = box(20, 300, 560, 250);
  const words = box(20, 560, 560, 90); // the sentence under the grid
  const tipAt = (at: Box, isPointer = false) => {
    const { left, top } = besides({ at, grid, isPointer }, size, frame, [words]);
    return box(left, top, size.width, size.height);
  };
  it.each([0, 1, 2, 3, 4, 5])(
    "of a head in row %i stands near it, and not on the sentence that a click answers",
    (row) => {
      const thumb = box(62, 300 + 42 * row, 38, 38);
      const tip = tipAt(thumb);
      expect(meets(tip, words) || meets(tip, thumb)).toBe(false);
      expect(tip.top - thumb.bottom).toBeLessThanOrEqual(110);
      expect(thumb.top - tip.bottom).toBeLessThanOrEqual(110);
    },
  );
  it("of the pointer keeps off the grid that it speaks of", () => {
    const tip = tipAt(box(300, 420, 24, 24), true);
    expect(meets(tip, grid) || meets(tip, words)).toBe(false);
  });
  it("goes after a click, and waits for the next move", async () => {
    const host = document.createElement("div");
    document.body.append(host);
    const view = createView(bench(overviewOf(TOKENS)).store, signal(false));
    view.root.current = host;
    render(
      <ViewContext.Provider value={view}>
        <button type="button">head</button>
        <Tooltip />
      </ViewContext.Provider>,
      host,
    );
    await quiet();
    const button = host.querySelector("button")!;
    showTip(view, button, "a head");
    await settled();
    expect(host.textContent).toContain("a head");
    button.dispatchEvent(new MouseEvent("click", { clientX: 40, clientY: 50, bubbles: true }));
    expect(view.tip.value).toBeNull();
    const moved = (x: number) => {
      showTip(view, { clientX: x, clientY: 50, currentTarget: button } as unknown as PointerEvent, "a head");
      return view.tip.value !== null;
    };
    expect([moved(41), moved(60)]).toEqual([false, true]);
    button.dispatchEvent(new MouseEvent("click", { clientX: 40, clientY: 50, bubbles: true }));
    host.dispatchEvent(new PointerEvent("pointermove", { clientX: 42, clientY: 50 }));
    expect(moved(41)).toBe(false);
    host.dispatchEvent(new PointerEvent("pointermove", { clientX: 90, clientY: 50 }));
    expect(moved(41)).toBe(true); // it has come back
    hideTip(view);
    render(null, host);
  });
});

it("serif is for words: tokens of a protein, which stand in named runs, have none", async () => {
  for (const spans of [[], [["NTD", 1, 3]]]) {
    const host = document.createElement("div");
    document.body.append(host);
    const b = bench(overviewOf(TOKENS, { lens: true, spans }), { parts: ["header"] });
    await hello(b);
    render(<Explorer view={createView(b.store, signal(false))} />, host);
    const family = host.querySelector<HTMLElement>(".bertlens")!.style.getPropertyValue("--serif");
    expect(family === "var(--sans)").toBe(spans.length > 0);
    render(null, host);
  }
});

it("Escape closes the row behind ⋯, then the leaf, and the next one unpins", async () => {
  const host = document.createElement("div");
  document.body.append(host);
  const b = bench(overviewOf(TOKENS, { lens: true }), { query: 2, key: 1, parts: ["header"], view: "why" });
  await hello(b);
  const view: View = createView(b.store, signal(false));
  render(<Explorer view={view} />, host);
  await settled();
  view.page.more.value = true;
  const press = () =>
    host.querySelector(".bertlens")!.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  press();
  expect([view.page.more.value, view.synced.query.value]).toEqual([false, 2]);
  press();
  expect([view.synced.view.value, view.synced.query.value]).toEqual(["", 2]);
  press();
  expect(view.synced.query.value).toBeNull();
  render(null, host);
});

it("Alt with an arrow goes back, but in a field it moves the caret", async () => {
  const host = document.createElement("div");
  document.body.append(host);
  const b = bench(overviewOf(TOKENS, { lens: true }), { parts: ["header", "atlas", "head"] });
  await hello(b);
  const view: View = createView(b.store, signal(false));
  render(<Explorer view={view} />, host);
  await settled();
  const undo = vi.spyOn(view.history, "undo");
  const isTaken = (selector: string) => {
    const event = new KeyboardEvent("keydown", { key: "ArrowLeft", altKey: true, bubbles: true, cancelable: true });
    host.querySelector(selector)!.dispatchEvent(event);
    return [event.defaultPrevented, undo.mock.calls.length];
  };
  expect(isTaken("textarea")).toEqual([false, 0]);
  expect(isTaken(".bertlens")).toEqual([true, 1]);
  render(null, host);
});
