// @vitest-environment happy-dom
// Questions and answers: three states, each asked once, kept within a budget; and what a view makes of them.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Answer, arrived, type Kind } from "../src/kernel/answers";
import { Waiting } from "../src/parts/section";
import { useAnswer } from "../src/state/useanswer";
import { createView, type View, ViewContext } from "../src/state/view";
import { isOffered, openTab } from "../src/tabs/opentab";
import { bench, floats, headAnswer, overviewOf, settled, TOKENS } from "./fake";

const OF = { trace: "t1", map: "self" };
const KIND: Kind<number, "double"> = { op: "double", read: ({ fields }) => 2 * Number(fields.n) };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** What is known of a question as long as somebody looks, every state in turn. */
function look(b: ReturnType<typeof bench>, args = {}) {
  const seen: Answer<number>[] = [];
  const end = effect(() => {
    seen.push(b.store.answers.get(KIND, OF, args));
  });
  return { seen, end };
}

describe("an answer", () => {
  it("is asked for, then here", async () => {
    const b = bench();
    const { seen } = look(b, { of: "a" });
    expect(b.model.asked.at(-1)!.message).toMatchObject({ op: "double", ...OF, of: "a" });
    b.take("double").give({ n: 21 });
    await settled();
    expect(seen).toEqual([{ state: "asking" }, { state: "answered", value: 42 }]);
  });
  it("is refused with the kernel's reason, kept while somebody looks, and asked for again by the next", async () => {
    const b = bench();
    const { seen, end } = look(b);
    b.take("double").give({ error: "too large" });
    await settled();
    expect(seen).toEqual([{ state: "asking" }, { state: "refused", reason: "too large" }]);
    expect(b.store.answers.get(KIND, OF, {})).toEqual({ state: "refused", reason: "too large" });
    expect(b.model.asked.map(({ message }) => message.op)).toEqual(["hello"]);
    end();
    const again = look(b);
    b.take("double").give({ n: 1 });
    await settled();
    expect(again.seen).toEqual([{ state: "asking" }, { state: "answered", value: 2 }]);
  });
  it("takes as long as it takes where each of its turns is in time", async () => {
    const b = bench();
    const { seen } = look(b);
    for (let turn = 0; turn < 3; turn++) {
      vi.advanceTimersByTime(40_000);
      b.take("double").give({ again: true });
      await settled();
    }
    b.take("double").give({ n: 21 });
    await settled();
    expect(seen).toEqual([{ state: "asking" }, { state: "answered", value: 42 }]);
  });
  it("is asked for again where it was refused while nobody looked", async () => {
    const b = bench();
    look(b).end();
    b.take("double").give({ error: "too large" });
    await settled();
    expect(look(b).seen).toEqual([{ state: "asking" }]);
    b.take("double");
  });
  it("is asked for again while only a part of the work is done", async () => {
    const b = bench();
    const { seen } = look(b, { of: "a" });
    for (let n = 0; n < 2; n++) {
      b.take("double").give({ again: true });
      await settled();
    }
    expect(seen).toEqual([{ state: "asking" }]);
    expect(b.model.asked.at(-1)!.message).toMatchObject({ op: "double", ...OF, of: "a" });
    b.take("double").give({ n: 4 });
    await settled();
    expect(seen).toEqual([{ state: "asking" }, { state: "answered", value: 8 }]);
  });
  it("says how much of the work is done where the kernel does", async () => {
    const b = bench();
    const { seen } = look(b);
    b.take("double").give({ again: true, done: 0.4 });
    await settled();
    b.take("double").give({ n: 4 });
    await settled();
    expect(seen).toEqual([{ state: "asking" }, { state: "asking", done: 0.4 }, { state: "answered", value: 8 }]);
  });
  it("is not asked for again once nobody looks", async () => {
    const b = bench();
    const { end } = look(b, { of: "a" });
    end();
    b.take("double").give({ again: true, done: 0.4 });
    await settled();
    expect(b.model.asked.map(({ message }) => message.op)).not.toContain("double");
    look(b, { of: "a" });
    b.take("double");
  });
  it("is refused where it cannot be read", async () => {
    const b = bench();
    const { seen } = look(b);
    b.take("double").give({ n: 1, arrays: "no" }, [new DataView(new ArrayBuffer(8))]);
    await settled();
    expect(seen.at(-1)).toEqual({
      state: "refused",
      reason: "an answer that cannot be read (malformed index: not a list)",
    });
  });
  it("is refused after a minute, and here when it comes late", async () => {
    const b = bench();
    const { seen } = look(b);
    vi.advanceTimersByTime(59_999);
    expect(seen.at(-1)).toEqual({ state: "asking" });
    vi.advanceTimersByTime(1);
    expect(seen.at(-1)).toEqual({ state: "refused", reason: "no answer in 60 s" });
    b.take("double").give({ n: 1 });
    await settled();
    expect(seen.at(-1)).toEqual({ state: "answered", value: 2 });
  });
  it("is asked for once, whoever looks, and again for other arguments and other maps", () => {
    const b = bench();
    look(b, { of: "a" });
    look(b, { of: "a" });
    look(b, { of: "b" });
    b.store.answers.get(KIND, { trace: "t1", map: "cross" }, { of: "a" });
    const asked = b.model.asked.slice(1).map(({ message }) => [message.map, message.of]);
    expect(asked).toEqual([
      ["self", "a"],
      ["self", "b"],
      ["cross", "a"],
    ]);
  });
  it("can be waited for", async () => {
    const b = bench();
    const wanted = arrived(() => b.store.answers.get(KIND, OF, { of: "a" }));
    const refused = arrived(() => b.store.answers.get(KIND, OF, { of: "b" }));
    b.take("double", { of: "a" }).give({ n: 4 });
    b.take("double", { of: "b" }).give({ error: "too large" });
    expect(await wanted).toBe(8);
    await expect(refused).rejects.toThrow("too large");
  });
});

