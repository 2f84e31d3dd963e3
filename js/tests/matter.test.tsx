// @vitest-environment happy-dom
// "Does it matter?" in words: the sentence is true for every kind of answer, sign and size; nothing is run unasked.
import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, it } from "vitest";
import type { Overview } from "../src/state/overview";
import { createView, ViewContext } from "../src/state/view";
import type { Matter } from "../src/state/whatif";
import { baseWords, changeText, matterCells, numberName, verdict } from "../src/tabs/matter/cellverdict";
import { Matter as Tab } from "../src/tabs/matter/doesitmatter";
import { bench, hello, overviewOf, settled, TOKENS } from "./fake";

const WORDS = ["[CLS]", "it", "[MASK]", "it", "[MASK]", "[SEP]"];

/** Three rows by their numbers: [after, what comes first then, its number], null where it cannot be made. */
type Numbers = [after: number, first?: string, value?: number] | null;

const PLACE = { target: "", target_at: -1, layer: 1, head: 8, query: 1, key: 4 };
const ANSWER = { kind: "similarity", unit: "cosine", position: -1, name: "", before: 0.128 };

/** `bases`: what a row is compared with, where that is not the run shown: its answer, its number, the changes left out. */
const matterOf = (
  rows: [Numbers, Numbers, Numbers],
  more: Partial<Matter> = {},
  bases: Record<number, [name: string, before: number, cover: number[]]> = {},
): Matter => ({
  ...PLACE,
  ...ANSWER,
  ...more,
  rows: rows.map((row, n) => ({
    name: bases[n]?.[0] ?? more.name ?? ANSWER.name,
    before: bases[n]?.[1] ?? more.before ?? ANSWER.before,
    cover: bases[n]?.[2] ?? [],
    asked: [
      ["off", 1, 8],
      ["cut", 1, 8, 1, 4],
      ["hide", 4],
    ][n]!,
    label: ["L1·H8 off", "cut", "hidden"][n]!,
    code: ["whatif.off(1, 8)", "whatif.cut(1, 8, 1, 4)", "whatif.hide(4)"][n]!,
    why_not: row ? "" : "it cannot",
    after: row ? row[0] : null,
    first: row?.[1] ?? "",
    first_value: row ? (row[2] ?? row[0]) : null,
  })),
});

const overviewWith = (tokens = WORDS, more = {}): Overview =>
  createView(bench(overviewOf(tokens, more)).store, signal(false)).overview;
const said = (matter: Matter, overview = overviewWith()) => verdict(overview, matter).join(": ");

