// @vitest-environment happy-dom
// What the page makes of changes by itself: ranks, the strongest heads, places of labels, and the way back.
import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, it } from "vitest";
import { changeColour } from "../src/atlas/headvalues";
import { answersOf, changeValues, effect, movedMost, spearman, strongest } from "../src/state/effects";
import { createView, useView, ViewContext } from "../src/state/view";
import { tagsWords } from "../src/whatif/bar";
import { toggle, toSelected, undo } from "../src/whatif/doing";
import { Matters } from "../src/whatif/headeffects";
import { spread } from "../src/whatif/slopes";
import { floats as answerOf, bench, HEADS, hello, LAYERS, overviewOf, settled, TOKENS } from "./fake";

const floats = (...values: number[]) => Float32Array.from(values);

describe("numbers of heads", () => {
  it("correlates ranks, ties by their mean", () => {
    expect(spearman(floats(1, 2, 3, 4), floats(10, 20, 30, 45))).toBeCloseTo(1);
    expect(spearman(floats(1, 2, 3, 4), floats(4, 3, 2, 1))).toBeCloseTo(-1);
    // ranks 0.5 0.5 2 3 against 0 1 2 3: 4.5 / √(4.5 · 5)
    expect(spearman(floats(1, 1, 2, 3), floats(1, 2, 3, 4))).toBeCloseTo(4.5 / Math.sqrt(4.5 * 5));
    expect(spearman(floats(1, 1), floats(1, 2))).toBeNaN();
  });
  it("names the strongest of a sign, five at most, the largest first", () => {
    const values = floats(0, -3, 2, Number.NaN, -1, -2, -4, -5, -6);
    expect(strongest(values, 3, -1).map(({ name }) => name.join("."))).toEqual(["2.2", "2.1", "2.0", "0.1", "1.2"]);
    expect(strongest(values, 3, 1)).toEqual([{ name: [0, 2], value: 2 }]);
  });
  it("writes a change with its sign, and none for what rounds to nothing", () => {
    expect([0.0324, -0.0324, 0.0004, -0.0004, Number.NaN].map(effect)).toEqual([
      "+0.032",
      "−0.032",
      "0.000",
      "0.000",
      "–",
    ]);
  });
});

it("keeps labels a line apart, in the order of their values", () => {
  const found = spread([50, 30, 31, 32], 26);
  expect(found[1]).toBe(30);
  expect(found[2]! - found[1]!).toBeGreaterThanOrEqual(14);
  expect(found[3]! - found[2]!).toBeGreaterThanOrEqual(14);
  expect(found[0]! - found[3]!).toBeGreaterThanOrEqual(14);
});

const WhichMatter = () => {
  const answers = answersOf(useView());
  return answers.state === "answered" ? <Matters answers={answers.value} /> : null;
};

it("leaves the pictures where no head comes after the change", async () => {
  const colour = async (values: number[]) => {
    const change = { id: "c", label: "L2·H1 off", about: "", code: "", off: true };
    const moved = floats(...values);
    const b = bench(overviewOf(TOKENS, { changes: [change] }));
    const view = createView(b.store, signal(false));
    changeColour(view);
    await settled();
    const answer = answerOf("moved", [values.length], moved);
    b.take("moved").give(answer.fields, answer.buffers);
    await settled();
    return changeColour(view);
  };
  const none = new Array(LAYERS * HEADS).fill(Number.NaN);
  expect(await colour(none)).toBe("");
  expect(await colour([...none.slice(1), 0.1])).toBe("moved");
});