describe("what is kept", () => {
  const HEAD = 500; // bytes of a head: q, k and lse, its weights, and room for two other measures of them
  const three: [number, number][] = [
    [1, 0],
    [1, 1],
    [1, 2],
  ];
  const selected = { layer: 1, head: 0, heads: three };

  it("has room for two heads: the third is refused in words, and nothing is asked for in a circle", async () => {
    const b = bench(undefined, selected, 2 * HEAD);
    expect(await b.drain()).toEqual(["head 1/0"]);
    const { layer, head, overlays, refused } = b.store.shownHead.value;
    expect([layer, head, overlays]).toEqual([1, 0, []]);
    expect(refused).toMatch(/^3 heads of 5 tokens need \d+ MB, the page holds \d+ MB: fewer heads$/);
    b.synced.put({ heads: three.slice(0, 2) });
    expect(await b.drain()).toEqual(["head 1/1"]);
    expect([b.store.shownHead.value.overlays.length, b.store.shownHead.value.refused]).toEqual([1, ""]);
  });
  it("has room for three heads where they fit, each asked for once", async () => {
    const b = bench(undefined, selected, 3 * HEAD);
    expect(await b.drain()).toEqual(["head 1/0", "head 1/1", "head 1/2"]);
    expect([b.store.shownHead.value.overlays.length, b.store.shownHead.value.refused]).toEqual([2, ""]);
  });
  it("never lets go of what is looked at, even beyond the limit", async () => {
    const b = bench(overviewOf(TOKENS, { measures: ["weight", "norm"] }), {}, 2 * HEAD);
    b.synced.put({ layer: 1, head: 0, heads: [[2, 0]], measure: "norm" });
    const asked = await b.drain(({ op, layer, head }) => {
      if (op === "norms") return floats("norms", [4, TOKENS.length], new Float32Array(4 * TOKENS.length).fill(1));
      if (op === "head") return headAnswer(TOKENS, Number(layer), Number(head));
      const thumbs = floats("thumbs", [1], new Float32Array(1));
      return { ...thumbs, fields: { ...thumbs.fields, arrays: [...thumbs.fields.arrays, THUMB_MAX] } };
    });
    expect(asked.sort()).toEqual(["head 1/0", "head 2/0", "norms 1", "norms 2", "thumbs "]);
    expect(b.store.shownHead.value).toMatchObject({ layer: 1, measure: "norm", overlays: [{ layer: 2 }] });
    b.synced.put({ heads: [[2, 0]] });
    expect(await b.drain()).toEqual([]);
  });
  it("is what was used last: an older head is asked for again, a newer one is not", async () => {
    const b = bench(undefined, {}, 2 * HEAD);
    const choose = (head: number) => {
      b.synced.put({ layer: 1, head });
      return b.drain();
    };
    expect(await choose(0)).toEqual(["head 1/0"]);
    expect(await choose(1)).toEqual(["head 1/1"]);
    expect(await choose(0)).toEqual([]);
    expect(await choose(2)).toEqual(["head 1/2"]); // in the place of 1/1
    expect(await choose(0)).toEqual([]);
    expect(await choose(1)).toEqual(["head 1/1"]);
    b.synced.put({ layer: 0, head: 0 });
    expect(await b.drain()).toEqual([]); // it came with the overview
  });
  it("is one answer that is too large alone, until the next one comes", async () => {
    const b = bench(undefined, {}, 1);
    expect(b.store.shownHead.value.layer).toBe(0);
    for (const layer of [1, 2, 1]) {
      b.synced.put({ layer });
      expect(await b.drain()).toEqual([`head ${layer}/0`]);
      expect(b.store.shownHead.value.layer).toBe(layer);
    }
  });
});

