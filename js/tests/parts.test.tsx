// @vitest-environment happy-dom
// Text for people: numbers and tokens; and the theme.

import { signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import nothing from "../../tests/wire/nothing.json";
import cases from "../../tests/wire/ranked.json";
import { watchTheme } from "../src/host/theme";
import { percent, scalingText, share, signed } from "../src/paint/format";
import { visibleText } from "../src/paint/quotes";
import { isNothing, ranked } from "../src/paint/ranked";
import { Select } from "../src/parts/controls";
import { Token, tokenText } from "../src/parts/token";

it("a list names a group of choices above them: the one that is shown is short enough not to be cut", () => {
  const host = document.createElement("div");
  const choices = [
    { value: "weight", label: "Weight" },
    { value: "rollout", label: "Rollout", group: "All heads of the layer" },
  ];
  render(<Select label="shows" value="rollout" choices={choices} onChange={() => undefined} />, host);
  const shown = host.querySelector<HTMLOptionElement>("option[value=rollout]")!;
  expect([shown.textContent, shown.selected]).toEqual(["Rollout", true]);
  expect(shown.closest("optgroup")!.label).toBe("All heads of the layer");
  expect(host.querySelector("option[value=weight]")!.closest("optgroup")).toBe(null);
});

describe("numbers", () => {
  it("of attention have three decimals", () => {
    expect([0, 1, 0.0004, 0.7786, Number.NaN].map((one) => share(one))).toEqual([
      "0.000",
      "1.000",
      "0.000",
      "0.779",
      "NaN",
    ]);
  });
  it("with a sign have a true minus, and zero has none", () => {
    expect([1.5, -1.5, -0.001, 0].map((value) => signed(value))).toEqual(["1.50", "−1.50", "0.00", "0.00"]);
    expect(signed(-0.0416, 3)).toBe("−0.042");
    expect(signed(Number.NEGATIVE_INFINITY)).toBe("−∞");
    expect(signed(Number.NaN)).toBe("NaN");
  });
  it.each(cases as [number[], string[]][])("in an order %j are told apart", (values, texts) => {
    expect(ranked(values)).toEqual(texts);
  });
  it.each(nothing as [number | null, number, boolean][])(
    "%j beside %j is no more than rounding: %j",
    (value, beside, is) => {
      expect(isNothing(value ?? Number.NaN, beside)).toBe(is);
    },
  );
  it("of shares are whole percents", () => {
    expect([0, 0.614, 1, Number.NaN].map(percent)).toEqual(["0 %", "61 %", "100 %", "–"]);
  });
  it("of scaling follow the model", () => {
    expect([1 / Math.sqrt(32), Math.fround(1 / Math.sqrt(64)), 1, 0.3].map(scalingText)).toEqual([
      "÷ √32",
      "÷ √64",
      "× 1",
      "× 0.300",
    ]);
  });
});

describe("tokens", () => {
  it.each([
    ["cat", "cat"],
    ["##s", "##s"],
    ["a\u202eb", "a⟨U+202E⟩b"],
    ["\u0000", "⟨U+0000⟩"],
    ["\u200b", "⟨U+200B⟩"],
    ["\ufeffx", "⟨U+FEFF⟩x"],
    ["a\nb\tc", "a⟨U+000A⟩b⟨U+0009⟩c"],
    ["\u00a0", "⟨U+00A0⟩"],
    [" ", "␣"],
    ["   ", "␣␣␣"],
    ["", "␣"],
    ["שלום", "שלום"],
    ["e\u0301", "e\u0301"],
    ["日本", "日本"],
    ["🦩", "🦩"],
    ["<img src=x onerror=1>", "<img src=x onerror=1>"],
    ["&lt;", "&lt;"],
    ["\u064b", "◌\u064b"], // a mark without its letter
    ["\u0e39ก", "◌\u0e39ก"],
    ["ก\u0e39", "ก\u0e39"],
  ])("%j is read as %j", (token, text) => {
    expect(visibleText(token)).toBe(text);
  });
  it("writes a long token by its ends, whole characters of it", () => {
    expect(tokenText("🐈".repeat(64))).toBe("🐈".repeat(64));
    expect(tokenText(`a${"🐈".repeat(5000)}z`)).toBe(`a${"🐈".repeat(31)}…${"🐈".repeat(15)}z`);
  });
  it("are text in an isolate of their own", () => {
    const host = document.createElement("div");
    const token = '<img src=x onerror=1></bdi><script>1</script>"';
    render(<Token text={token} title={token} />, host);
    expect(host.textContent).toBe(token);
    expect(host.querySelectorAll("*")).toHaveLength(1);
    const bdi = host.firstElementChild!;
    expect([bdi.tagName, bdi.getAttribute("dir"), bdi.getAttribute("title")]).toEqual(["BDI", "auto", token]);
  });
});

describe("theme", () => {
  const { body, documentElement: html } = document;
  let life: AbortController;
  let within: HTMLElement;
  beforeEach(() => {
    life = new AbortController();
    within = body.appendChild(document.createElement("div"));
  });
  afterEach(() => {
    life.abort();
    within.remove();
    for (const name of ["theme", "data-theme", "data-bs-theme", "class"]) html.removeAttribute(name);
    for (const name of ["data-jp-theme-light", "data-theme", "class", "style"]) body.removeAttribute(name);
  });
  it.each<[string, HTMLElement, string, string, boolean]>([
    ["JupyterLab dark", body, "data-jp-theme-light", "false", true],
    ["JupyterLab light", body, "data-jp-theme-light", "true", false],
    ["Colab", html, "theme", "dark", true],
    ["marimo", body, "data-theme", "dark", true],
    ["VS Code", body, "class", "vscode-dark", true],
    ["VS Code, high contrast", body, "class", "vscode-high-contrast", true],
    ["VS Code, light high contrast", body, "class", "vscode-high-contrast-light vscode-high-contrast", false],
    ["marimo's class", html, "class", "dark", true],
    ["Bootstrap", html, "data-bs-theme", "dark", true],
    ["a dark ground and no name", body, "style", "background: rgb(30, 30, 40)", true],
    ["a light ground and no name", body, "style", "background: #eee", false],
  ])("is the host's: %s", (_, element, name, value, wanted) => {
    element.setAttribute(name, value);
    expect(watchTheme(signal("auto"), life.signal, within).value).toBe(wanted);
  });
  it("is the argument's whatever the host has, and follows it", () => {
    body.setAttribute("data-jp-theme-light", "false");
    const fixed = signal("light");
    const dark = watchTheme(fixed, life.signal, within);
    expect(dark.value).toBe(false);
    fixed.value = "auto";
    expect(dark.value).toBe(true);
    fixed.value = "dark";
    expect(dark.value).toBe(true);
  });
  it("follows the host while the view lives and not after", async () => {
    const dark = watchTheme(signal("auto"), life.signal, within);
    body.setAttribute("data-jp-theme-light", "false");
    await new Promise((resolve) => setTimeout(resolve));
    expect(dark.value).toBe(true);
    life.abort();
    body.setAttribute("data-jp-theme-light", "true");
    await new Promise((resolve) => setTimeout(resolve));
    expect(dark.value).toBe(true);
  });
});