describe("which heads matter", () => {
  const opened = async (kind = "words") => {
    const b = bench(overviewOf(TOKENS, { subject: "text" }));
    const view = createView(b.store, signal(false));
    view.page.whatif.colour.value = "matters";
    const root = document.createElement("div");
    const inView = (
      <ViewContext.Provider value={view}>
        <WhichMatter />
      </ViewContext.Provider>
    );
    render(inView, root);
    await settled();
    const metrics = [["m", "logit of “cat”", "nats"]];
    b.take("answers").give({
      kind,
      unit: "probability",
      rows: [],
      metrics,
      choices: [],
      places: [],
      why_not: "",
    });
    await settled();
    const give = async (op: string, values: number[] | string) => {
      const answer = answerOf("values", [values.length], Float32Array.from(values as number[]));
      if (typeof values === "string") b.take(op).give({ error: values });
      else b.take(op).give(answer.fields, answer.buffers);
      await settled();
    };
    const said = () => root.querySelector<HTMLElement>("[data-testid=matters]")!.textContent!;
    const value = () => changeValues(view, "matters")!;
    return { give, said, value };
  };
  const nothing = new Array(LAYERS * HEADS).fill(Number.NaN);

  it("says that nothing is computed where a page cannot, and names no head and no “none”", async () => {
    const { give, said, value } = await opened();
    await give("matters", "no kernel here");
    await give("matters_exact", "no kernel here");
    expect(said()).toContain("Not computed: no kernel here");
    expect(said()).not.toMatch(/none|falls/);
    expect(value()).toMatchObject({ absent: true, label: "logit of “cat” without the head, change (not computed)" });
    expect(value().text!(Number.NaN)).toBe("–");
  });
  it("says how far a sweep is until it ends, and “none” only then", async () => {
    const { give, said, value } = await opened();
    await give("matters", nothing);
    expect(said()).toContain(`0 of ${LAYERS * HEADS} heads tried so far (●) …`);
    expect(said()).not.toMatch(/none|falls/);
    await give("matters_exact", [0, 0.2, 0, 0]);
    expect(said()).toMatch(
      /Without these .* falls: none so far.*Without these it rises: L0·H1 \+0\.200.*4 of 12 heads tried so far/s,
    );
    expect(value()).toMatchObject({ absent: false });
    expect(value().label).toMatch(/ \(being computed\)$/);
    expect(value().text!(Number.NaN)).toBe("…");
    for (let layer = 1; layer < LAYERS; layer++) await give("matters_exact", [0, 0, 0, 0]);
    expect(said()).toMatch(/falls: none *Without these it rises.*All 12 heads tried, in this text\./s);
    expect(value().label).toBe("logit of “cat” without the head, change");
  });
  it("says of one text how its vector turns: a cosine with itself cannot rise", async () => {
    const { give, said } = await opened("embedding");
    await give("matters", nothing);
    await give("matters_exact", [-0.081, -0.02, 0, 0]);
    expect(said()).toMatch(/The text’s vector turns most without: L0·H0 0\.081L0·H1 0\.020/);
    expect(said()).not.toMatch(/rises|falls/);
  });
  it("tells heads that hardly matter apart", async () => {
    const { give, said } = await opened();
    await give("matters", nothing);
    await give("matters_exact", [-0.0004, 0.0003, 0.00031, 0]);
    expect(said()).toMatch(/falls: L0·H0 −0\.0004.*L0·H2 \+0\.00031.*L0·H1 \+0\.00030/s);
  });
});

it("tells heads that look elsewhere by little apart", async () => {
  const moved = new Float32Array(LAYERS * HEADS);
  moved.set([0, 0.0004, 0.0002]);
  const b = bench(overviewOf(TOKENS, { subject: "text" }));
  const view = createView(b.store, signal(false));
  expect(movedMost(view)).toBe("");
  const { fields, buffers } = answerOf("moved", [moved.length], moved);
  b.take("moved").give(fields, buffers);
  await settled();
  expect(movedMost(view)).toMatch(
    /^Heads that now look elsewhere: L0·H1 0\.0004, L0·H2 0\.0002 \(0 = the same, 0\.693 = nowhere the same\)\./,
  );
});

it("names the heads that move a number most, and none that only rounding moves", () => {
  expect(strongest(Float32Array.from([0.125, -0.25, Number.NaN, -0.5]), 2, -1)).toEqual([
    { name: [1, 1], value: -0.5 },
    { name: [0, 1], value: -0.25 },
  ]);
  const moved = Float32Array.from([4e-7, 2e-7, Number.NaN, 0]);
  expect(strongest(moved, 2, 1)).toEqual([]);
  expect(
    strongest(
      moved.map((value) => -3 * value),
      2,
      -1,
    ),
  ).toEqual([
    { name: [0, 0], value: Math.fround(-3 * Math.fround(4e-7)) },
    { name: [0, 1], value: Math.fround(-3 * Math.fround(2e-7)) },
  ]);
});

it("says of tokens' labels that they changed only where they did", () => {
  const rows = [0.5, 0.25].map((before, position) => ({ position, name: "O", before, after: before - 1e-7 }));
  expect(tagsWords(rows)).toBe("no token’s own label changed");
  expect(tagsWords([...rows, { ...rows[0]!, after: 0.4 }])).toBe("the tokens whose own label changed most");
});

const chip = (id: number, head: number) => ({ id, label: `L0·H${head} off`, about: "", off: [0, head], code: "" });

