// The page's side of its model: what it says where the model stops, and of runs that take long.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connect, type Host } from "../src/engine/connect";
import { STOPPED } from "../src/engine/line";
import type { ToModel, ToPage } from "../src/engine/serve";
import { ANOTHER_TEXT } from "../src/generated/phrases";
import { NEEDS_PYTHON } from "../src/kernel/needs";

/** A Worker that answers what a test has it answer, and says that it is there while it has nothing to do. */
class Fake {
  static last: Fake;
  heard: ToModel[] = [];
  ended = false;
  state: "idle" | "at work" | "gone" = "idle";
  onmessage: ((event: { data: ToPage }) => void) | null = null;
  onerror: ((event: unknown) => void) | null = null;
  constructor() {
    Fake.last = this;
    setTimeout(() => this.says({ kind: "here" }));
  }
  says = (data: ToPage) => this.onmessage?.({ data });
  postMessage = (message: ToModel) => {
    this.heard.push(message);
    if (message.kind === "there" && this.state === "idle") setTimeout(() => this.says({ kind: "here" }));
    if (message.kind === "ask" && this.state === "idle") this.state = "at work";
  };
  terminate = () => {
    this.ended = true;
  };
}

const said: string[] = [];
const host = () =>
  ({
    code: "",
    carried: { texts: [{ trace: "own" }] },
    texts: [],
    part: () => Promise.reject(new Error("no part")),
    answer: async () => [{ error: "not carried" }],
    show: async () => undefined,
    changed: () => undefined,
    say: (text: string) => said.push(text),
  }) as unknown as Host;
const ASKED = { op: "head", trace: "here 1", layer: 0, head: 0 };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("Worker", Fake);
  vi.stubGlobal("URL", { createObjectURL: () => "", revokeObjectURL: () => undefined });
  said.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function loaded() {
  const ask = connect(host());
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.says({ kind: "loaded", fast: true });
  return ask;
}

const isThere = async (ask: ReturnType<typeof connect>) => {
  const { kernel, why } = (await ask({ op: "hello" }))[0];
  expect(why === "").toBe(kernel);
  return kernel;
};

test("a model that breaks after it was loaded says so, to what waits and to what comes", async () => {
  const ask = await loaded();
  expect(await isThere(ask)).toBe(true);
  const waiting = ask(ASKED);
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.onerror!({});
  expect(await waiting).toEqual([{ error: STOPPED, stale: false }]);
  expect(await ask(ASKED)).toEqual([{ error: STOPPED, stale: false }]);
  expect(await isThere(ask)).toBe(false);
  expect(said.at(-1)).toBe(STOPPED);
  expect(Fake.last.ended).toBe(true);
});

test("a model that says nothing for a minute is given up, one that works long is not", async () => {
  const ask = await loaded();
  const first = ask(ASKED);
  for (let n = 0; n < 60; n++) {
    await vi.advanceTimersByTimeAsync(4000);
    Fake.last.says({ kind: "here" });
  }
  expect(Fake.last.heard.filter(({ kind }) => kind === "there").length).toBeGreaterThan(20);
  expect(Fake.last.ended).toBe(false);
  Fake.last.state = "idle";
  Fake.last.says({ kind: "answer", id: 1, answer: { fields: { done: 1 } } });
  expect(await first).toEqual([{ done: 1 }, []]);
  await vi.advanceTimersByTimeAsync(600_000); // nothing is asked
  expect(Fake.last.ended).toBe(false);
  const second = ask(ASKED);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(Fake.last.ended).toBe(false);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await second).toEqual([{ error: STOPPED, stale: false }]);
});

test("a model that is gone without a word is missed in seconds, asked or not", async () => {
  await loaded();
  await vi.advanceTimersByTimeAsync(20_000);
  Fake.last.state = "gone";
  await vi.advanceTimersByTimeAsync(7000);
  expect(said.at(-1)).toBe(STOPPED);
  const ask = await loaded();
  Fake.last.state = "gone";
  const waiting = ask(ASKED);
  await vi.advanceTimersByTimeAsync(7000);
  expect(await waiting).toEqual([{ error: STOPPED, stale: false }]);
});

