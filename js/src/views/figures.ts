// What is on screen as plain data for the exports: figures with captions, numbers with provenance.
import { csv, type Facts } from "../export/csv";
import { captionLines, facts } from "../export/facts";
import type { Range } from "../export/figure";
import { atlasSvg, headLinesSvg, headMatrixSvg, neuronsSvg } from "../export/figures";
import { headColor, headDash } from "../paint/palette";
import { scalingText, share, signed } from "../parts/format";
import { describe } from "../parts/sentence";
import { visibleText } from "../parts/token";
import { cellFacts, softmaxSteps } from "../state/neurons";
import { headLabel } from "../state/store";
import { included } from "./atlas";
import type { View } from "./context";
import { chooseLines } from "./lines";
import { lookOf } from "./look";
import { sheetOf } from "./neurons";

const signedRange = (hi: number): Range => ({ lo: -hi, hi, scale: "signed" });

/** Model, text, layer and head, measure, the filters in force, versions. */
function provenance(view: View, what: string): Facts {
  const { picture, layer, head } = view.store.shown.value;
  const { synced } = view.store;
  const filters = [
    synced.units.value === "words" && "pieces merged to words (columns summed, rows averaged)",
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
      legend: `${look.symbol}, ${look.name}`,
    });
  const series = [{ data: store.shown.value, grid: display.grid.value }, ...display.overlays.value].map((s) => ({
    name: headLabel(s.data.layer, s.data.head),
    grid: s.grid,
    muted: false,
  }));
  const minimum = view.page.lineMinimum.value;
  return headLinesSvg({
    ...common,
    heads: series.map(({ name }, n) => ({ name, color: headColor(n, false), dash: headDash(n) })),
    lines: chooseLines(series, minimum, null, null).lines.map((line) => ({ ...line, head: line.series })),
    minimum,
  });
}

export function atlasFigure(view: View): string {
  const { store, page } = view;
  const { picture, layer, head } = store.shown.value;
  const { rows, cols, data } = picture.thumbs;
  const { layers, heads } = included(picture, store.synced.include_layers.value, store.synced.include_heads.value);
  const common = page.commonScale.value;
  const size = rows * cols;
  const thumbs = new Uint8Array(layers.length * heads.length * size);
  layers.forEach((l, row) => {
    heads.forEach((h, col) => {
      const n = l * picture.n_heads + h;
      const gain = common ? picture.thumbMax[n]! : 1;
      for (let i = 0; i < size; i++)
        thumbs[(row * heads.length + col) * size + i] = Math.round(data[n * size + i]! * gain);
    });
  });
  return atlasSvg({
    title: "Atlas of heads",
    description: `Attention of ${layers.length} layers by ${heads.length} heads, one thumbnail each.`,
    caption: captionLines(provenance(view, "attention weight α, largest of the cells under each pixel")),
    layers,
    heads,
    thumbs,
    rows,
    cols,
    legend: common ? "α" : "α, each head to its own maximum",
    hi: 1,
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

/** The displayed grid of the shown head, every cell a line. */
export function headCsv(view: View): string {
  const { rows, cols, values } = view.display.grid.value;
  const cells = rows.flatMap((row, i) =>
    cols.map((col, j) => [i, row.label, j, col.label, values[i * cols.length + j]!] as const),
  );
  return csv(provenance(view, "attention weight α"), ["query_index", "query", "key_index", "key", "attention"], cells);
}