describe("the way back", () => {
  const setUp = async () => {
    const b = bench(overviewOf(TOKENS, { subject: "text" }));
    const view = createView(b.store, signal(false));
    const end = view.history.watch();
    await settled();
    return { b, view, end };
  };
  const arrive = async (b: ReturnType<typeof bench>, ids: number[], trace: string) => {
    b.model.set("overview", overviewOf(TOKENS, { subject: "text", trace, changes: ids.map((id) => chip(id, id)) }));
    await settled();
  };

  const pressTwice = async () => {
    const { b, view, end } = await setUp();
    await hello(b);
    toggle(view, [0, 1]);
    toggle(view, [0, 2]);
    await settled();
    return { b, view, end, first: b.take("change") };
  };

  it("asks for the changes before, and loses nothing to come while their picture is on its way", async () => {
    const { b, view, end } = await setUp();
    await arrive(b, [0], "t2");
    await arrive(b, [0, 1], "t3");
    expect(view.history.canUndo.value).toBe(true);
    view.history.undo();
    await settled();
    const { message, give } = b.take("change");
    expect(message).toMatchObject({ changes: [0], trace: "t3" });
    expect(view.history.canRedo.value).toBe(true);
    await arrive(b, [0], "t2");
    give({});
    await settled();
    expect(view.history.canRedo.value).toBe(true);
    end();
  });
  it("makes one change after the other, each from what the one before has left", async () => {
    const { b, view, end, first } = await pressTwice();
    expect(first.message).toMatchObject({ changes: [["off", 0, 1]], trace: "t1" });
    expect(() => b.take("change")).toThrow();
    await arrive(b, [1], "t2");
    first.give({});
    await settled();
    const second = b.take("change");
    expect(second.message).toMatchObject({ changes: [1, ["off", 0, 2]], trace: "t2" });
    undo(view);
    toggle(view, [0, 1]); // on again, then off: nothing is left after the step back
    await arrive(b, [1, 2], "t3");
    second.give({});
    await settled();
    const back = b.take("change");
    expect(back.message).toMatchObject({ changes: [1], trace: "t3" });
    await arrive(b, [1], "t2");
    back.give({});
    await settled();
    expect(b.take("change").message).toMatchObject({ changes: [], trace: "t2" });
    end();
  });
  it("asks for nothing more where the text is another by then, and complains of nothing that is past", async () => {
    const { b, view, end, first } = await pressTwice();
    b.model.set("overview", overviewOf(TOKENS, { subject: "other", trace: "t9" }));
    await settled();
    first.give({ error: "the text has changed since", stale: true });
    await settled();
    expect(() => b.take("change")).toThrow();
    expect(b.store.link.now.value.state).toBe("live");
    toggle(view, [0, 1]);
    await settled();
    b.take("change").give({ error: "no such head" });
    await settled();
    expect(b.store.link.now.value).toMatchObject({ state: "error", text: "no such head" });
    end();
  });
  it("begins anew with another text", async () => {
    const { b, view, end } = await setUp();
    await arrive(b, [0], "t2");
    b.model.set("overview", overviewOf(TOKENS, { subject: "other", trace: "t9" }));
    await settled();
    expect(view.history.canUndo.value).toBe(false);
    end();
  });
});

describe("what can be done", () => {
  const view = createView(bench(overviewOf(TOKENS), { query: 1, key: 2 }).store, signal(false));
  it("is of what is selected", () => {
    const asked = toSelected(view).map(({ asked }) => JSON.stringify(asked[0]));
    for (const one of [
      ["off", 0, 0],
      ["off", 0],
      ["cut", 0, 0, 1, 2],
      ["cut", 0, null, 1, 2],
      ["hide", 1],
      ["hide", 2],
    ])
      expect(asked).toContain(JSON.stringify(one));
  });
});

describe("who looks elsewhere", () => {
  const told = async (values: number[]) => {
    const b = bench(overviewOf(TOKENS, { subject: "text" }));
    const view = createView(b.store, signal(false));
    movedMost(view);
    const { fields, buffers } = answerOf("moved", [values.length], Float32Array.from(values));
    b.take("moved").give(fields, buffers);
    await settled();
    return movedMost(view);
  };
  const none = Array<number>(HEADS).fill(Number.NaN);
  it("is no head where the last layer was changed", async () => {
    expect(await told([...none, ...none, ...none])).toBe("No head comes later, so no picture changes.");
  });
  it("is of the layers that come later", async () => {
    expect(await told([...none, ...none, 0, 0.2, 0, 0])).toBe(
      "Heads that now look elsewhere: L2·H1 0.200 (0 = the same, 0.693 = nowhere the same). Only layer 2 can differ.",
    );
    expect(await told([...none, ...Array<number>(2 * HEADS).fill(0)])).toBe(
      "No head looks elsewhere. Only layers 1 to 2 can differ.",
    );
  });
});
