// The figures that can be exported, each from plain data to one SVG document. Layout only: no state, no page.
import { table } from "../paint/colormap";
import { type About, frame, hasNaN, heatmap, LIGHT, legend, picture, type Range } from "./figure";
import { element, group, label, type Svg, textWidth } from "./svg";

export interface HeadMatrix extends About {
  rows: string[]; // queries
  cols: string[]; // keys
  values: Float32Array; // (rows·cols)
  range: Range;
  legend: string; // what the colours mean: "α, this head"
  row?: number | null; // pinned
  col?: number | null;
}

export interface HeadLines extends About {
  rows: string[];
  cols: string[];
  heads: { name: string; color: string; dash: number[] }[];
  // weakest first; `head` counts in `heads`; `weight` of the measure, with a colour of its own where the sign has one
  lines: { head: number; row: number; col: number; weight: number; color?: string }[];
  full: number; // the weight that is drawn opaque
  scale: string; // what opacity and width mean, with numbers
  row?: number | null;
  col?: number | null;
}

export interface Neurons extends About {
  query: string;
  q: ArrayLike<number>; // (d), in the order shown
  marked: boolean[]; // (d), the set that carries the contrast
  markedText: string; // "5 neurons = 80 %"
  keys: { label: string; k: ArrayLike<number>; products: ArrayLike<number>; score: number; weight: number }[];
  pinned: number | null; // row in keys
  vectors: Range; // of q and k
  products: Range;
  scoreText: string; // "q·k ÷ √32"
  formula: string; // this cell's numbers from q·k to α
}

export interface Atlas extends About {
  layers: number[]; // shown, down
  heads: number[]; // shown, across
  thumbs: Uint8Array; // (layers·heads·rows·cols), entries of the colour table
  rows: number;
  cols: number;
  legend: string; // "α, each head to its own maximum"
  range: Range; // values of the first and the last colour; 1 is the last when every head has its own
  selected?: [layer: number, head: number] | null;
}

const widest = (labels: string[], size: number) => Math.max(0, ...labels.map((text) => textWidth(text, size)));

/** Heat map with tokens on both sides. */
export function headMatrixSvg(figure: HeadMatrix): string {
  const { rows, cols, values, row = null, col = null } = figure;
  const cell = Math.max(6, Math.min(18, Math.floor(720 / Math.max(rows.length, cols.length, 1))));
  const size = Math.min(11, 0.9 * cell);
  const tilt = (55 * Math.PI) / 180;
  const left = Math.ceil(Math.max(widest(rows, size), 30)) + 8;
  const slanted = widest(cols, size);
  const top = Math.ceil(slanted * Math.sin(tilt)) + 10;
  const width = cols.length * cell;
  const height = rows.length * cell;
  const look = (pinned: boolean) => (pinned ? { fill: LIGHT.selectionText, "font-weight": 600 } : {});
  const body = [
    group(
      { "font-size": size, "text-anchor": "end" },
      ...rows.map((text, n) => label(left - 6, top + (n + 0.5) * cell + 0.35 * size, text, look(n === row))),
    ),
    group(
      { "font-size": size },
      ...cols.map((text, n) =>
        label(0, 0, text, {
          transform: `translate(${left + (n + 0.5) * cell + 0.3 * size} ${top - 5}) rotate(-55)`,
          ...look(n === col),
        }),
      ),
    ),
    group(
      { transform: `translate(${left} ${top})` },
      heatmap(values, rows.length, cols.length, figure.range, width, height),
      element("rect", { width, height, fill: "none", stroke: LIGHT.border }),
      ...ring(row, col, width, cell),
    ),
    group(
      { transform: `translate(${left} ${top + height + 14})` },
      legend(figure.range, figure.legend, hasNaN(values)),
    ),
  ];
  return frame(figure, left + width + slanted * Math.cos(tilt), top + height + 28, ...body);
}

function ring(row: number | null, col: number | null, width: number, cell: number): Svg[] {
  if (row === null) return [];
  const stroke = { fill: "none", stroke: LIGHT.selection };
  const around = element("rect", { x: 0, y: row * cell, width, height: cell, ...stroke });
  if (col === null) return [around];
  return [
    around,
    element("rect", { x: col * cell, y: row * cell, width: cell, height: cell, ...stroke, "stroke-width": 2 }),
  ];
}