test("what is asked before the model is there waits for it, or for why it cannot be had", async () => {
  const ask = connect(host());
  await vi.advanceTimersByTimeAsync(10);
  expect(await ask({ op: "nothing of a page" })).toEqual([{ error: NEEDS_PYTHON }]);
  const [first, second] = [ask(ASKED), ask({ ...ASKED, head: 1 })];
  await vi.advanceTimersByTimeAsync(5000);
  expect(Fake.last.heard.filter(({ kind }) => kind === "ask")).toEqual([]);
  Fake.last.says({ kind: "loaded", fast: true });
  await vi.advanceTimersByTimeAsync(100);
  Fake.last.says({ kind: "answer", id: 1, answer: { fields: { done: 1 } } });
  Fake.last.says({ kind: "answer", id: 2, answer: { fields: { done: 2 } } });
  expect([await first, await second]).toEqual([
    [{ done: 1 }, []],
    [{ done: 2 }, []],
  ]);
  const other = connect(host());
  await vi.advanceTimersByTimeAsync(10);
  const waiting = other(ASKED);
  Fake.last.says({ kind: "broken", why: "no memory" });
  await vi.advanceTimersByTimeAsync(100);
  expect(await waiting).toEqual([{ error: "The model cannot be run here: no memory", stale: false }]);
});

test("weights that do not come are said to every later question too", async () => {
  const ask = connect(host());
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.says({ kind: "wanted", part: 0 });
  await vi.advanceTimersByTimeAsync(10);
  expect(said).toEqual(["The model cannot be run here: no part"]);
  expect(await ask(ASKED)).toEqual([{ error: "The model cannot be run here: no part", stale: false }]);
  expect(await isThere(ask)).toBe(false);
});

test("a long run says how long it will take, and then no more", async () => {
  const ask = await loaded();
  const own = said.at(-1);
  const run = ask({ op: "trace", text: "x" });
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.says({ kind: "long", tokens: 512, seconds: 3 });
  expect(said.at(-1)).toBe("512 tokens: about 3 s. What you type stays on this page.");
  Fake.last.says({ kind: "answer", id: 1, answer: { fields: {}, show: "own" } });
  await run;
  expect(said.at(-1)).toBe(own);
  const short = ask({ op: "trace", text: "y" });
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.says({ kind: "answer", id: 2, answer: { fields: {}, show: "own" } });
  await short;
  expect(said.length).toBe(3);
});

test("what was asked of a text that is gone is no fault", async () => {
  const ask = await loaded();
  const late = ask(ASKED);
  await vi.advanceTimersByTimeAsync(10);
  Fake.last.says({ kind: "answer", id: 1, error: ANOTHER_TEXT });
  expect(await late).toEqual([{ error: ANOTHER_TEXT, stale: true }]);
});

test("a text that is on its way is not overtaken by what is done to the one before", async () => {
  const ask = await loaded();
  const text = ask({ op: "trace", text: "x" });
  const late = ask({ op: "change", trace: "here 1", changes: [["hide", 1]] });
  await vi.advanceTimersByTimeAsync(10);
  expect((await late)[0].stale).toBe(true);
  expect(Fake.last.heard.filter(({ kind }) => kind === "ask").length).toBe(1);
  Fake.last.says({ kind: "answer", id: 1, answer: { fields: { is: "shown" }, show: "own" } });
  expect(await text).toEqual([{ is: "shown" }, []]);
  ask({ op: "change", trace: "own", changes: [["hide", 1]] });
  await vi.advanceTimersByTimeAsync(10);
  expect(Fake.last.heard.filter(({ kind }) => kind === "ask").length).toBe(2);
});
