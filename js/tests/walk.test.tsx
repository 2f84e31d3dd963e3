// @vitest-environment happy-dom
// What am I seeing? Its sentences are true of what stands on the screen.
import { signal } from "@preact/signals";
import { render } from "preact";
import { expect, it } from "vitest";
import { Walk } from "../src/frame/walk";
import { createView, ViewContext } from "../src/state/view";
import { bench, hello, overviewOf, settled, TOKENS } from "./fake";

/** The notes of a walk over these parts of a view. */
async function notes(parts: string, traits = {}): Promise<string[]> {
  const b = bench(overviewOf(TOKENS, { lens: true }), { view: "", ...traits });
  await hello(b);
  const view = createView(b.store, signal(false));
  const root = document.createElement("div");
  root.innerHTML = parts;
  document.body.append(root);
  const host = root.appendChild(document.createElement("div"));
  view.root.current = root;
  render(
    <ViewContext.Provider value={view}>
      <Walk />
    </ViewContext.Provider>,
    host,
  );
  const list: string[] = [];
  host.querySelector("button")!.click();
  for (await settled(); list.length < 9 && host.querySelector("p"); await settled()) {
    list.push(host.querySelector("p")!.textContent);
    host.querySelector<HTMLElement>(".bl-primary")!.click();
  }
  root.remove();
  return list;
}

const answer = (inside: string) => `<section class="bl-front-answer">${inside}</section>`;
const row = (kind: string) => `<button class="bl-answer-row"><span class="bl-stretch bl-${kind}"></span></button>`;
const heads = (inside: string) => `<section class="bl-heads-here">${inside}</section>`;
const all = '<button class="bl-open-heads">All heads</button>';

it("it speaks of an answer, and of a loss without the head, where they are seen", async () => {
  expect(await notes(answer(row("lost")))).toEqual([
    "What the model answers, and how much of it is lost without this head.",
  ]);
  expect(await notes(answer(row("stays")))).toEqual(["What the model answers."]);
  expect(await notes(answer("<p>It has no head for an answer.</p>"))).toEqual([
    "What a model answers stands here, where it answers anything.",
  ]);
});

it("it speaks of heads that matter, and of a button to all of them, where they are seen", async () => {
  expect(await notes(heads(`<button class="bl-head-chip"></button>${all}`))).toEqual([
    "Those that matter most to the answer here, and behind the last button all of them.",
  ]);
  expect(await notes(heads(all))).toEqual(["Behind the button all of them."]);
  expect(await notes(heads(all), { view: "gates" })).toEqual([
    "All of them stand below; the button folds them away again.",
  ]);
  expect(await notes(heads(""))).toEqual([]);
});