/** Tokens left (queries) and right (keys), joined by lines whose opacity is the weight. */
export function headLinesSvg(figure: HeadLines): string {
  const { rows, cols, heads, lines, row = null, col = null } = figure;
  const step = 18;
  const middle = 260;
  const left = Math.ceil(widest(rows, 11)) + 8;
  const right = Math.ceil(widest(cols, 11)) + 8;
  const top = 16 * heads.length + 26;
  const height = step * Math.max(rows.length, cols.length);
  const y = (n: number) => top + (n + 0.5) * step;
  const column = (labels: string[], x: number, anchor: string, pinned: number | null) =>
    group(
      { "text-anchor": anchor },
      ...labels.map((text, n) =>
        label(x, y(n) + 4, text, n === pinned ? { fill: LIGHT.selectionText, "font-weight": 600 } : {}),
      ),
    );
  const drawn = lines.map(({ head, row: i, col: j, weight, color }) => {
    const part = Math.min(1, Math.abs(weight) / figure.full);
    const look = heads[head]!;
    const [from, to] = [left + 4, left + middle - 4];
    const bend = 0.4 * (to - from);
    return element("path", {
      d: `M${from} ${y(i)}C${from + bend} ${y(i)} ${to - bend} ${y(j)} ${to} ${y(j)}`,
      stroke: color ?? look.color,
      "stroke-opacity": Math.max(0.03, part),
      "stroke-width": 0.75 + 2.25 * part,
      "stroke-dasharray": look.dash.length ? look.dash.join(" ") : undefined,
    });
  });
  const key = heads.map(({ name, color, dash }, n) =>
    group(
      { transform: `translate(${left} ${16 * n + 6})` },
      element("path", {
        d: "M0 0H26",
        stroke: color,
        "stroke-width": 3,
        "stroke-dasharray": dash.join(" ") || undefined,
      }),
      label(34, 4, name),
    ),
  );
  const body = [
    ...key,
    label(left - 4, top - 8, "query", { fill: LIGHT.muted, "text-anchor": "end" }),
    label(left + middle + 4, top - 8, "key", { fill: LIGHT.muted }),
    group({ fill: "none" }, ...drawn),
    column(rows, left - 4, "end", row),
    column(cols, left + middle + 4, "start", col),
    label(left, top + height + 16, figure.scale, { fill: LIGHT.muted }),
  ];
  return frame(figure, left + middle + right, top + height + 20, ...body);
}