describe("the answer in one sentence", () => {
  it("says how alike two texts stay", () => {
    expect(said(matterOf([[0.127], [0.128], [0.126]]))).toBe(
      "Hardly: without L1·H8 the similarity stays near 0.128 (0.127)",
    );
    expect(said(matterOf([[0.1282], [0.128], [0.128]]))).toBe("Hardly: without L1·H8 the similarity stays 0.128");
    expect(said(matterOf([[0.128], [0.128], [0.128]]))).toBe(
      "No: without L1·H8 the similarity stays 0.128 to six decimals",
    );
    expect(said(matterOf([[0.051], [0.12], [0.3]]))).toBe(
      "Yes: without L1·H8 the similarity falls from 0.128 to 0.051",
    );
    expect(said(matterOf([[-0.2], [0.12], [0.3]]))).toContain("falls from 0.128 to −0.200");
    expect(said(matterOf([[0.5], [0.12], [0.3]]))).toContain("rises from 0.128 to 0.500");
  });
  it("is about the cell where that does more than the head", () => {
    expect(said(matterOf([[0.12], [0.2], [0.128]]))).toBe(
      "Yes: with “it” (1) → “[MASK]” (4) cut in L1·H8 the similarity rises from 0.128 to 0.200",
    );
  });
  it("names the token where the head does little and the token much", () => {
    expect(said(matterOf([[0.127], [0.128], [0.02]]))).toBe(
      "Hardly: without L1·H8 the similarity stays near 0.128 (0.127); but with “[MASK]” (4) hidden from all heads the similarity falls from 0.128 to 0.020",
    );
    expect(said(matterOf([[0.3], [0.128], [0.02]]))).not.toContain("hidden");
  });
  it("draws the line where the table shows 0.050", () => {
    expect(said(matterOf([[0.1779], [0.128], [0.128]]))).toMatch(/^Yes/);
    expect(changeText(0.0499)).toBe("+0.050");
    expect(said(matterOf([[0.1774], [0.128], [0.128]]))).toMatch(/^Hardly/);
  });
  it("tells a vector's turn, and on a changed run the two cosines", () => {
    const vector = { kind: "embedding", name: "cosine", before: 1 };
    expect(said(matterOf([[0.998], [1], [1]], vector))).toBe(
      "Hardly: without L1·H8 the text’s vector stays where it was (cosine 0.998)",
    );
    expect(said(matterOf([[0.99996], [1], [1]], vector))).toContain("(cosine 0.99996)");
    expect(said(matterOf([[1], [1], [1]], vector))).toBe("No: without L1·H8 the text’s vector stays where it was");
    expect(said(matterOf([[0.871], [1], [1]], vector))).toBe(
      "Yes: without L1·H8 the text’s vector turns: its cosine with what it was is 0.871",
    );
    expect(said(matterOf([[0.94], [0.95], [0.95]], { ...vector, before: 0.951 }))).toBe(
      "Hardly: without L1·H8 the cosine of the text’s vector with the original run’s stays near 0.951 (0.940)",
    );
  });
  it("says words, labels, tags and spans by their names, and what comes first instead", () => {
    const word = { kind: "words", unit: "probability", name: "cat", before: 0.512, position: 2 };
    expect(said(matterOf([[0.5], [0.51], [0.51]], word))).toBe(
      "Hardly: without L1·H8 the probability of “cat” at 2 stays near 0.512 (0.500)",
    );
    expect(numberName(overviewWith(["[CLS]", "it", "[MASK]"]), matterOf([[1], [1], [1]], word))).toBe(
      "the probability of “cat”",
    );
    expect(said(matterOf([[0.49, "mat", 0.495], [0.51], [0.51]], word))).toBe(
      "Yes: without L1·H8 the answer is “mat” (0.495), no longer “cat” (0.490, was 0.512)",
    );
    const tag = { kind: "tags", unit: "probability", name: "B-LOC", before: 0.9, position: 1 };
    expect(said(matterOf([[0.1, "O", 0.8], [0.9], [0.9]], tag))).toBe(
      "Yes: without L1·H8 the label of “it” (1) is “O” (0.800), no longer “B-LOC” (0.100, was 0.900)",
    );
    expect(said(matterOf([[0.89], [0.9], [0.9]], tag))).toContain(
      "probability of “B-LOC” for “it” (1) stays near 0.900 (0.890)",
    );
    const span = { kind: "span", unit: "probability", name: "the cat", before: 0.3, position: 1 };
    expect(said(matterOf([[0.4], [0.3], [0.3]], span))).toContain("“the cat” rises from 0.300 to 0.400");
    const tiny = { ...word, before: 0.0004 };
    expect(said(matterOf([[0.00001], [0.0004], [0.0004]], tiny))).toBe(
      "Hardly: without L1·H8 the probability of “cat” at 2 only falls from 0.0004 to 0.00001",
    );
  });
  it("compares what the run has already with the run without it", () => {
    const sofa = { kind: "words", unit: "probability", name: "sofa", before: 0.118, position: 2 };
    const without: Parameters<typeof matterOf>[2] = { 0: ["table", 0.143, [0]], 1: ["table", 0.143, [0]] };
    const rows: Parameters<typeof matterOf>[0] = [[0.101, "sofa", 0.118], [0.142], [0.117]];
    expect(said(matterOf(rows, sofa, without))).toBe(
      "Yes: without L1·H8 the answer is “sofa” (0.118), no longer “table” (0.101, was 0.143)",
    );
    expect(said(matterOf([[0.144], [0.142], [0.03]], sofa, without))).toBe(
      "Hardly: without L1·H8 the probability of “table” at 2 stays near 0.143 (0.144); but with “[MASK]” (4) hidden from all heads the probability of “sofa” at 2 falls from 0.118 to 0.030",
    );
    const changes = [
      { id: 7, label: "L1·H8 off", about: "", off: [1, 8], code: "whatif.off(1, 8)" },
      { id: 8, label: "L0·H0 off", about: "", off: [0, 0], code: "whatif.off(0, 0)" },
    ];
    const changed = overviewWith(WORDS, { changes });
    expect(baseWords(changed, matterOf(rows, sofa))).toBe(
      "Before is the run shown, with L1·H8 off; L0·H0 off: each row comes on top.",
    );
    expect(baseWords(changed, matterOf(rows, sofa, without))).toMatch(
      / What the run has already is compared with the run without it: L1·H8 off\.$/,
    );
  });
  it("measures an output that is no probability by its size", () => {
    const output = { kind: "labels", unit: "logit", name: "LABEL_0", before: 4 };
    expect(said(matterOf([[3.9], [4], [4]], output))).toBe(
      "Hardly: without L1·H8 the output of “LABEL_0” stays near 4.00 (3.90)",
    );
    expect(said(matterOf([[3.9], [4], [4]], { ...output, unit: "score", name: "" }))).toContain("the score stays near");
    expect(said(matterOf([[3.7], [4], [4]], output))).toContain("Yes: without L1·H8 the output of “LABEL_0” falls");
  });
  it("leaves out what cannot be made", () => {
    expect(said(matterOf([[0.127], null, null]))).toBe("Hardly: without L1·H8 the similarity stays near 0.128 (0.127)");
    expect(said(matterOf([null, null, [0.5]]))).toMatch(/^Yes: with “\[MASK\]” \(4\) hidden/);
    expect(said(matterOf([null, null, null]))).toBe("Not known: none of the changes can be made here");
  });
});

