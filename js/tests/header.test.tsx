// @vitest-environment happy-dom
// Events while something else goes on: text typed while a run computes, a pointer that moves within a cell.
import { signal } from "@preact/signals";
import type { ComponentChild } from "preact";
import { render } from "preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Sentence } from "../src/front/sentence/sentence";
import { Matrix } from "../src/head/matrix";
import { createView, type View, ViewContext } from "../src/state/view";
import { type Bench, bench, hello, overviewOf, quiet, TOKENS } from "./fake";

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

function drawn(part: ComponentChild, b: Bench): View {
  const view = createView(b.store, signal(false));
  view.root.current = host;
  render(<ViewContext.Provider value={view}>{part}</ViewContext.Provider>, host);
  return view;
}

describe("what is typed", () => {
  const field = (n: number) => host.querySelectorAll("textarea")[n]!;
  const type = (text: string, n = 0) => {
    field(n).value = text;
    field(n).dispatchEvent(new InputEvent("input", { bubbles: true }));
  };
  /** The view's text becomes another one. */
  const comes = async (b: Bench, text: string, text_pair = "") => {
    b.model.set("text", text);
    b.model.set("text_pair", text_pair);
    await quiet();
  };
  const open = async () => {
    const b = bench(overviewOf(TOKENS, { lens: true }), { text: "old", text_pair: "" });
    await hello(b);
    const view = drawn(<Sentence />, b);
    await quiet();
    return Object.assign(b, { view });
  };
  const enter = () => field(0).dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  const run = () => host.querySelector<HTMLButtonElement>("button[type=submit]");
  const submit = async () => {
    enter();
    await quiet();
  };

  it("while a run computes stays, in the field that has the focus and in one that was left", async () => {
    const b = await open();
    field(0).focus();
    type("new");
    await submit();
    type("newer");
    await comes(b, "new");
    expect(field(0).value).toBe("newer");
    b.view.page.front.secondText.value = true; // from the menu of texts
    await quiet();
    field(1).focus();
    await comes(b, "new", "other");
    expect([field(0).value, field(1).value]).toEqual(["newer", "other"]);
  });
  it("and was run is gone as soon as another text comes, also where the field has the focus", async () => {
    const b = await open();
    field(0).focus();
    type("new");
    await submit();
    await comes(b, "new");
    await comes(b, "third"); // from Python
    expect(field(0).value).toBe("third"); // a field that changes once it is left would move what is being clicked
    field(0).blur();
    await comes(b, "fourth");
    expect(field(0).value).toBe("fourth");
  });
  it("and was run is gone also where another text comes before the next frame", async () => {
    const b = await open();
    field(0).focus();
    type("new");
    field(0).blur();
    enter();
    await comes(b, "another");
    expect(field(0).value).toBe("another");
  });
  it("while a run computes is run when that has ended, and nothing can be typed without a kernel", async () => {
    const b = await open();
    expect(run()).toBe(null); // nothing is typed
    type("new");
    await quiet();
    expect(run()!.textContent).toBe("Run ⏎"); // no run yet was quick
    await submit();
    expect(run()!.disabled).toBe(true);
    type("newer");
    enter();
    expect(b.model.asked.filter(({ message }) => message.op === "trace")).toHaveLength(1);
    b.take("trace", { text: "new" }).give({});
    await comes(b, "new");
    b.take("trace", { text: "newer" });
    const page = bench(overviewOf(TOKENS, { lens: true }));
    await hello(page, false);
    drawn(<Sentence />, page);
    await quiet();
    expect([field(0).disabled, run()]).toEqual([true, null]);
    expect(field(0).title).toContain("model"); // what it needs
  });
  it("waits while a page loads its model, and the field says how far that is", async () => {
    const page = bench(overviewOf(TOKENS, { lens: true }));
    page.take("hello").give({ kernel: false, coming: "loading the model 62 %" });
    drawn(<Sentence />, page);
    await quiet();
    expect(field(0).disabled).toBe(false);
    expect(host.querySelector(".bl-under")!.textContent).toContain("loading the model 62 %");
    page.store.link.greet(Promise.resolve({ fields: { kernel: true }, buffers: [] }));
    await quiet();
    expect([field(0).disabled, host.querySelector(".bl-coming")]).toEqual([false, null]);
  });
  it("runs by itself where the last run was quick", async () => {
    const b = await open();
    const text = TOKENS.slice(1, -1).join(" ");
    await comes(b, text);
    type(text);
    enter();
    b.take("trace", { text }).give({});
    await quiet();
    type(`${text} .`);
    await quiet();
    expect(b.model.asked.some(({ message }) => message.op === "trace")).toBe(false);
    await quiet();
    b.take("trace", { text: `${text} .` });
  });
  it("and taken back while it runs is run too, so that field and picture say the same", async () => {
    const b = await open();
    const text = TOKENS.slice(1, -1).join(" ");
    await comes(b, text);
    type(text);
    enter();
    b.take("trace", { text }).give({});
    await quiet();
    type(`${text}x`);
    await quiet();
    await quiet();
    type(text);
    await quiet();
    await quiet();
    await comes(b, `${text}x`);
    expect(field(0).value).toBe(text);
    b.take("trace", { text: `${text}x` }).give({});
    await quiet();
    b.take("trace", { text }).give({});
    await comes(b, text);
    await comes(b, "another"); // from Python: nothing typed waits any more
    expect(field(0).value).toBe("another");
  });
  it("is in the words that can be clicked, letter by letter", async () => {
    const b = await open();
    const text = `${TOKENS.slice(1, -1).join("  ")}\t!`;
    await comes(b, text);
    const mirror = () => host.querySelector(".bl-mirror")!;
    const written = () => [...mirror().querySelectorAll("[data-start]")].map((one) => one.textContent).join("");
    expect(written()).toBe(text);
    expect(mirror().querySelectorAll(".bl-textword")).toHaveLength(0); // of another text
    type("Some other text");
    await quiet();
    expect(written()).toBe("Some other text");
  });
  it("is not lost where the run fails", async () => {
    const b = await open();
    field(0).focus();
    type("too long");
    await submit();
    field(0).blur();
    b.model.asked.find(({ message }) => message.op === "trace")!.give({ error: "too long" });
    await quiet();
    expect(field(0).value).toBe("too long");
  });
});

it("a pointer that moves within a cell leaves what it is on as it is", () => {
  const view = drawn(<Matrix />, bench());
  const cells = host.querySelector(".bl-cells")!;
  const move = (x: number, y: number) => {
    cells.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
    return view.page.hover.value;
  };
  const first = move(0.2, 0.2);
  expect(first).toEqual({ row: 0, col: 0 });
  const changed = vi.fn();
  view.page.hover.subscribe(changed);
  move(0.6, 0.4);
  expect(changed).toHaveBeenCalledTimes(1); // as it subscribed
  const wide = Number.parseFloat((cells as HTMLElement).style.width) / TOKENS.length;
  expect(move(1.5 * wide, 0.4)).toEqual({ row: 0, col: 1 });
});
