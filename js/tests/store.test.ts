// The store: what is shown, what is asked, and what the link says, with answers late, out of order, wrong and never.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ask, GONE, KernelError, NEEDS_MODEL } from "../src/kernel/kernel";
import { bench, FakeModel, floats, headAnswer, hello, noise, overviewOf, settled, TOKENS } from "./fake";

const shownHead = ({ store }: ReturnType<typeof bench>) =>
  `${store.shownHead.value.layer}/${store.shownHead.value.head}`;
const said = ({ store }: ReturnType<typeof bench>) => store.link.now.value;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("link", () => {
  it("is saved until a kernel says hello, then live", async () => {
    const b = bench();
    expect(said(b).state).toBe("saved");
    expect(b.store.shownHead.value.overview.queries.tokens).toEqual(TOKENS);
    await hello(b);
    expect(said(b).state).toBe("live");
    expect(b.store.link.kernel.value).toBe(true);
  });
  it("stays saved on a page without a kernel, however long nobody answers", async () => {
    const b = bench();
    vi.advanceTimersByTime(60_000);
    expect(said(b).state).toBe("saved");
    await hello(b, false);
    expect(said(b).state).toBe("saved");
    expect(b.store.link.kernel.value).toBe(false);
  });
  it("stays at the one head of a saved page, and says so", async () => {
    const model = { comm_live: false };
    const b = bench(undefined, { layout: model } as never);
    expect([said(b), b.model.asked]).toEqual([{ state: "saved", text: "saved page" }, []]);
    b.synced.put({ layer: 2, head: 3, measure: "norm" });
    await settled();
    const { layer, head } = b.store.shownHead.value;
    expect([b.synced.layer.value, b.synced.head.value, b.synced.measure.value]).toEqual([layer, head, "weight"]);
    expect(said(b).text).toBe(`this page holds only L${layer}·H${head}: run the notebook for others`);
    expect(b.model.asked).toEqual([]);
  });
  it("says at once that the kernel is gone, and that it is back", async () => {
    const host = { comm_live: true, on: (_: string, follow: () => void) => Object.assign(host, { follow }) };
    const b = bench(undefined, { layout: host } as never);
    await hello(b);
    const tell = (comm_live: boolean) => {
      host.comm_live = comm_live;
      (host as unknown as { follow(): void }).follow();
    };
    tell(false);
    expect(said(b)).toMatchObject({ state: "error", text: GONE });
    expect(b.store.link.kernel.value).toBe(false);
    tell(true);
    await hello(b);
    expect(said(b).state).toBe("live");
  });
  it("counts the pieces of a large answer, in whatever order they come, and late", async () => {
    const [b, other] = [bench(), bench()];
    await hello(b);
    const bytes = Uint8Array.from({ length: 8_100_000 }, (_, n) => n % 251);
    const asked = b.store.request("html", { layers: null });
    const { message, give } = b.take("html");
    // another view on the same model hears every message
    const heard = ask(b.model.any, "norms", {}, other.end.signal);
    const piece = (at: number, fields = {}) => {
      const part = new Uint8Array(3 + 3e6).fill(7); // a view may start anywhere
      part.set(bytes.subarray(at, at + 3e6), 3);
      const length = Math.min(3e6, bytes.length - at);
      give({ at, of: bytes.length, ...fields }, [new DataView(part.buffer, 3, length)]);
    };
    piece(3e6, { layers: [1] });
    expect(said(b)).toEqual({ state: "asking", text: "loading 3 of 8 MB" });
    vi.advanceTimersByTime(20_000);
    piece(6e6);
    expect(said(b)).toEqual({ state: "asking", text: "loading 5 of 8 MB" });
    b.take("norms").give({ arrays: [] });
    expect((await heard).buffers).toEqual([]);
    expect(said(b).text).toBe("loading 5 of 8 MB");
    piece(0);
    const { fields, buffers } = await asked;
    expect(fields).toMatchObject({ id: message.id, layers: [1] });
    expect(buffers).toHaveLength(1);
    const whole = new Uint8Array(buffers[0]!.buffer);
    expect([whole.length, whole.findIndex((byte, n) => byte !== bytes[n])]).toEqual([bytes.length, -1]);
    await settled();
    expect(said(b).state).toBe("live");
  });
  it("says no answer where the pieces stop, and takes the last one all the same", async () => {
    const b = bench();
    await hello(b);
    b.synced.head.value = 2;
    const asked = b.store.request("html", {}, 1000);
    const { give } = b.take("html");
    const half = (at: number) => give({ at, of: 4_000_000 }, [new DataView(new ArrayBuffer(2_000_000))]);
    half(0);
    expect(said(b).text).toBe("loading 2 of 4 MB");
    vi.advanceTimersByTime(1000);
    expect(said(b)).toMatchObject({ state: "error", text: "no answer in 1 s" });
    half(2_000_000);
    expect((await asked).buffers[0]!.byteLength).toBe(4_000_000);
  });
  it("speaks of the model and not of Python where the model is in the page", async () => {
    const b = bench();
    await hello(b, true, true);
    b.synced.put({ layer: 1 });
    vi.advanceTimersByTime(301);
    expect(said(b)).toEqual({ state: "asking", text: "waiting for the model …" });
    vi.advanceTimersByTime(6000);
    expect(said(b)).toEqual({ state: "slow", text: "The model in this page is still at work", behind: true });
  });
  it("says asking after 300 ms, slow after 6 s, and live with the late answer", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    vi.advanceTimersByTime(299);
    expect(said(b).state).toBe("live");
    vi.advanceTimersByTime(1);
    expect(said(b).state).toBe("asking");
    vi.advanceTimersByTime(5699);
    expect(said(b).state).toBe("asking");
    vi.advanceTimersByTime(1);
    expect(said(b)).toMatchObject({ state: "slow", behind: true });
    expect(shownHead(b)).toBe("0/0");
    await b.answer(1, 0);
    expect(said(b).state).toBe("live");
    expect(shownHead(b)).toBe("1/0");
    vi.advanceTimersByTime(60_000); // no timer is left behind
    expect(said(b).state).toBe("live");
  });
  it("says the kernel's error in its own words and asks again the next time", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    b.model.asked.pop()!.give({ error: "no such head" });
    await settled();
    expect(said(b)).toEqual({ state: "error", text: "no such head", behind: false });
    expect(shownHead(b)).toBe("0/0");
    b.synced.put({ layer: 0 });
    b.synced.put({ layer: 1 });
    expect(b.heads()).toEqual(["1/0"]);
    await b.answer(1, 0);
    expect(shownHead(b)).toBe("1/0");
    expect(said(b).state).toBe("live");
  });
  it("says at once that the kernel is gone when nothing can be sent", async () => {
    const b = bench();
    await hello(b);
    b.model.dead = true;
    b.synced.put({ layer: 1 });
    await settled();
    expect(said(b)).toEqual({ state: "error", text: GONE, behind: true });
    expect(shownHead(b)).toBe("0/0");
  });
  it("says why nothing can be changed: a saved page has no model, a kernel may be busy or gone", async () => {
    const page = bench();
    await hello(page, false);
    expect(page.store.link.needs.value).toBe(NEEDS_MODEL);
    const b = bench();
    expect(b.store.link.needs.value).toMatch(/^Python has not answered yet: wait/);
    await hello(b);
    b.store.link.lose();
    expect(b.store.link.needs.value).toBe("This needs Python: run the cell again.");
  });
  it("does not speak of what the view itself says where the answer would be", async () => {
    const b = bench();
    await hello(b);
    b.store.answers.get({ op: "x", read: () => null }, { trace: "t1", map: "self" }, {});
    vi.advanceTimersByTime(60_000);
    expect(said(b).state).toBe("live");
  });
  it("keeps an error until its own question succeeds", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    b.take("head").give({ error: "no such head" });
    await settled();
    b.synced.put({ layer: 2 });
    await b.answer(2, 0);
    expect(shownHead(b)).toBe("2/0");
    expect(said(b)).toMatchObject({ state: "error", text: "no such head" });
    b.synced.put({ layer: 1 });
    expect(said(b)).toMatchObject({ state: "error", text: "no such head" });
    await b.answer(1, 0);
    expect(said(b).state).toBe("live");
  });
  it("keeps an error until the reader closes it, the newest first", async () => {
    const b = bench();
    await hello(b);
    for (const layer of [1, 2]) {
      b.synced.put({ layer });
      b.take("head", { layer }).give({ error: `no layer ${layer}` });
      await settled();
    }
    expect(said(b).text).toBe("no layer 2");
    b.store.link.close();
    expect(said(b).text).toBe("no layer 1");
    b.store.link.close();
    expect(said(b).state).toBe("live");
    b.store.link.close();
    expect(said(b).state).toBe("live");
  });
  it("does not speak of a lost connection any more when anything is answered", async () => {
    const b = bench();
    await hello(b);
    b.model.dead = true;
    b.synced.put({ layer: 1 });
    await settled();
    b.model.dead = false;
    b.synced.put({ layer: 2 });
    expect(said(b).text).toBe(GONE);
    await b.answer(2, 0);
    expect(said(b).state).toBe("live");
  });
  it("says what a view has to say, once for each question", () => {
    const b = bench();
    b.store.link.say("export", "not exported: one");
    b.store.link.say("export", "not exported: two");
    expect(said(b)).toEqual({ state: "error", text: "not exported: two" });
    b.store.link.close();
    expect(said(b).state).toBe("saved");
  });
});

