// Charts as one SVG file: one below the other, with a title above; the facts are in its metadata, and below where wanted.
import { type ComponentChildren, render } from "preact";
import { useContext } from "preact/hooks";
import { inks } from "../paint/palette";
import { visibleText } from "../paint/quotes";
import { textWidth, wrap } from "../paint/textwidth";
import { Drawing } from "./chart";
import { Embedded } from "./heatchart";
import { type LegendProps, Paper, type PaperSheet, type Sheet } from "./paper";

/** What every figure says about itself. */
interface About {
  title: string; // what is seen: "L1·H8, attention"
  description: string; // one sentence for who cannot see it
  caption: string[]; // lines below: model, text, layer, head, measure, versions
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Noto Sans', sans-serif";
const [MARGIN, NARROW] = [16, 4]; // around charts as wide as they come, and on a sheet of a given width
const POINT = 25.4 / 72; // mm
const LETTER = 11; // units of the letters of charts
const GAP = 16; // between charts
// Everything that XML 1.0 has no place for, lone surrogates included.
const ILLEGAL = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** As the view draws it, with all that is to be said of it. */
export const SCREEN: Sheet = { mm: 0, points: 8, dark: false, caption: true, selection: true };

/** What a sheet is in the units of charts: so many that their letters come out as large as was asked for. */
const innerOf = ({ mm, points }: Sheet) => (mm ? (LETTER * mm) / (points * POINT) - 2 * NARROW : 0);

/**
 * What `body` draws of charts, as a file: one below the other, where several have a name each under its own. A chart that
 * is wider than the sheet is made smaller, letters too.
 */
export function svgFile(about: About, body: ComponentChildren, sheet: Sheet = SCREEN): string {
  const page: PaperSheet = { ...sheet, inner: innerOf(sheet), Legend: PaperLegend };
  const { inner } = page;
  const [paper, frame] = [document.createElement("div"), document.createElement("div")]; // never shown
  render(<Paper.Provider value={page}>{body}</Paper.Provider>, paper);
  const charts = [...paper.querySelectorAll("svg.bl-chart")];
  if (charts.length === 0) throw new Error("nothing is drawn yet");
  const names = charts.map((chart) => chart.getAttribute("aria-label") ?? "");
  const isTitled = names.filter(Boolean).length > 1;
  const places = placesOf(charts, inner, isTitled);
  const height = Math.max(...places.map(({ y, tall }) => y + tall));
  charts.forEach((chart, n) => {
    const { x, y, wide, tall } = places[n]!;
    for (const [name, length] of Object.entries({ x, y, width: wide, height: tall }))
      if (length || name !== "x") chart.setAttribute(name, String(length));
  });
  const titles = places.map(({ x, y, room }, n) => ({ text: names[n]!, x, y: y - 6, room }));
  const width = inner || Math.max(...places.map(({ wide }) => wide), ...names.map((name) => textWidth(name, 11)));
  render(<Frame {...about} page={page} width={width} height={height} titles={isTitled ? titles : []} />, frame);
  const svg = frame.firstElementChild!;
  svg.querySelector("[data-charts]")!.append(...charts.map((chart) => chart.cloneNode(true)));
  const text = new XMLSerializer().serializeToString(svg).replace(ILLEGAL, "\ufffd");
  render(null, paper);
  render(null, frame);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

/** Where charts stand: one below the other, those of a `Beside` in its columns; one that is too wide is made smaller. */
function placesOf(charts: Element[], inner: number, isTitled: boolean) {
  let [top, foot] = [-GAP, -GAP]; // of the row; where all so far ends
  let [row, last]: (Element | null)[] = [null, null];
  let y = -GAP;
  return charts.map((chart) => {
    const beside = chart.closest("[data-beside]");
    const columns = inner ? Number(beside?.getAttribute("data-beside") ?? 1) : 1;
    const room = inner && (inner - GAP * (columns - 1)) / columns;
    const column = beside && [...beside.children].find((child) => child.contains(chart))!;
    const at = column ? [...beside.children].indexOf(column) % columns : 0;
    if (beside === null || beside !== row || (column !== last && at === 0)) [top, y] = [foot, foot];
    else if (column !== last) y = top;
    [row, last] = [beside, column];
    const [width, tall] = ["width", "height"].map((side) => Number(chart.getAttribute(side))) as [number, number];
    const scale = room ? Math.min(1, room / width) : 1;
    const place = {
      x: at * (room + GAP),
      y: y + GAP + (isTitled && chart.getAttribute("aria-label") ? GAP : 0),
      ...{ wide: width * scale, tall: tall * scale, room },
    };
    y = place.y + place.tall;
    foot = Math.max(foot, y);
    return place;
  });
}

interface FrameProps extends About {
  page: PaperSheet;
  width: number;
  height: number;
  titles: { text: string; x: number; y: number; room: number }[]; // of the charts
}

function Frame({ title, description, caption, page, width, height, titles }: FrameProps) {
  const { mm } = page;
  const [margin, letters] = mm ? [NARROW, LETTER] : [MARGIN, 14];
  const inner = mm ? width : Math.max(width, 320, textWidth(title, letters));
  const heads = wrap(title, inner / 1.1, letters); // it is bold
  const lines = page.caption ? caption.flatMap((line) => wrap(line, inner, 10)) : [];
  const top = margin + 8 + 18 * heads.length;
  const bottom = top + height + 24;
  const end = lines.length > 0 ? bottom + 14 * lines.length + margin - 10 : top + height + margin;
  const size = [Math.ceil(inner + 2 * margin), Math.ceil(end)] as const;
  const { panel, ink, muted } = inks(page.dark);
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      viewBox={`0 0 ${size.join(" ")}`}
      width={mm ? `${mm}mm` : size[0]}
      height={mm ? `${((mm * size[1]) / size[0]).toFixed(2)}mm` : size[1]}
      role="img"
      font-family={FONT}
      font-size="11"
      fill={ink}
      style="font-variant-numeric: tabular-nums"
    >
      <title>{visibleText(title)}</title>
      <desc>{visibleText(description)}</desc>
      <metadata>{caption.map(visibleText).join("\n")}</metadata>
      <rect width="100%" height="100%" fill={panel} />
      <g font-size={letters} font-weight="600">
        {heads.map((line, n) => (
          <text x={margin} y={margin + 12 + 18 * n}>
            {line}
          </text>
        ))}
      </g>
      <g transform={`translate(${margin} ${top})`} data-charts>
        {titles.map(
          ({ text, x, y, room }) =>
            text && (
              <text
                x={x || undefined}
                y={y}
                font-size={Math.min(LETTER, (LETTER * (room || inner)) / textWidth(text, LETTER))}
              >
                {visibleText(text)}
              </text>
            ),
        )}
      </g>
      <g font-size="10" fill={muted}>
        {lines.map((line, n) => (
          <text x={margin} y={bottom + 14 * n}>
            {line}
          </text>
        ))}
      </g>
    </svg>
  );
}

const RAMP = Uint8Array.from({ length: 256 }, (_, n) => n);

/** A legend as a chart of its own, without a name. */
function PaperLegend({ low, high, label, colours }: LegendProps) {
  const { inner } = useContext(Paper)!;
  const offset = textWidth(low, 11) + 6;
  const right = offset + 122 + textWidth(high, 11);
  const isBelow = inner > 0 && right + textWidth(label, 11) > inner;
  const [x, y] = isBelow ? [0, 25] : [right, 9];
  return (
    <Drawing
      width={isBelow ? Math.max(right, textWidth(label, 11)) : x + textWidth(label, 11)}
      height={y + 3}
      table={null}
    >
      <Embedded rows={1} cols={256} entries={RAMP} palette={colours} width={110} height={10} x={offset} />
      <g font-size="11">
        <text y="9">{low}</text>
        <text x={offset + 116} y="9">
          {high}
        </text>
        <text x={x} y={y}>
          {label}
        </text>
      </g>
    </Drawing>
  );
}
