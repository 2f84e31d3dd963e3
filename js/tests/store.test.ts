// The store: what is shown, what is asked, and what the link says, with answers late, out of order, wrong and never.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ask, KernelError } from "../src/kernel";
import { Lru } from "../src/state/lru";
import { bench, FakeModel, headAnswer, pictureOf, settled, TOKENS } from "./fake";

const shownHead = ({ store }: ReturnType<typeof bench>) => `${store.shown.value.layer}/${store.shown.value.head}`;
const hello = async ({ model }: ReturnType<typeof bench>, kernel = true) => {
  const n = model.asked.findIndex(({ message }) => message.op === "hello");
  model.asked.splice(n, 1)[0]!.give({ kernel });
  await settled();
};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("link", () => {
  it("is saved until a kernel says hello, then live", async () => {
    const b = bench();
    expect(b.store.link.value.state).toBe("saved");
    expect(b.store.shown.value.picture.queries.tokens).toEqual(TOKENS);
    await hello(b);
    expect(b.store.link.value.state).toBe("live");
    expect(b.store.kernel.value).toBe(true);
  });
  it("stays saved on a page without a kernel, however long nobody answers", async () => {
    const b = bench();
    vi.advanceTimersByTime(60_000);
    expect(b.store.link.value.state).toBe("saved");
    await hello(b, false);
    expect(b.store.link.value.state).toBe("saved");
    expect(b.store.kernel.value).toBe(false);
  });
  it("says asking after 300 ms, slow after 6 s, and live with the late answer", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    vi.advanceTimersByTime(299);
    expect(b.store.link.value.state).toBe("live");
    vi.advanceTimersByTime(1);
    expect(b.store.link.value.state).toBe("asking");
    vi.advanceTimersByTime(5699);
    expect(b.store.link.value.state).toBe("asking");
    vi.advanceTimersByTime(1);
    expect(b.store.link.value).toMatchObject({ state: "slow", behind: true });
    expect(shownHead(b)).toBe("0/0");
    await b.answer(1, 0);
    expect(b.store.link.value.state).toBe("live");
    expect(shownHead(b)).toBe("1/0");
    vi.advanceTimersByTime(60_000); // no timer is left behind
    expect(b.store.link.value.state).toBe("live");
  });
  it("says the kernel's error in its own words and asks again the next time", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    b.model.asked.pop()!.give({ error: "no such head" });
    await settled();
    expect(b.store.link.value).toEqual({ state: "error", text: "no such head" });
    expect(shownHead(b)).toBe("0/0");
    b.synced.put({ layer: 0 });
    b.synced.put({ layer: 1 });
    expect(b.heads()).toEqual(["1/0"]);
    await b.answer(1, 0);
    expect(shownHead(b)).toBe("1/0");
    expect(b.store.link.value.state).toBe("live");
  });
  it("says at once that the kernel is gone when nothing can be sent", async () => {
    const b = bench();
    await hello(b);
    b.model.dead = true;
    b.synced.put({ layer: 1 });
    await settled();
    expect(b.store.link.value).toEqual({ state: "error", text: "no kernel", behind: true });
    expect(shownHead(b)).toBe("0/0");
  });
  it("does not speak of what nobody waits for", async () => {
    const b = bench();
    await hello(b);
    b.store.request("gates", {}, true).catch(() => undefined);
    vi.advanceTimersByTime(60_000);
    expect(b.store.link.value.state).toBe("live");
  });
});