describe("time", () => {
  it("ends for a head after a minute, in words, and a late answer is still taken", async () => {
    const b = bench();
    await hello(b);
    b.synced.put({ layer: 1 });
    vi.advanceTimersByTime(59_999);
    expect(said(b).state).toBe("slow");
    vi.advanceTimersByTime(1);
    expect(said(b)).toEqual({ state: "error", text: "no answer in 60 s", behind: true });
    expect(shownHead(b)).toBe("0/0");
    await b.answer(1, 0);
    expect(shownHead(b)).toBe("1/0");
    expect(said(b).state).toBe("live");
  });
  it("ends for all that a selection asks for", async () => {
    const layer_maps = [{ name: "rollout", label: "rollout", about: "", symbol: "R" }];
    const overview = overviewOf(TOKENS, { measures: ["weight", "norm"], layer_maps, maps: ["self", "cross"] });
    const b = bench(overview, { measure: "norm", layer_map: "rollout" });
    await hello(b);
    b.synced.put({ map: "cross" });
    const asked = b.model.asked.map(({ message }) => message.op);
    expect(asked.sort()).toEqual(["layer_map", "norms", "overview", "thumbs"]);
    vi.advanceTimersByTime(60_000);
    for (const _ of asked) {
      expect(said(b).text).toBe("no answer in 60 s");
      b.store.link.close();
    }
    expect(said(b).state).toBe("live");
  });
  it("is longer for what the kernel does once, but ends too", async () => {
    const b = bench();
    await hello(b);
    b.store.request("html", { layers: null }).catch(() => undefined);
    vi.advanceTimersByTime(599_999);
    expect(said(b).state).toBe("slow");
    vi.advanceTimersByTime(1);
    expect(said(b).text).toBe("no answer in 600 s");
  });
  it("ends for a text too, which then can be run again", async () => {
    const b = bench();
    await hello(b);
    b.store.run("a", "").catch(() => undefined);
    vi.advanceTimersByTime(599_999);
    expect(b.store.running.value).toBe(true);
    vi.advanceTimersByTime(1);
    expect(b.store.running.value).toBe(false);
    expect(said(b).text).toBe("no answer in 600 s");
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
  it("is the head that is shown where it was chosen again: a late answer for another does not paint", async () => {
    const b = bench();
    b.synced.put({ layer: 1 });
    b.synced.put({ layer: 0 });
    await b.answer(1, 0);
    expect(shownHead(b)).toBe("0/0");
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
    expect(b.store.shownHead.value.overlays).toEqual([]);
    await b.answer(1, 0);
    expect(b.store.shownHead.value.overlays.map(({ layer, head }) => [layer, head])).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
  it("that does not exist shows the overview's own head", () => {
    const b = bench();
    b.synced.put({ layer: 99, head: -1, heads: [[7, 7]] });
    expect(shownHead(b)).toBe("0/0");
    expect(b.heads()).toEqual([]);
  });
});

describe("a measure", () => {
  const measures = ["weight", "norm"];
  const norms = (layer: number) =>
    floats("norms", [4, TOKENS.length], noise(4 * TOKENS.length, layer + 1).map(Math.abs));

  it("comes with a layer's norms, and head and norms are shown together", async () => {
    const b = bench(overviewOf(TOKENS, { measures }));
    b.synced.put({ layer: 1, head: 2, measure: "norm" });
    await b.answer(1, 2);
    expect([shownHead(b), b.store.shownHead.value.measure]).toEqual(["0/0", "weight"]);
    const { fields, buffers } = norms(1);
    b.take("norms", { layer: 1 }).give(fields, buffers);
    await settled();
    const { weights, values, measure, slice } = b.store.shownHead.value;
    expect([shownHead(b), measure]).toEqual(["1/2", "norm"]);
    const ofHead = noise(4 * TOKENS.length, 2)
      .map(Math.abs)
      .subarray(2 * slice.K, 3 * slice.K);
    expect(Array.from(values.matrix!)).toEqual(
      Array.from(weights.matrix!, (w, n) => Math.fround(w * ofHead[n % slice.K]!)),
    );
    b.synced.put({ head: 1 });
    expect(b.heads()).toEqual(["1/1"]);
    expect(b.model.asked.filter(({ message }) => message.op === "norms")).toEqual([]);
  });
  it("that is not offered is the weight", () => {
    const b = bench(overviewOf(TOKENS), { measure: "norm" });
    expect(b.store.shownHead.value.measure).toBe("weight");
    expect(b.model.asked.map(({ message }) => message.op)).toEqual(["hello"]);
  });
});

describe("a map of a whole layer", () => {
  const layer_maps = [{ name: "rollout", label: "rollout", about: "", symbol: "R" }];
  it("is shown instead of the head when it is here, under its own name", async () => {
    const b = bench(overviewOf(TOKENS, { layer_maps }));
    b.synced.put({ layer_map: "rollout" });
    expect(b.store.shownHead.value.layerMap).toBeNull();
    const values = noise(TOKENS.length ** 2, 5);
    const { fields, buffers } = floats("values", [TOKENS.length, TOKENS.length], values);
    b.take("layer_map", { layer: 0, kind: "rollout" }).give(fields, buffers);
    await settled();
    const { layerMap } = b.store.shownHead.value;
    expect([layerMap?.word, layerMap?.values.matrix]).toEqual([layer_maps[0], values]);
    b.synced.put({ layer_map: "unknown" });
    expect(b.store.shownHead.value.layerMap).toBeNull();
  });
});

describe("another overview", () => {
  it("shows its own head at once, and an answer for the old text does not paint", async () => {
    const b = bench();
    b.synced.put({ layer: 1 });
    const tokens = ["[CLS]", "new", "[SEP]"];
    b.model.set("overview", overviewOf(tokens, { trace: "t2", layer: 2, head: 3 }));
    expect(shownHead(b)).toBe("2/3");
    expect(b.store.shownHead.value.slice.S).toBe(3);
    await b.answer(1, 0); // five tokens, of the old text; the new one is asked for too
    expect(b.store.shownHead.value.slice.S).toBe(3);
    await b.answer(1, 0, tokens);
    expect(shownHead(b)).toBe("1/0");
    expect(b.store.shownHead.value.slice.S).toBe(3);
  });
  it("of another map is asked for once", async () => {
    const maps = ["encoder", "decoder"];
    const b = bench(overviewOf(TOKENS, { map: "encoder", maps, trace: "e" }));
    b.synced.put({ map: "decoder" });
    const question = b.take("overview");
    expect([question.message.trace, question.message.map]).toEqual(["e", "decoder"]);
    const other = overviewOf(["▁Das", "▁Haus"], { map: "decoder", maps, trace: "d", layer: 1, head: 2 });
    question.give(other.header, [other.data]);
    await settled();
    expect(b.store.shownHead.value.overview.map).toBe("decoder");
    expect(b.store.shownHead.value.slice.S).toBe(2);
    b.synced.put({ map: "encoder" });
    expect(b.store.shownHead.value.overview.map).toBe("encoder");
    b.synced.put({ map: "decoder" });
    expect(b.store.shownHead.value.overview.map).toBe("decoder");
    expect(b.model.asked.filter(({ message }) => message.op === "overview")).toEqual([]);
  });
  it("of a map of the old trace does not paint when it comes late", async () => {
    const maps = ["encoder", "decoder"];
    const b = bench(overviewOf(TOKENS, { map: "encoder", maps, trace: "e" }));
    b.synced.put({ map: "decoder" });
    const tokens = ["[CLS]", "new", "[SEP]"];
    b.model.set("overview", overviewOf(tokens, { map: "encoder", maps, trace: "e2" }));
    const late = overviewOf(TOKENS, { map: "decoder", maps, trace: "e" });
    b.take("overview", { trace: "e" }).give(late.header, [late.data]);
    await settled();
    expect(b.store.shownHead.value.overview).toMatchObject({ trace: "e2", map: "encoder" });
    const wanted = overviewOf(tokens, { map: "decoder", maps, trace: "e2" });
    b.take("overview", { trace: "e2" }).give(wanted.header, [wanted.data]);
    await settled();
    expect(b.store.shownHead.value.overview).toMatchObject({ trace: "e2", map: "decoder" });
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
    expect(said(b).state).toBe("error");
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

it("of two runs the one that ends first does not hide the other", async () => {
  const b = bench();
  await hello(b);
  const [first, second] = [b.store.run("a", ""), b.store.run("b", "")];
  const [one, other] = b.model.asked.filter(({ message }) => message.op === "trace");
  one!.give({});
  await first;
  expect(b.store.running.value).toBe(true);
  other!.give({});
  await second;
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
  expect(said(b).state).toBe("saved");
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
