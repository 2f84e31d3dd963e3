// Figures with hostile and with everyday content: drawn by figures.test.tsx, and written as files by
// `node tests/print_samples.mjs` for tests/unit/plots/test_figures.py, where a strict XML parser reads them.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { AtlasFigure } from "../src/atlas/atlasfigure";
import type { Traits } from "../src/generated/vocabulary";
import { LinesFigure, MapFigure } from "../src/head/headfigures";
import { svgFile } from "../src/parts/figure";
import { createView, type View, ViewContext } from "../src/state/view";
import type { Split } from "../src/state/whystate";
import { NeuronFigure } from "../src/tabs/neurons/neuronfigure";
import { EarlierLayers, LargestChart, PairsChart, Waterfall } from "../src/tabs/why/charts";
import { cellWords, type Pairs, placeWords } from "../src/tabs/why/scoresplit";
import { bench, overviewOf } from "./fake";

export const HOSTILE = [
  "<img src=x onerror=window.__pwn=1>",
  "</script><script>window.__pwn=1</script>",
  '" onload="alert(1)',
  "'",
  "&lt;",
  "&#0;",
  "]]>",
  "<!--",
  "\u0000\u0001\u0008\u000b\u001f\u007f\u0085",
  "\u202eabc",
  "a\u200db",
  "\ud800",
  "x\udfff",
  "\ufffe\uffff",
  "日本語",
  "שלום",
  "👩‍👩‍👧",
  "\t\n\r",
  "",
];
export const EVERYDAY =
  "[CLS] the cat sat on the mat because it was tired . [SEP] the dog lay on the rug . [SEP]".split(" ");

const wave = (n: number) => Math.abs(Math.sin(1 + 12.9898 * n) ** 8);

/** A view of tokens; of an attention map as it is where one is given. */
export function viewOf(tokens: string[], more: Partial<Traits> = {}, attention?: Float32Array): View {
  const S = tokens.length;
  const inputs = attention && { inputs: { attention: { shape: [S, S], data: attention } } };
  return createView(bench(overviewOf(tokens, inputs), more).store, signal(false));
}

/** What a part of a view is on paper. */
export const drawn = (about: Parameters<typeof svgFile>[0], view: View, body: ComponentChildren): string =>
  svgFile(about, <ViewContext.Provider value={view}>{body}</ViewContext.Provider>);

/** The split of a cell, and its kinds on both sides; a token of it is named by a part. */
function why(tokens: string[], about: Parameters<typeof svgFile>[0]): string {
  const view = viewOf(tokens);
  const sum = { layer: 1, head: 0, query: 0, key: 0, total: 0.5, model: 0.5, gap: -1e-7, notes: [] };
  const part = (kind: string, value: number) => ({ kind, layer: null, head: null, value, token: null, fetched: null });
  const split: Split = {
    ...sum,
    ...{ side: "query", against: "others", through_mlps: false, weight: 0.5, other_weight: 0.1, seen: tokens.length },
    ...{ ratio: 1.6, spread: 3, absolute: 1.5, others: { count: 1, value: 0.25 } },
    kinds: [
      ["word", 1],
      ["head", -0.5],
    ],
    largest: [part("word", 1), { ...part("head", -0.75), layer: 0, head: 1, token: 1, fetched: -0.5 }],
    heads: new Float32Array([-0.75, 0.25]),
    mlps: new Float32Array([0]),
  };
  const pairs: Pairs = { ...sum, kinds: ["word", "head"], values: new Float64Array([0.5, -0.5, 0.75, -0.25]) };
  return drawn(
    about,
    view,
    <>
      <Waterfall split={split} label={cellWords(view, split)} />
      <LargestChart split={split} />
      <EarlierLayers split={split} />
      <PairsChart pairs={pairs} label="both sides" foot={placeWords(view, pairs)} />
    </>,
  );
}

export function samples(tokens: string[]): Record<string, string> {
  const n = tokens.length;
  const hostile = tokens === HOSTILE;
  const about = {
    title: hostile ? `L1·H8 ${HOSTILE[0]}` : "L1·H8, attention",
    description: hostile ? HOSTILE.join(" ") : "Most attention goes to the next token.",
    caption: hostile ? HOSTILE : ["model: all-MiniLM-L6-v2 (float32)", `text: ${"a long text ".repeat(30)}`],
  };
  const weights = (count: number) => Float32Array.from({ length: count * count }, (_, at) => wave(at));
  const many = weights(60);
  many[61] = Number.NaN;
  const sixty = Array.from({ length: 60 }, (_, at) => tokens[at % n]!);
  return {
    matrix: drawn(about, viewOf(tokens, { query: 2, key: 3 }, weights(n)), <MapFigure />),
    large: drawn(about, viewOf(sixty, {}, many), <MapFigure />),
    lines: drawn(about, viewOf(tokens, { query: 2, mode: "lines" }, weights(n)), <LinesFigure />),
    // an attribute names the query: this test's own serializer leaves quotes in attributes as they are, browsers do not
    neurons: drawn(about, viewOf(tokens, { query: 0, key: 3 }), <NeuronFigure />),
    why: why(tokens, about),
    atlas: drawn(about, viewOf(tokens), <AtlasFigure />),
    empty: drawn(about, viewOf(["[CLS]", "[SEP]"], { hide_special: true }), <MapFigure />),
    column: drawn(about, viewOf(tokens.slice(0, 1), {}, weights(1)), <MapFigure />), // narrower than its title
  };
}
