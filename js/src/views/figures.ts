// What is on screen as plain data for the exports: figures with captions, numbers with provenance.

import { MEASURES } from "../compute/measure";
import { csv, type Facts } from "../export/csv";
import { captionLines, facts } from "../export/facts";
import type { Range } from "../export/figure";
import { atlasSvg, headLinesSvg, headMatrixSvg, neuronsSvg } from "../export/figures";
import { headColor, headDash, signColor } from "../paint/palette";
import { scalingText, share, signed } from "../parts/format";
import { describe } from "../parts/sentence";
import { visibleText } from "../parts/token";
import { cellFacts, softmaxSteps } from "../state/neurons";
import { headLabel } from "../state/store";
import { included } from "./atlas";
import type { View } from "./context";
import { commonScale } from "./headbutton";
import { chooseLines, lineSeries } from "./lines";
import { lookOf } from "./look";
import { sheetOf } from "./neurons";

const signedRange = (hi: number): Range => ({ lo: -hi, hi, scale: "signed" });

/** Model, text, layer and head, measure, the filters in force, versions. */
export function provenance(view: View, what: string): Facts {
  const { picture, layer, head } = view.store.shown.value;
  const { synced } = view.store;
  const filters = [
    synced.units.value !== "pieces" && `pieces merged to ${synced.units.value} (columns summed, rows averaged)`,
    synced.hide_special.value && `special tokens hidden${synced.renormalize.value ? ", rows renormalised" : ""}`,
    picture.pair && synced.pair_filter.value !== "all" && `sentence pair filter ${synced.pair_filter.value}`,
  ].filter(Boolean);
  return facts(picture, [
    [
      "head",
      `${headLabel(layer, head)} (paper: ${layer + 1}-${head + 1})${picture.map === "self" ? "" : `, ${picture.map}`}`,
    ],
    ["measure", what],
    ...(filters.length > 0 ? [["shown", filters.join("; ")] as Facts[number]] : []),
  ]);
}

const labels = (units: { label: string }[]) => units.map((unit) => visibleText(unit.label));

export function headFigure(view: View): string {
  const { store, display } = view;
  const { picture, layer, head } = store.shown.value;
  const { rows, cols, values } = display.grid.value;
  const look = lookOf(store.shown.value, display.grid.value, false);
  const common = {
    title: `${look.name}, ${look.symbol === "α" ? "attention" : look.symbol}`,
    description: `${describe(picture, layer, head)}.`,
    caption: captionLines(provenance(view, look.label)),
    rows: labels(rows),
    cols: labels(cols),
    row: display.row.value,
    col: display.col.value,
  };
  if (store.synced.mode.value === "matrix")
    return headMatrixSvg({
      ...common,
      values,
      range: { lo: look.lo, hi: look.hi, scale: look.signed ? "signed" : "weight" },
      legend: `${look.symbol}, ${look.name}${look.beyond}`,
    });
  const { series, full, minimum } = lineSeries(view);
  return headLinesSvg({
    ...common,
    heads: series.map(({ name }, n) => ({ name, color: headColor(n, false), dash: headDash(n) })),
    lines: chooseLines(series, minimum, null, null).lines.map((line) => ({
      ...line,
      head: line.series,
      color: look.signed ? signColor(line.weight, false) : undefined,
    })),
    full,
    scale: `opacity and width: ${look.signed ? "size of " : ""}${look.symbol}, from ${share(minimum)} to ${share(full)}`,
  });
}

