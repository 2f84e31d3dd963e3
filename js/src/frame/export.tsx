// What is on screen as files: figures with captions, numbers with provenance.
import type { ComponentChildren } from "preact";
import { AtlasFigure } from "../atlas/atlasfigure";
import { sentences } from "../atlas/headvalues";
import { isLong } from "../compute/windows";
import { type CsvCell, csv, type Facts } from "../export/csv";
import { captionLines, facts } from "../export/provenance";
import { MEASURES } from "../generated/vocabulary";
import { LinesFigure, MapFigure } from "../head/headfigures";
import { lookingAt, pixelWords, seenPart } from "../head/long/zoompart";
import { shadesInWords, shadesOf } from "../head/running";
import { RunningFigure } from "../head/runningfigure";
import { currentScale } from "../head/scale";
import { headLabel, paperName } from "../paint/format";
import { SCREEN, svgFile } from "../parts/figure";
import type { Sheet } from "../parts/paper";
import { sentenceText } from "../parts/phrasing";
import { tokenQuote } from "../parts/token";
import type { Tab } from "../state/overview";
import { type View, ViewContext } from "../state/view";
import { tabOf } from "../tabs/tabs";
import { ScreenFigure, screenOf } from "./thisscreen";

/** Model, text, layer and head, measure, the filters in force, versions. */
function provenance({ shownHead, synced }: View, measure: string, more: Facts = []): Facts {
  const { overview, layer, head } = shownHead;
  const { units, hide_special, renormalize, pair_filter } = synced;
  const map = overview.map === "self" ? "" : `, ${overview.map}`;
  const filters = [
    units.value !== "pieces" && `pieces merged to ${units.value} (columns summed, rows averaged)`,
    hide_special.value && `special tokens hidden${renormalize.value ? ", rows renormalised" : ""}`,
    overview.pair && pair_filter.value !== "all" && `sentence pair filter ${pair_filter.value}`,
  ].filter(Boolean);
  return facts(overview, [
    ["head", `${headLabel(layer, head)} (${paperName(layer, head)})${map}`],
    ["measure", measure],
    ...(filters.length > 0 ? ([["shown", filters.join("; ")]] as Facts) : []),
    ...more,
  ]);
}

/** A part of the view as an SVG file. */
const figure = (
  view: View,
  { title, description, measure }: Record<"title" | "description" | "measure", string>,
  body: ComponentChildren,
  sheet: Sheet,
  more: Facts = [],
): string =>
  svgFile(
    { title, description, caption: captionLines(provenance(view, measure, more)) },
    <ViewContext.Provider value={{ ...view, dark: sheet.dark }}>{body}</ViewContext.Provider>,
    sheet,
  );

export function headFigure(view: View, sheet = SCREEN): string {
  const { layer, head, layerMap, measure, weights } = view.shownHead;
  const { name, symbol, title } = currentScale(view);
  const description = layerMap ? layerMap.word.about : sentenceText(sentences(view, measure)(layer, head, weights));
  const mode = view.synced.mode.value;
  const shades = mode === "text" && shadesOf(view);
  const body = shades ? <RunningFigure /> : mode === "lines" ? <LinesFigure /> : <MapFigure />;
  const caption = `${name}, ${symbol === "α" ? "attention" : symbol}`;
  const by = shades && tokenQuote(shades.unit.label);
  const about = {
    title: by ? `${caption}: ${shades.to ? `who looks at ${by}` : `what ${by} looks at`}` : caption,
    description: shades ? shadesInWords(view, shades) : description,
    measure: title,
  };
  return figure(view, about, body, sheet);
}

/** What stands on the screen: the answer with what the head does for it. */
export async function screenFigure(view: View, sheet: Sheet): Promise<string> {
  const { layer, head } = view.shownHead;
  const { innerText } = view.root.current!.querySelector<HTMLElement>("[data-testid=claim]") ?? { innerText: "" };
  const about = {
    title: `${headLabel(layer, head)} and the answer`,
    description: innerText.replace(/\s+/g, " ").trim(),
    measure: "attention weight α, and the model’s answer",
  };
  const drawn = await screenOf(view, sheet);
  return figure(view, about, <ScreenFigure {...drawn} dark={sheet.dark} />, sheet);
}

export function atlasFigure(view: View, sheet = SCREEN): string {
  const { symbol, title } = MEASURES[view.shownHead.thumbs.measure];
  const measure = `${title}; each pixel the largest of the cells under it`;
  const about = { title: `Atlas of heads, ${symbol}`, description: `A thumbnail for each head: ${title}.`, measure };
  return figure(view, about, <AtlasFigure />, sheet);
}

/** The charts of a tab. */
export function tabFigure(view: View, tab: Tab, sheet = SCREEN): string {
  const { measure, figure: Figure, facts } = tabOf(tab.name);
  const title = `${headLabel(view.shownHead.layer, view.shownHead.head)}: ${tab.label}`;
  const about = { title, description: tab.about, measure: measure || tab.about };
  return figure(view, about, Figure && <Figure tab={tab} />, sheet, facts?.(view));
}

/** The numbers of a tab. */
export async function tabCsv(view: View, tab: Tab): Promise<string> {
  const { measure, numbers } = tabOf(tab.name);
  const { columns, rows, facts: extra } = await numbers(view, tab);
  return csv(provenance(view, measure || tab.about, extra), columns, rows);
}

/** The displayed grid, every cell a line; beside the measure shown, the weight and ‖f(x)‖ that it is made of. */
export function headCsv(view: View): string {
  const isPart = isLong(view.grid.rows.length, view.grid.cols.length);
  const { level, region } = lookingAt(view);
  const { rows, cols, values } = isPart ? seenPart(view) : view.grid;
  const [top, left, edge] = isPart ? [region.row, region.col, level.edge] : [0, 0, 1];
  const { norms, weights, layerMap } = view.shownHead;
  const { column, title } = currentScale(view);
  const keyNorms = !layerMap && edge === 1 && view.synced.units.value === "pieces" ? norms : null;
  const factors = (i: number, j: number) => (keyNorms ? [weights.at(i, j), keyNorms[j]!] : []);
  const cells = rows.flatMap((row, i) =>
    cols.map((col, j): CsvCell[] => [
      ...[top + i * edge, row.label, left + j * edge, col.label, values.at(i, j)],
      ...factors(row.pieces[0]!, col.pieces[0]!),
    ]),
  );
  const names = ["query_index", "query", "key_index", "key", column, ...(keyNorms ? ["attention", "norm_of_f"] : [])];
  return csv(provenance(view, title + (isPart ? pixelWords(view, level) : "")), names, cells);
}
