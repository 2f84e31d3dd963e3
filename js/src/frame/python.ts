// What is shown as lines of Python that run by themselves: model, text, changes, the number in focus, and the view.
import { MEASURES } from "../generated/vocabulary";
import { currentScale } from "../head/scale";
import { headLabel } from "../paint/format";
import { tokenText } from "../parts/token";
import { renormalized } from "../state/headgrid";
import { settingsOf, traitsOf } from "../state/snapshot";
import type { View } from "../state/view";

/** A plain value as Python writes it. */
function python(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([name, item]) => `${python(name)}: ${python(item)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

const named = (values: object): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${python(value)}`)
    .join(", ");

/** The call that opens this state; layer and head are always named. */
function exploring(view: View): string {
  const { layer, head } = view.shownHead;
  const settings = settingsOf(view);
  const args = { layer, head, ...traitsOf(view), ...(Object.keys(settings).length > 0 ? { settings } : {}) };
  const { compared, similar } = view.overview;
  return `${compared ? "comparison" : similar ? "similarity" : "trace"}.explore(${named(args)})`;
}

/** The similarity of two texts. */
function ofTexts({ sides, tasks }: Record<string, unknown>): string {
  const texts = (sides as { text: string }[]).map(({ text }) => python(text));
  const [a, b] = (tasks as string[]).map((task) => python(task || null));
  return `bl.similarity(lens, ${texts.join(", ")}${a === b && a === "None" ? "" : `, tasks=(${a}, ${b})`})`;
}

/** The run: the model, the texts, the changes. */
function running({ overview }: View): { imports: string[]; lines: string[] } {
  const { made: source, text, text_pair, changes, compared, similar } = overview;
  if (similar)
    return {
      imports: [],
      lines: [...(source.lens ? [`lens = ${source.lens}`] : []), `similarity = ${ofTexts(similar)}`],
    };
  const texts = source.trace.includes("(text")
    ? [`text = ${python(text)}`, ...(text_pair ? [`text_pair = ${python(text_pair)}`] : [])]
    : [];
  const isKnown = changes.every(({ code }) => code);
  const changed = isKnown
    ? changes.slice(0, 1).map(() => `trace = trace.rerun(${changes.map(({ code }) => code).join(", ")})`)
    : [`# changed, write it: trace = trace.rerun(...)  # ${changes.map(({ label }) => tokenText(label)).join(", ")}`];
  return {
    imports: isKnown && changes.length > 0 ? ["from bertlens import whatif"] : [],
    lines: [
      ...(source.lens ? [`lens = ${source.lens}`] : []),
      ...texts,
      `trace = ${source.trace}`,
      ...changed,
      ...(compared ? ["comparison = bl.compare(trace, other)  # other: the second run"] : []),
    ],
  };
}

/** How Python has the number in a cell: what it imports, and the expression. */
function expression(view: View, row: number, col: number): { from: string; code: string } {
  const { synced, shownHead, grid, overview } = view;
  const { layer, head, layerMap, measure } = shownHead;
  const trace = overview.map === "self" ? "trace" : `trace.maps[${python(overview.map)}]`;
  const [query, key] = [grid.rows[row]!.pieces[0], grid.cols[col]!.pieces[0]];
  const cell = `[${head}, ${query}, ${key}]`;
  const isRenormalized = renormalized(synced, shownHead);
  if (synced.units.value !== "pieces" || isRenormalized || (measure === "difference" && !layerMap)) {
    const args = {
      ...(layerMap ? { layer_map: layerMap.word.name } : measure === "weight" ? {} : { measure }),
      ...(synced.units.value === "pieces" ? {} : { units: synced.units.value }),
      ...(overview.pair && synced.pair_filter.value !== "all" ? { pair_filter: synced.pair_filter.value } : {}),
      ...(synced.hide_special.value ? { hide_special: true } : {}),
      ...(isRenormalized ? { renormalize: true } : {}),
    };
    const options = Object.keys(args).length > 0 ? `, ${named(args)}` : "";
    const code = `shown_grid(${trace}, ${layer}, ${head}${options}).values[${row}, ${col}]`;
    return { from: "from bertlens.plots.grid import shown_grid", code };
  }
  if (layerMap) {
    const code = `layer_map(${trace}, ${layer}, ${python(layerMap.word.name)})[${query}, ${key}]`;
    return { from: "from bertlens.measures.layer_maps import layer_map", code };
  }
  return measure === "weight"
    ? { from: "", code: `${trace}.attention(${layer})${cell}` }
    : { from: "from bertlens.measures import norms", code: `norms.weighted_norm(${trace}, ${layer})${cell}` };
}

/** The number of the pinned cell, as the page says it and as Python has it; none where no cell is pinned. */
function number(view: View): { imports: string[]; lines: string[] } {
  const { row, col, shownHead, grid, overview } = view;
  if (row === null || col === null || overview.compared || overview.similar) return { imports: [], lines: [] };
  const { layer, head, layerMap, measure } = shownHead;
  const [what, where] = layerMap
    ? [layerMap.word.label, `L${layer}`]
    : [MEASURES[measure].title, headLabel(layer, head)];
  const [query, key] = [grid.rows[row]!, grid.cols[col]!].map(({ label }) => `"${tokenText(label)}"`);
  const text = currentScale(view).text(grid.values.at(row, col));
  const { from, code } = expression(view, row, col);
  return {
    imports: from ? [from] : [],
    lines: [`# ${what} ${query} → ${key} in ${where}: ${text}`, `value = float(${code})`],
  };
}

/** All of it; the view is last, so that a notebook's cell shows it. */
export function pythonLines(view: View): string {
  const [run, value] = [running(view), number(view)];
  const imports = ["import bertlens as bl", ...run.imports, ...value.imports];
  return [...imports, "", ...run.lines, ...value.lines, exploring(view), ""].join("\n");
}