it("writes changes with their signs, told from 0 where they are not 0", () => {
  expect([0.0123, -0.0123, 1e-4, -3.4e-5, 1e-8, 0].map(changeText)).toEqual([
    ...["+0.012", "−0.012", "+0.0001", "−0.00003", "0", "0"],
  ]);
  const [row] = matterCells(matterOf([[0.1, "x", 2], null, [0.1]])).rows;
  expect(row!.slice(0, 4)).toEqual(["L1·H8 off", "whatif.off(1, 8)", 0.128, 0.1]);
});

describe("the tab", () => {
  const opened = async (overview = overviewOf(TOKENS, { subject: "text" }), kernel = true) => {
    const b = bench(overview);
    const view = createView(b.store, signal(false));
    const root = document.createElement("div");
    render(
      <ViewContext.Provider value={view}>
        <Tab />
      </ViewContext.Provider>,
      root,
    );
    await hello(b, kernel);
    return { b, view, root, text: () => root.textContent! };
  };
  const cell = { layer: 0, head: 0 };
  const answer = (place: object) => matterOf([[0.127], [0.128], [0.126]], place) as never;
  const button = (root: Element, name: string) =>
    [...root.querySelectorAll("button")].find((one) => one.textContent === name);

  it("asks once, shows three rows, makes a change and takes it back where it was made", async () => {
    const { b, view, root, text } = await opened();
    const { query, key } = view.focus;
    b.take("cell_matters", { ...cell, query, key }).give(answer({ ...cell, query, key }));
    await settled();
    expect(text()).toMatch(/^Hardly: without L0·H0 the similarity stays near 0.128 \(0.127\)\./);
    expect(root.querySelectorAll("tbody tr")).toHaveLength(3);
    button(root, "show this run")!.click();
    await settled();
    const request = b.take("change");
    expect(request.message.changes).toEqual([["off", 1, 8]]);
    request.give({});
    const change = { id: 0, label: "L0·H0 off", about: "", off: [0, 0], code: "whatif.off(1, 8)" };
    b.model.set("overview", overviewOf(TOKENS, { subject: "text", trace: "t2", changes: [change] }));
    await settled();
    expect(text()).toMatch(/^Hardly: without L0·H0/); // the same table, of the run before
    expect(root.querySelector("tr.bl-pinned")!.textContent).toContain("L0·H0 off");
    expect(() => b.take("cell_matters")).toThrow("nobody asks");
    expect(button(root, "Undo")).toBeDefined();
    button(root, "show this run")!.click(); // another row: instead of the first, as its numbers are
    await settled();
    expect(b.take("change").message.changes).toEqual([["cut", 1, 8, 1, 4]]);
  });
  it("asks about the word that was chosen, and about the first again where the run has not that word", async () => {
    const { b, view, root, text } = await opened();
    const { query, key } = view.focus;
    b.take("cell_matters");
    view.page.target.value = "dog";
    await settled();
    expect(() => b.take("cell_matters")).toThrow("nobody asks"); // not before it is known to be there
    const asked = b.take("answers", { target: "dog" });
    const rows = [[2, "dog", 0.2, 0.1]];
    const found = { kind: "words", unit: "probability", rows, metrics: [], choices: ["cat"], places: [], why_not: "" };
    asked.give(found);
    await settled();
    const of = { ...cell, query, key, target: "dog", kind: "words", unit: "probability", name: "dog", position: 2 };
    b.take("cell_matters", { ...cell, query, key, target: "dog" }).give(answer({ ...of, before: 0.2 }));
    await settled();
    expect(text()).toMatch(/^Yes: without L0·H0 the probability of “dog” falls from 0.200 to 0.127/);
    expect(root.querySelector("input")!.value).toBe("dog");
    view.page.target.value = "dogg";
    await settled();
    b.take("answers", { target: "dogg" }).give({ error: "no word." });
    await settled();
    expect(b.take("answers").message.target).toBeUndefined();
  });
  it("asks on top of changes that were made elsewhere, and says so", async () => {
    const change = { id: 0, label: "L2·H2 off", about: "", off: [2, 2], code: "whatif.off(2, 2)" };
    const { b, view, root, text } = await opened(overviewOf(TOKENS, { subject: "text", changes: [change] }));
    const { query, key } = view.focus;
    b.take("cell_matters").give(answer({ ...cell, query, key }));
    await settled();
    expect(text()).toContain("Before is the run shown, with L2·H2 off: each row comes on top.");
    expect(button(root, "Undo the change")).toBeDefined();
  });
  it("takes back the change of a row that the run has already, and tries the others without it", async () => {
    const changes = ["whatif.off(1, 8)", "whatif.off(2, 2)"].map((code, id) => ({
      ...{ id: 5 + id, label: code, about: "", off: null, code },
    }));
    const { b, view, root, text } = await opened(overviewOf(TOKENS, { subject: "text", changes }));
    const { query, key } = view.focus;
    const word = { kind: "words", unit: "probability", name: "sofa", before: 0.118, position: 2 };
    const rows: Parameters<typeof matterOf>[0] = [[0.101, "sofa", 0.118], [0.142], [0.117]];
    const without: Parameters<typeof matterOf>[2] = { 0: ["table", 0.143, [0]], 1: ["table", 0.143, [0]] };
    b.take("cell_matters").give(matterOf(rows, { ...word, ...cell, query, key }, without) as never);
    await settled();
    expect(text()).toMatch(
      /^Yes: without L0·H0 the answer is “sofa” \(0.118\), no longer “table” \(0.101, was 0.143\)/,
    );
    expect(root.querySelector("caption")!.textContent).toBe("The probability");
    const numbers = [...root.querySelectorAll("tbody tr")].map((row) => row.querySelector("td")!.textContent);
    expect(numbers).toEqual(["“table” 0.143", "“table” 0.143", "“sofa” 0.118"]);
    expect([...root.querySelectorAll("tr.bl-pinned")]).toHaveLength(1);
    button(root.querySelector("tr.bl-pinned")!, "Undo")!.click();
    await settled();
    const back = b.take("change");
    expect(back.message.changes).toEqual([6]); // the other one stays, though it came later
    back.give({});
    await settled();
    button(root.querySelectorAll("tbody tr")[1]!, "show this run")!.click();
    await settled();
    expect(b.take("change").message.changes).toEqual([6, ["cut", 1, 8, 1, 4]]);
    expect(view.page.whatif.madeOf.value).toBeNull(); // the other rows are of another run: asked again
  });
  it("runs nothing for a long text before it is asked to, and says what it takes", async () => {
    const tokens = Array.from({ length: 300 }, (_, n) => `w${n}`);
    const { b, root, text } = await opened(overviewOf(tokens, { subject: "text" }));
    expect(() => b.take("cell_matters")).toThrow("nobody asks");
    expect(text()).toContain("the model reads this text of 300 tokens four times");
    button(root, "Run it, 1,200 tokens")!.click();
    await settled();
    expect(b.take("cell_matters").message.op).toBe("cell_matters");
  });
  it("needs the model where there is no kernel", async () => {
    const { b, text } = await opened(overviewOf(TOKENS, { subject: "text" }), false);
    b.take("cell_matters").give({ error: "this page has no kernel" });
    await settled();
    b.take("each_matters").give({ error: "this page has no kernel" });
    await settled();
    expect(text()).toBe("This needs the model, which a saved page does not hold. Open the notebook.");
    const tokens = Array.from({ length: 300 }, (_, n) => `w${n}`);
    const long = await opened(overviewOf(tokens), false);
    long.b.take("each_matters").give({ why_not: "The text has 300 tokens." });
    await settled();
    expect(long.text()).toBe("The text has 300 tokens.");
  });
  it("waits where a run of the model in the page overtook the question, and asks of each run anew", async () => {
    const { b, view, text } = await opened();
    view.link.page.value = true;
    b.take("cell_matters", { trace: "t1" }).give({ error: "another run was asked for", stale: true });
    await settled();
    expect(() => b.take("each_matters")).toThrow("nobody asks"); // it is no refusal
    b.model.set("overview", overviewOf(TOKENS, { subject: "text", trace: "t2" }));
    await settled();
    b.take("cell_matters", { trace: "t2" }).give({ error: "this needs Python" });
    await settled();
    b.take("each_matters", { trace: "t2" }).give({ error: "this needs Python" });
    await settled();
    expect(text()).toContain("Python");
    b.model.set("overview", overviewOf(TOKENS, { subject: "text", trace: "t3" }));
    await settled();
    expect(text()).toBe("three runs of the model …");
    expect(() => b.take("each_matters", { trace: "t3" })).toThrow("nobody asks");
  });
  it("says why there is no answer", async () => {
    const { b, text } = await opened();
    b.take("cell_matters").give({ error: "no token of this text is masked" });
    await settled();
    expect(text()).toBe("no token of this text is masked");
  });
});