/** How a query's vector and the keys' vectors make scores and attention, neuron by neuron. */
export function neuronsSvg(figure: Neurons): string {
  const { keys, q, marked, pinned } = figure;
  const d = q.length;
  const strip = d * Math.max(3, Math.min(9, Math.floor(300 / Math.max(d, 1))));
  const cell = strip / d;
  const [step, top] = [18, 46];
  const gap = 28;
  const left = Math.ceil(Math.max(widest([figure.query, ...keys.map((key) => key.label)], 11), 50)) + 10;
  const x = {
    k: left,
    product: left + strip + gap,
    score: left + 2 * (strip + gap),
    weight: left + 2 * (strip + gap) + 140,
  };
  const width = x.weight + 150;
  const height = step * keys.length;
  const most = Math.max(...keys.map(({ score }) => Math.abs(score)).filter(Number.isFinite), 1e-9);
  const bar = (score: number) => (Number.isFinite(score) ? (40 * Math.abs(score)) / most : 0);
  const flat = (pick: (key: Neurons["keys"][number]) => ArrayLike<number>) => {
    const values = new Float32Array(keys.length * d);
    keys.forEach((key, row) => {
      values.set(pick(key), row * d);
    });
    return values;
  };
  const cells = (values: Float32Array, range: Range, at: number) =>
    group({ transform: `translate(${at} ${top})` }, heatmap(values, keys.length, d, range, strip, height));
  const blank = (y: number) =>
    element("rect", { x: left, y: y - 2, width: x.score - left, height: 4, fill: LIGHT.background });
  const line = (n: number) => top + (n + 0.5) * step + 4;
  const head = (at: number, text: string) => label(at, 8, text, { fill: LIGHT.muted, "font-weight": 600 });
  const bars = keys.map(({ score, weight }, n) =>
    group(
      { transform: `translate(0 ${top + n * step})` },
      element("rect", {
        x: x.score + 40 - (score < 0 ? bar(score) : 0),
        y: 5,
        width: bar(score),
        height: 8,
        fill: score < 0 ? LIGHT.negative : LIGHT.bar,
      }),
      label(x.score + 122, 13, Number.isFinite(score) ? score.toFixed(2).replace("-", "−") : "−∞", {
        "text-anchor": "end",
      }),
      element("rect", { x: x.weight, y: 5, width: 100 * (weight || 0), height: 8, fill: LIGHT.bar }),
      label(x.weight + 146, 13, weight.toFixed(3), { "text-anchor": "end" }),
    ),
  );
  const marks = marked.map((on, n) =>
    on ? [element("rect", { x: x.product + n * cell, y: 36, width: cell, height: 3, fill: LIGHT.ink })] : [],
  );
  const below = top + height + 16;
  const values = { k: flat((key) => key.k), product: flat((key) => key.products) };
  const body = [
    ...[head(0, "key"), head(x.k, "k"), head(x.product, "q × k"), head(x.score, figure.scoreText), head(x.weight, "α")],
    ...(pinned === null
      ? []
      : [element("rect", { x: 0, y: top + pinned * step, width: left - 4, height: step, fill: LIGHT.soft })]),
    label(0, 32, figure.query, { fill: LIGHT.selectionText, "font-weight": 600 }),
    group({ transform: `translate(${x.k} 22)` }, heatmap(q, 1, d, figure.vectors, strip, 14)),
    label(x.product, 30, figure.markedText),
    ...marks.flat(),
    cells(values.k, figure.vectors, x.k),
    cells(values.product, figure.products, x.product),
    ...keys.map((_, n) => blank(top + n * step)),
    ...keys.map((key, n) => label(0, line(n), key.label)),
    ...bars,
    group({ transform: `translate(${x.k} ${below})` }, legend(figure.vectors, "q, k", hasNaN(values.k))),
    group({ transform: `translate(${x.product} ${below})` }, legend(figure.products, "q × k", hasNaN(values.product))),
    label(0, below + 36, figure.formula),
  ];
  return frame(figure, Math.max(width, textWidth(figure.formula, 11)), below + 40, ...body);
}

/** Layers down, heads across, one thumbnail each. */
export function atlasSvg(figure: Atlas): string {
  const { layers, heads, thumbs, rows, cols, selected } = figure;
  const zoom = 44 / Math.max(rows, cols, 1); // pixels of the figure a cell of a thumbnail
  const gap = Math.max(1, Math.round(8 / zoom)); // in cells, so that all heads are one picture
  const [tall, wide] = [rows + gap, cols + gap];
  const [height, width] = [layers.length * tall - gap, heads.length * wide - gap];
  const entries = new Uint8Array(height * width);
  const boxes: Svg[] = [];
  layers.forEach((layer, l) => {
    heads.forEach((head, h) => {
      const from = (l * heads.length + h) * rows * cols;
      for (let r = 0; r < rows; r++)
        entries.set(thumbs.subarray(from + r * cols, from + (r + 1) * cols), (l * tall + r) * width + h * wide);
      const chosen = selected?.[0] === layer && selected[1] === head;
      boxes.push(
        element("rect", {
          x: h * wide * zoom,
          y: l * tall * zoom,
          width: cols * zoom,
          height: rows * zoom,
          stroke: chosen ? LIGHT.selection : LIGHT.border,
          "stroke-width": chosen ? 2.5 : 1,
        }),
      );
    });
  });
  const [left, top] = [34, 20];
  const muted = { fill: LIGHT.muted };
  const { range } = figure;
  const body = [
    group(
      { ...muted, "text-anchor": "middle" },
      ...heads.map((head, h) => label(left + (h * wide + cols / 2) * zoom, 10, String(head))),
    ),
    group(muted, ...layers.map((layer, l) => label(0, top + (l * tall + rows / 2) * zoom + 4, `L${layer}`))),
    group(
      { transform: `translate(${left} ${top})` },
      picture(entries, width, height, table(range.scale, "light"), width * zoom, height * zoom),
      group({ fill: "none" }, ...boxes),
    ),
    group({ transform: `translate(${left} ${top + height * zoom + 14})` }, legend(range, figure.legend, false)),
  ];
  return frame(figure, left + width * zoom, top + height * zoom + 28, ...body);
}
