// @vitest-environment happy-dom
// The Export menu: what a live page takes is asked for once the menu is open, and said before it is made.
import { signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, describe, expect, it } from "vitest";
import { ExportMenu } from "../src/frame/exportmenu";
import { createView, ViewContext } from "../src/state/view";
import { bench, hello, overviewOf, quiet, TOKENS } from "./fake";

const host = document.createElement("div");
document.body.append(host);
afterEach(() => render(null, host));

const button = (name: string) =>
  [...host.querySelectorAll("button")].find(({ textContent }) => textContent?.startsWith(name));

async function menu({ kernel = true, page = false, lesson = {} } = {}) {
  const b = bench(overviewOf(TOKENS, { lens: true }), { text: "old", text_pair: "", lesson });
  await hello(b, kernel, page);
  const view = createView(b.store, signal(false));
  view.root.current = host;
  render(
    <ViewContext.Provider value={view}>
      <ExportMenu />
    </ViewContext.Provider>,
    host,
  );
  await quiet();
  const asked = b.model.asked.filter(({ message }) => message.op === "live_cost").length;
  const details = host.querySelector("details")!;
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  await quiet();
  return { b, asked };
}

describe("a live page", () => {
  it("has its size said before it is made", async () => {
    const { b, asked } = await menu();
    expect(asked).toBe(0);
    b.take("live_cost").give({ size: 52_300_000, seconds: 8.2, why_not: "" });
    await quiet();
    const item = button("Live page with this state")!;
    expect(item.textContent).toBe("Live page with this state (HTML, about 53 MB, 9 s to write)");
    expect(item.disabled).toBe(false);
    item.click();
    expect(b.take("html").message).toMatchObject({ live: true });
  });

  it("is refused with the reason", async () => {
    const { b } = await menu();
    b.take("live_cost").give({ size: 0, seconds: 0, why_not: "it has no model that a page could carry" });
    await quiet();
    expect(button("Live page with this state")!.disabled).toBe(true);
    expect(host.textContent).toContain("it has no model that a page could carry");
  });

  it("is not offered where no kernel could write it", async () => {
    await menu({ kernel: false });
    expect(button("Live page")).toBeUndefined();
    render(null, host);
    await menu({ page: true });
    expect(button("Live page")).toBeUndefined();
  });
});

describe("what Python writes", () => {
  const pages = ["Page without kernel", "Page with layer 0"];
  it.each([
    ["a notebook", {}, false, /^$/],
    ["a live page", { page: true }, true, /^This needs Python/],
    ["a saved page", { kernel: false }, true, /needs the model|Run the cell/i],
  ])("is not offered where it would be refused: %s", async (_, link, refused, why) => {
    await menu(link);
    expect(pages.map((name) => button(name)!.disabled)).toEqual([refused, refused]);
    expect(button(pages[0]!)!.title).toMatch(why);
    const files = [...host.querySelectorAll("button")].filter(({ textContent }) => textContent === "PDF");
    expect(files.map(({ disabled }) => disabled)).toEqual([refused, refused]); // of the screen and of the head
    expect(host.textContent!.includes("Grey: ")).toBe(refused);
  });
});

describe("a hand-out", () => {
  it("is offered where a lesson stands beside the view", async () => {
    await menu();
    expect(button("Hand-out")).toBeUndefined();
    render(null, host);
    const { b } = await menu({
      lesson: { title: "A row", lang: "en", model: "", steps: [{ title: "", text: "Look." }] },
    });
    button("Hand-out")!.click();
    expect(b.take("handout")).toBeDefined();
  });
});
