// Going back, handing a state on, finding a token, and numbers of a row, apart from any page.
import { signal } from "@preact/signals";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pythonLines } from "../src/frame/python";
import { SETTINGS } from "../src/generated/vocabulary";
import { matches } from "../src/head/find";
import { createHistory } from "../src/state/history";
import { createPage } from "../src/state/page";
import { entropyOf, unitValues, variationOf } from "../src/state/rows";
import { fragmentOf, restore, settingsOf, stateFrom, stateOf } from "../src/state/snapshot";
import { createView } from "../src/state/view";
import { bench, overviewOf, settled, TOKENS } from "./fake";

describe("history", () => {
  const state = signal<Record<string, unknown>>({});
  const subject = signal("one");
  let history: ReturnType<typeof createHistory>;
  let end: () => void;
  const go = async (next: Record<string, unknown>) => {
    state.value = next;
    await settled();
  };
  beforeEach(async () => {
    vi.useFakeTimers({ now: 10_000 });
    [state.value, subject.value] = [{ head: 0 }, "one"];
    history = createHistory(
      () => state.value,
      () => subject.value,
      (old) => {
        state.value = old;
      },
    );
    end = history.watch();
    await settled();
  });
  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  it("goes back and forward, and forgets the way forward after another step", async () => {
    expect(history.canUndo.value).toBe(false);
    await go({ head: 1 });
    await go({ head: 2 });
    history.undo();
    await settled();
    expect(state.value).toEqual({ head: 1 });
    history.redo();
    await settled();
    expect(state.value).toEqual({ head: 2 });
    history.undo();
    history.undo();
    expect(state.value).toEqual({ head: 0 });
    history.undo(); // nothing before
    expect(state.value).toEqual({ head: 0 });
    await go({ head: 7 });
    expect(history.canRedo.value).toBe(false);
  });
  it("takes what changes together, and the moves of a slider, as one step", async () => {
    state.value = { head: 1 };
    await go({ head: 1, query: 3 });
    for (const least of [0.1, 0.2, 0.3]) {
      vi.advanceTimersByTime(200);
      await go({ head: 1, query: 3, line_minimum: least });
    }
    history.undo();
    expect(state.value).toEqual({ head: 1, query: 3 });
    history.undo();
    expect(state.value).toEqual({ head: 0 });
  });
  it("begins anew with another text", async () => {
    await go({ head: 1 });
    subject.value = "two";
    await settled();
    expect(history.canUndo.value).toBe(false);
  });
});

describe("a state", () => {
  const make = (more = {}) => {
    const { store, end } = bench(overviewOf(TOKENS), more);
    return { view: createView(store, signal(false)), end };
  };
  it("holds only what is not the default, and comes back from an address", () => {
    const { view } = make({ layer: 1, head: 2, query: 3, measure: "norm", view: "neurons" });
    view.page.atlasOrder.value = "cell";
    view.page.muted.value = new Set(["L1·H2"]);
    view.page.thresholds.value = [0.5, 0.2];
    const state = stateOf(view);
    expect(state).toEqual({
      ...{ layer: 1, head: 2, query: 3, measure: "norm", view: "neurons" },
      ...{ atlas_order: "cell", muted: ["L1·H2"], thresholds: [0.5, 0.2] },
    });
    const { view: other } = make({ head: 3, key: 1 });
    other.page.allKeys.value = true;
    restore(other, stateFrom(fragmentOf(view))!);
    expect(stateOf(other)).toEqual(state); // what it does not name is the default again
    expect(other.page.allKeys.value).toBe(false);
  });
  it("has a signal for every setting, with the default of the kernel", () => {
    const page = createPage();
    expect(settingsOf({ page })).toEqual({});
    expect(page.lineMinimum.value).toBe(SETTINGS.line_minimum);
    expect([...page.muted.value]).toEqual([]);
  });
  it("starts where the kernel sets it", () => {
    const { view } = make({ settings: { atlas_order: "entropy", corpus: { by: "norm" } } });
    expect(view.page.atlasOrder.value).toBe("entropy");
    expect(view.page.corpus.value).toEqual({ ...SETTINGS.corpus, by: "norm" });
    view.synced.settings.value = { line_minimum: 0.3 };
    expect([view.page.lineMinimum.value, view.page.atlasOrder.value]).toEqual([0.3, "entropy"]);
  });
  it.each([
    ["", null],
    ["#other", null],
    ["#bertlens=%", null],
    ["#bertlens=[", null],
    [`#bertlens=${encodeURIComponent('{"layer":-1,"head":1.5,"query":"x","mode":7,"heads":[[1]],"theme":null}')}`, {}],
    [`#bertlens=${encodeURIComponent('{"overview":{},"parts":[],"__proto__":1,"thresholds":[1],"muted":[2]}')}`, {}],
    [`#bertlens=${encodeURIComponent('{"layer":3,"key":2,"all_keys":true}')}`, { layer: 3, key: 2, all_keys: true }],
  ])("in an address %s", (hash, expected) => {
    expect(stateFrom(hash)).toEqual(expected);
  });
  it("is the last line of Python", () => {
    const { view } = make({ layer: 0, head: 0, hide_special: true, heads: [[1, 2]] });
    view.page.commonScale.value = true;
    view.page.gateFilter.value = `a"b\\`;
    expect(pythonLines(view).trim().split("\n").at(-1)).toBe(
      'trace.explore(layer=0, head=0, heads=[[1, 2]], view="neurons", hide_special=True, settings={"common_scale": True, "gate_filter": "a\\"b\\\\"})',
    );
  });
});

describe("finding", () => {
  const units = ["[CLS]", "The", "cat", "2", "##cat", "theatre", "the"].map((label, n) => ({
    ...{ label, pieces: [n], segment: 0, special: false },
  }));
  it.each([
    ["the", [1, 6, 5]], // what is so before what holds it
    ["CAT", [2, 4]],
    ["2", [2, 3]], // a place before a text
    ["#5", [5]],
    ["99", []],
    ["  ", []],
  ])("%s", (text, found) => {
    expect(matches(units, text)).toEqual(found);
  });
});

describe("numbers of a row", () => {
  it("are the entropy, and what moves between two rows whatever they sum to", () => {
    expect(entropyOf(Float32Array.of(0.5, 0.5, 0))).toBeCloseTo(Math.LN2, 12);
    expect(entropyOf(Float32Array.of(1, 0))).toBe(0);
    expect(variationOf(Float32Array.of(0.5, 0.5), Float32Array.of(0, 4))).toBeCloseTo(0.5, 12);
    expect(variationOf(Float32Array.of(1, 3), Float32Array.of(2, 6))).toBe(0);
    expect(entropyOf(Float32Array.of(Number.NaN, 0))).toBeNaN();
  });
  it("are summed over a unit's pieces as the head view does", () => {
    const unit = (...pieces: number[]) => ({ label: "", pieces, segment: 0, special: false });
    const row = Float32Array.of(0.5, 0.125, 0.125, 0.25);
    expect([...unitValues(row, [unit(0), unit(1, 2), unit(3)], false)]).toEqual([0.5, 0.25, 0.25]);
    expect([...unitValues(row, [unit(1, 2), unit(3)], true)]).toEqual([0.5, 0.5]);
  });
});
