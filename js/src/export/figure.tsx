// Charts as one SVG file in the colours of paper: one below the other, with a title above and the facts below.
import { type ComponentChildren, render } from "preact";
import { inks } from "../paint/palette";
import { Drawing } from "../parts/chart";
import { Embedded } from "../parts/heatchart";
import { type LegendProps, Paper } from "../parts/paper";
import { textWidth, wrap } from "../parts/textwidth";
import { visibleText } from "../parts/token";

/** What every figure says about itself. */
interface About {
  title: string; // what is seen: "L1·H8, attention"
  description: string; // one sentence for who cannot see it
  caption: string[]; // lines below: model, text, layer, head, measure, versions
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', 'Noto Sans', sans-serif";
const MARGIN = 16;
const GAP = 16; // between charts
// Everything that XML 1.0 has no place for, lone surrogates included.
const ILLEGAL = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** What `body` draws of charts, as a file: one below the other, where several have a name each under its own. */
export function svgFile(about: About, body: ComponentChildren): string {
  const [paper, sheet] = [document.createElement("div"), document.createElement("div")]; // never shown
  render(<Paper.Provider value={PaperLegend}>{body}</Paper.Provider>, paper);
  const charts = [...paper.querySelectorAll("svg.bl-chart")];
  if (charts.length === 0) throw new Error("nothing is drawn yet");
  const sizes = charts.map((chart) => ["width", "height"].map((side) => Number(chart.getAttribute(side))));
  const names = charts.map((chart) => chart.getAttribute("aria-label") ?? "");
  const isTitled = names.filter(Boolean).length > 1;
  let height = -GAP;
  charts.forEach((chart, n) => {
    height += GAP + (isTitled && names[n] ? GAP : 0);
    chart.setAttribute("y", String(height));
    height += sizes[n]![1]!;
  });
  const titles = charts.map((chart, n) => ({ text: names[n]!, y: Number(chart.getAttribute("y")) - 6 }));
  const width = Math.max(...sizes.map(([wide]) => wide!), ...names.map((name) => textWidth(name, 11)));
  render(<Frame {...about} width={width} height={height} titles={isTitled ? titles : []} />, sheet);
  const svg = sheet.firstElementChild!;
  svg.querySelector("[data-charts]")!.append(...charts.map((chart) => chart.cloneNode(true)));
  const text = new XMLSerializer().serializeToString(svg).replace(ILLEGAL, "\ufffd");
  render(null, paper);
  render(null, sheet);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

interface FrameProps extends About {
  width: number;
  height: number;
  titles: { text: string; y: number }[]; // of the charts
}

function Frame({ title, description, caption, width, height, titles }: FrameProps) {
  const inner = Math.max(width, 320, textWidth(title, 14));
  const lines = caption.flatMap((line) => wrap(line, inner, 10));
  const bottom = MARGIN + 26 + height + 24;
  const size = [Math.ceil(inner + 2 * MARGIN), Math.ceil(bottom + 14 * lines.length + MARGIN - 10)];
  const { bg, ink, muted } = inks(false);
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      viewBox={`0 0 ${size.join(" ")}`}
      width={size[0]}
      height={size[1]}
      role="img"
      font-family={FONT}
      font-size="11"
      fill={ink}
      style="font-variant-numeric: tabular-nums"
    >
      <title>{visibleText(title)}</title>
      <desc>{visibleText(description)}</desc>
      <rect width="100%" height="100%" fill={bg} />
      <text x={MARGIN} y={MARGIN + 12} font-size="14" font-weight="600">
        {visibleText(title)}
      </text>
      <g transform={`translate(${MARGIN} ${MARGIN + 26})`} data-charts>
        {titles.map(({ text, y }) => text && <text y={y}>{visibleText(text)}</text>)}
      </g>
      <g font-size="10" fill={muted}>
        {lines.map((line, n) => (
          <text x={MARGIN} y={bottom + 14 * n}>
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
  const left = textWidth(low, 11) + 6;
  const right = left + 122 + textWidth(high, 11);
  return (
    <Drawing width={right + textWidth(label, 11)} height={12} table={null}>
      <Embedded rows={1} cols={256} entries={RAMP} palette={colours} width={110} height={10} x={left} />
      <g font-size="11">
        <text y="9">{low}</text>
        <text x={left + 116} y="9">
          {high}
        </text>
        <text x={right} y="9">
          {label}
        </text>
      </g>
    </Drawing>
  );
}
