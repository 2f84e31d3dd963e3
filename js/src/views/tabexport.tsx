// Exports of the open tab: its charts as one figure, always in the light palette, and its numbers as CSV.
import { signal } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { type CsvCell, csv } from "../export/csv";
import { captionLines } from "../export/facts";
import { frame } from "../export/figure";
import type { Gates as GateData } from "../state/gates";
import { type Arrays, unpack } from "../wire";
import { type View, ViewContext } from "./context";
import { provenance } from "./figures";
import { Gates } from "./gates";
import { Geometry } from "./geometry";
import { Norms, type NormView } from "./norms";
import { readSurvey } from "./survey/data";
import { allHeads } from "./survey/grid";
import { SurveyTab } from "./survey/tab";

const GAP = 16;

const TABS: Record<string, { title: string; body: ComponentType; measure: string }> = {
  norms: { title: "Weight against norm", body: Norms, measure: "attention weight α and ‖f(x)‖" },
  gates: { title: "Gates", body: Gates, measure: "gate scores (bertlens’ own, names after Bonino et al. 2025)" },
  survey: { title: "Corpus", body: SurveyTab, measure: "statistics of a corpus, by weight α and by norm ‖αf(x)‖" },
  geometry: { title: "Geometry", body: Geometry, measure: "cone index I/n and vector norms" },
};

/** The charts of a tab, one below the other. */
export function tabFigure(view: View, tab: string): string {
  const { title, body: Body, measure } = TABS[tab]!;
  const paper = document.createElement("div"); // never shown: the same view once more, in the colours of paper
  render(
    <ViewContext.Provider value={{ ...view, dark: signal(false) }}>
      <Body />
    </ViewContext.Provider>,
    paper,
  );
  const charts = [...paper.querySelectorAll<SVGSVGElement>("svg.bl-chart")];
  let y = 0;
  let width = 0;
  const parts = charts.map((chart) => {
    const name = chart.getAttribute("aria-label") ?? "";
    const text = new XMLSerializer().serializeToString(chart);
    const [wide, tall] = [Number(chart.getAttribute("width")), Number(chart.getAttribute("height"))];
    const at = y;
    y += tall + GAP + 16;
    width = Math.max(width, wide);
    return {
      markup: `<g transform="translate(0 ${at})"><text y="10">${name.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text><g transform="translate(0 16)">${text}</g></g>`,
    };
  });
  render(null, paper);
  const about = {
    title,
    description: `${title}, as the view shows it.`,
    caption: captionLines(provenance(view, measure)),
  };
  return frame(about, width, y, ...parts);
}

/** The numbers of a tab. */
export async function tabCsv(view: View, tab: string): Promise<string> {
  const { store, page } = view;
  const { trace, map, n_heads, n_layers, queries } = store.shown.value.picture;
  const [threshold, margin] = page.thresholds.value;
  const op = { norms: "norm_view", gates: "gates", geometry: "geometry", survey: "survey" }[tab]!;
  const more = tab === "gates" ? { threshold, margin } : {};
  const { fields, buffers } = await store.request(op, { trace, map, ...more });
  const arrays: Arrays = fields.arrays ? unpack(fields.arrays as never, buffers[0]!) : {};
  const facts = provenance(view, TABS[tab]!.measure);
  const layers = Array.from({ length: n_layers }, (_, l) => l);
  if (tab === "geometry") {
    const rows = fields.rows as Record<string, CsvCell>[];
    const columns = Object.keys(rows[0] ?? {});
    return csv(
      facts,
      columns,
      rows.map((row) => columns.map((name) => row[name] ?? null)),
    );
  }
  if (tab === "survey") {
    const data = readSurvey({ fields, arrays });
    const columns = data.by.flatMap((by) => data.names.map((name) => ({ by, name })));
    const title = ({ by, name }: (typeof columns)[number], what: string) => `${name} by ${by}, ${what}`;
    return csv(
      [...facts, ["corpus", `${data.about}; ${data.texts} texts, ${data.tokens} tokens`]],
      [
        "layer",
        "head",
        "gate",
        "gate_share",
        ...columns.flatMap((c) => [
          title(c, "mean of texts"),
          title(c, "sd"),
          title(c, "mean of tokens"),
          title(c, "here"),
        ]),
      ],
      allHeads(data).map(([l, h]) => [
        l,
        h,
        data.gates[l]![h]!,
        data.shares[l]![h]!,
        ...columns.flatMap(({ by, name }) => [
          data.mean(name, by, "text", l, h),
          data.spread(name, by, l, h),
          data.mean(name, by, "token", l, h),
          data.here(name, by, l, h),
        ]),
      ]),
    );
  }
  if (tab === "gates") {
    const { names, labels } = fields as unknown as GateData;
    const [full, content] = [arrays.full!.data, arrays.content!.data];
    const rows = layers.flatMap((l) =>
      Array.from({ length: n_heads }, (_, h) => {
        const at = (l * n_heads + h) * names.length;
        const scores = [full, content].flatMap((data) => names.map((_, g) => data[at + g]!));
        return [l, h, labels.full[l]![h]!, labels.content[l]![h]!, ...scores];
      }),
    );
    const scores = ["full", "content"].flatMap((which) => names.map((name) => `${which}: ${name}`));
    return csv(
      [...facts, ["threshold", `${threshold}, margin ${margin}`]],
      ["layer", "head", "label_full", "label_content", ...scores],
      rows,
    );
  }
  const { methods } = fields as unknown as NormView;
  const mixing = arrays.mixing!.data;
  const S = queries.tokens.length;
  const rows = layers.flatMap((l) =>
    queries.tokens.map((token, n) => [l, n, token, ...methods.map((_, m) => mixing[(m * n_layers + l) * S + n]!)]),
  );
  return csv(facts, ["layer", "token_index", "token", ...methods.map((name) => `mixing ratio ${name}`)], rows);
}