const THUMB_MAX = { name: "thumb_max", dtype: "float32", shape: [1], offset: 0 };

describe("in a view", () => {
  const needy: Kind<number> = { ...KIND, needs: "gates" };

  /** A component that shows an answer, in a view of its own. */
  function show(kind: Kind<number>, overview = overviewOf(TOKENS)) {
    const b = bench(overview);
    const of = signal("a");
    const host = document.createElement("div");
    const Shows = () => {
      const answer = useAnswer(kind, { of: of.value });
      return answer.state === "answered" ? <p>{answer.value}</p> : <Waiting answer={answer} doing="computing" />;
    };
    render(
      <ViewContext.Provider value={createView(b.store, signal(false))}>
        <Shows />
      </ViewContext.Provider>,
      host,
    );
    const text = async () => {
      await settled();
      await vi.advanceTimersByTimeAsync(50); // the drawing waits for a frame
      return host.textContent;
    };
    return { ...b, of, text };
  }

  it("what the maps do not offer is refused with the reason, and not asked", async () => {
    const { text, model } = show(needy, overviewOf(TOKENS, { offers: { gates: "no gates for half a map" } }));
    expect(await text()).toBe("no gates for half a map");
    expect(model.asked.map(({ message }) => message.op)).toEqual(["hello"]);
  });
  it("the last answer stays while the next one is on its way", async () => {
    const { text, take, of } = show(needy);
    expect(await text()).toBe("computing …");
    take("double", { of: "a" }).give({ n: 1 });
    expect(await text()).toBe("2");
    of.value = "b";
    expect(await text()).toBe("2");
    take("double", { of: "b" }).give({ n: 2 });
    expect(await text()).toBe("4");
  });
  it("but not when it is of another text", async () => {
    const { text, take, model } = show(needy);
    take("double").give({ n: 1 });
    expect(await text()).toBe("2");
    model.set("overview", overviewOf(TOKENS, { trace: "t2" }));
    expect(await text()).toBe("computing …");
    take("double", { trace: "t2" }).give({ error: "too large" });
    expect(await text()).toBe("too large");
  });
});

describe("the open tab", () => {
  const open = (reasons: Record<string, string | null>, more = {}) => {
    const tabs = Object.entries(reasons).map(([name, why_not]) => ({ ...WORDS, name, why_not }));
    const { store } = bench(overviewOf(TOKENS, { tabs }), { parts: Object.keys(reasons), view: "gates", ...more });
    const view: View = createView(store, signal(false));
    return { view, name: () => openTab(view)?.name };
  };
  const WORDS = { label: "", about: "", questions: {} };

  it("is the widget's own, also with nothing to show if it was chosen or there is no head beside it, else the first that has something", () => {
    expect(open({ neurons: "", gates: "" }).name()).toBe("gates");
    const reasons = { neurons: "no q and k", gates: "no gates", table: "" };
    expect(open(reasons).name()).toBe("gates"); // a widget about gates
    const { view, name } = open(reasons, { parts: ["head", ...Object.keys(reasons)] });
    expect(name()).toBe("table");
    view.page.tabChosen.value = true;
    expect(name()).toBe("gates");
  });
  it("is none that nobody asked for or that the widget leaves out", () => {
    const { view, name } = open({ gates: null, table: "" });
    view.page.tabChosen.value = true;
    expect(name()).toBe("table");
    expect(open({ neurons: "", gates: "" }, { parts: ["neurons"] }).name()).toBe("neurons");
    expect(open({}).name()).toBeUndefined();
  });
  it("stands beside those that have something to show, and a corpus that was given", () => {
    const { view } = open({ norms: "no norms", gates: "no gates", table: "", survey: "another model" });
    view.page.tabChosen.value = true;
    const offered = view.overview.tabs.filter((tab) => isOffered(view, tab)).map(({ name }) => name);
    expect(offered).toEqual(["gates", "table", "survey"]);
  });
});