describe("newest selection", () => {
  it("paints, whatever order answers come in", async () => {
    const b = bench();
    b.synced.put({ layer: 1, head: 1 });
    b.synced.put({ layer: 2, head: 2 });
    expect(b.heads()).toEqual(["1/1", "2/2"]);
    await b.answer(2, 2);
    expect(shownHead(b)).toBe("2/2");
    await b.answer(1, 1);
    expect(shownHead(b)).toBe("2/2");
  });
  it("is not painted over by an older answer that comes first", async () => {
    const b = bench();
    b.synced.put({ layer: 1, head: 1 });
    b.synced.put({ layer: 2, head: 2 });
    await b.answer(1, 1);
    expect(shownHead(b)).toBe("0/0");
    await b.answer(2, 2);
    expect(shownHead(b)).toBe("2/2");
  });
  it("asks for a head once, and never for one it has", async () => {
    const b = bench();
    b.synced.put({ layer: 1 });
    b.synced.put({ layer: 0 });
    b.synced.put({ layer: 1 });
    expect(b.heads()).toEqual(["1/0"]);
    await b.answer(1, 0);
    b.synced.put({ layer: 0 });
    expect(shownHead(b)).toBe("0/0");
    b.synced.put({ layer: 1 });
    expect(shownHead(b)).toBe("1/0");
    expect(b.heads()).toEqual([]);
  });
  it("waits until every overlaid head is there", async () => {
    const b = bench();
    b.synced.put({
      heads: [
        [1, 0],
        [0, 0],
        [2, 1],
      ],
    }); // the selected head is not drawn twice
    expect(b.heads()).toEqual(["1/0", "2/1"]);
    await b.answer(2, 1);
    expect(b.store.shown.value.overlays).toEqual([]);
    await b.answer(1, 0);
    expect(b.store.shown.value.overlays.map(({ layer, head }) => [layer, head])).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
  it("that does not exist shows the picture's own head", () => {
    const b = bench();
    b.synced.put({ layer: 99, head: -1, heads: [[7, 7]] });
    expect(shownHead(b)).toBe("0/0");
    expect(b.heads()).toEqual([]);
  });
});

describe("another picture", () => {
  it("shows its own head at once, and an answer for the old text does not paint", async () => {
    const b = bench();
    b.synced.put({ layer: 1 });
    const tokens = ["[CLS]", "new", "[SEP]"];
    b.model.set("picture", pictureOf(tokens, { trace: "t2", layer: 2, head: 3 }));
    expect(shownHead(b)).toBe("2/3");
    expect(b.store.shown.value.slice.S).toBe(3);
    await b.answer(1, 0); // five tokens, of the old text; the new one is asked for too
    expect(b.store.shown.value.slice.S).toBe(3);
    await b.answer(1, 0, tokens);
    expect(shownHead(b)).toBe("1/0");
    expect(b.store.shown.value.slice.S).toBe(3);
  });
  it("of another map is asked for once", async () => {
    const maps = ["encoder", "decoder"];
    const b = bench(pictureOf(TOKENS, { map: "encoder", maps, trace: "e" }));
    b.synced.put({ map: "decoder" });
    const questions = b.model.asked.filter(({ message }) => message.op === "picture");
    expect(questions.map(({ message }) => [message.trace, message.map])).toEqual([["e", "decoder"]]);
    const other = pictureOf(["▁Das", "▁Haus"], { map: "decoder", maps, trace: "d", layer: 1, head: 2 });
    questions[0]!.give(other.header, [other.data]);
    await settled();
    expect(b.store.shown.value.picture.map).toBe("decoder");
    expect(b.store.shown.value.slice.S).toBe(2);
    expect(b.model.asked.filter(({ message }) => message.op === "picture")).toHaveLength(1);
    b.synced.put({ map: "encoder" });
    expect(b.store.shown.value.picture.map).toBe("encoder");
    b.synced.put({ map: "decoder" });
    expect(b.store.shown.value.picture.map).toBe("decoder");
  });
});

describe("an answer that cannot be read", () => {
  it.each([
    ["no index", { arrays: "no" }],
    ["a mask that nobody knows", { ...headAnswer(TOKENS, 1, 0).fields, mask: "sieve" }],
  ])("is said and does not paint: %s", async (_, fields) => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    b.model.asked.pop()!.give(fields, headAnswer(TOKENS, 1, 0).buffers);
    await settled();
    expect(b.store.link.value.state).toBe("error");
    expect(shownHead(b)).toBe("0/0");
  });
});

it("run is running until the kernel has answered, and rejects with its words", async () => {
  const b = bench();
  await hello(b);
  const done = b.store.run("a", "b");
  expect(b.store.running.value).toBe(true);
  const { message, give } = b.model.asked.pop()!;
  expect(message).toMatchObject({ op: "trace", text: "a", text_pair: "b" });
  give({});
  await done;
  expect(b.store.running.value).toBe(false);
  const failed = b.store.run("a", "");
  b.model.asked.pop()!.give({ error: "too long" });
  await expect(failed).rejects.toThrow(new KernelError("too long"));
  expect(b.store.running.value).toBe(false);
});

it("what is taken out listens to nothing and paints nothing", async () => {
  const b = bench();
  b.synced.put({ layer: 1 });
  b.end.abort();
  await settled();
  expect(b.model.listeners).toBe(0);
  b.model.set("layer", 2);
  vi.advanceTimersByTime(60_000);
  expect(shownHead(b)).toBe("0/0");
  expect(b.store.link.value.state).toBe("saved");
});

describe("ask", () => {
  const never = new AbortController().signal;
  it("takes the answer with its own id only", async () => {
    const model = new FakeModel({});
    const first = ask(model.any, "x", { n: 1 }, never);
    const second = ask(model.any, "x", { n: 2 }, never);
    const [a, b] = model.asked;
    expect(a!.message.id).not.toBe(b!.message.id);
    model.emit("msg:custom", null);
    model.emit("msg:custom", { id: "foreign" });
    b!.give({ n: "two" });
    a!.give({ n: "one" });
    expect((await first).fields.n).toBe("one");
    expect((await second).fields.n).toBe("two");
    expect(model.listeners).toBe(0);
  });
  it("stops listening when it is aborted", async () => {
    const model = new FakeModel({});
    const life = new AbortController();
    const answer = ask(model.any, "x", {}, life.signal);
    life.abort(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
    expect(model.listeners).toBe(0);
    await expect(ask(model.any, "x", {}, life.signal)).rejects.toThrow("gone");
  });
});

describe("cache", () => {
  it("lets go of what was used longest ago when it is full", () => {
    const lru = new Lru<string>(100);
    lru.set("a", "A", 40);
    lru.set("b", "B", 40);
    expect(lru.get("a")).toBe("A"); // now b is the oldest
    lru.set("c", "C", 40);
    expect([lru.get("a"), lru.get("b"), lru.get("c")]).toEqual(["A", undefined, "C"]);
    expect(lru.size).toBe(2);
  });
  it("counts a replaced value once", () => {
    const lru = new Lru<string>(100);
    for (let n = 0; n < 10; n++) lru.set("a", String(n), 40);
    lru.set("b", "B", 40);
    expect([lru.get("a"), lru.get("b")]).toEqual(["9", "B"]);
  });
  it("keeps the newest value even where it is too large alone", () => {
    const lru = new Lru<string>(100);
    lru.set("a", "A", 40);
    lru.set("b", "B", 400);
    expect([lru.get("a"), lru.get("b")]).toEqual([undefined, "B"]);
  });
});