export function atlasFigure(view: View): string {
  const { store, page } = view;
  const { picture, layer, head } = store.shown.value;
  const { rows, cols } = picture.thumbs;
  const { layers, heads } = included(picture, store.synced.include_layers.value, store.synced.include_heads.value);
  const { thumbs } = store.shown.value;
  const look = MEASURES[thumbs.measure];
  const full = page.commonScale.value ? commonScale(store.shown.value) : 0;
  const zero = look.signed ? 127.5 : 0;
  const size = rows * cols;
  const entries = new Uint8Array(layers.length * heads.length * size);
  layers.forEach((l, row) => {
    heads.forEach((h, col) => {
      const n = l * picture.n_heads + h;
      const gain = full ? thumbs.max[n]! / full : 1;
      for (let i = 0; i < size; i++)
        entries[(row * heads.length + col) * size + i] = Math.round(zero + (thumbs.data[n * size + i]! - zero) * gain);
    });
  });
  const hi = full || 1;
  return atlasSvg({
    title: `Atlas of heads, ${look.symbol}`,
    description: `${layers.length} layers by ${heads.length} heads, one thumbnail each: ${look.label}.`,
    caption: captionLines(provenance(view, `${look.label}; each pixel the largest of the cells under it`)),
    layers,
    heads,
    thumbs: entries,
    rows,
    cols,
    legend: full ? look.symbol : `${look.symbol}, as a part of each head’s largest value`,
    range: { lo: look.signed ? -hi : 0, hi, scale: look.signed ? "signed" : "weight" },
    selected: [layer, head],
  });
}

export function neuronFigure(view: View): string {
  const { store, display } = view;
  const { picture, slice, layer, head } = store.shown.value;
  const focus = display.focus.value;
  const cell = cellFacts(slice, focus.query, focus.key);
  const sheet = sheetOf(view, cell);
  const steps = softmaxSteps(slice, cell);
  const query = visibleText(picture.queries.tokens[focus.query]!);
  const key = visibleText(picture.keyside.tokens[focus.key]!);
  const row = (values: Float32Array, n: number) => values.subarray(n * slice.d, (n + 1) * slice.d);
  return neuronsSvg({
    title: `${headLabel(layer, head)}: how “${query}” gets its attention`,
    description: `Query vector, key vectors and their products for ${sheet.keys.length} keys and ${slice.d} neurons.`,
    caption: captionLines(provenance(view, "q, k, q × k, score and attention")),
    query,
    q: sheet.qShown,
    marked: sheet.marked,
    markedText: Number.isNaN(cell.carried.n80) ? "" : `${cell.carried.n80} neurons = 80 % of the contrast to “${key}”`,
    keys: sheet.keys.map((j, n) => ({
      label: visibleText(picture.keyside.tokens[j]!),
      k: row(sheet.kShown, n),
      products: row(sheet.productsShown, n),
      score: cell.scores[j]!,
      weight: cell.alpha[j]!,
    })),
    pinned: sheet.keys.indexOf(focus.key),
    vectors: signedRange(sheet.vectorScale),
    products: signedRange(sheet.productScale),
    scoreText: `q·k ${scalingText(slice.scaling)}`,
    formula: steps.masked
      ? `${query} → ${key} is masked`
      : `${query} → ${key}: q·k = ${signed(steps.dot)}, ${scalingText(slice.scaling)} = ${signed(steps.scaled)}, softmax over ${steps.seen} keys: ${share(steps.alpha)}`,
  });
}

/** The displayed grid, every cell a line; beside the measure shown, the weight and ‖f(x)‖ that it is made of. */
export function headCsv(view: View): string {
  const { store, display } = view;
  const { shown } = store;
  const { rows, cols, values } = display.grid.value;
  const look = lookOf(shown.value, display.grid.value, false);
  const { norms, weights, slice, layerMap, measure } = shown.value;
  const pieces = store.synced.units.value === "pieces" && norms && !layerMap;
  const name = layerMap
    ? layerMap.kind.replaceAll("-", "_")
    : { weight: "attention", norm: "norm", difference: "difference" }[measure];
  const cells = rows.flatMap((row, i) =>
    cols.map((col, j) => {
      const key = col.pieces[0]!;
      const more = pieces ? [weights[row.pieces[0]! * slice.K + key]!, norms[key]!] : [];
      return [i, row.label, j, col.label, values[i * cols.length + j]!, ...more];
    }),
  );
  const columns = ["query_index", "query", "key_index", "key", name, ...(pieces ? ["attention", "norm_of_f"] : [])];
  return csv(provenance(view, look.label), columns, cells);
}
