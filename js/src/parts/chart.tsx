// The frame of a chart: scales, axes with ticks, markers. Colours are attributes, so that a chart can leave the page.
import type { ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { inks } from "../paint/palette";
import { textWidth } from "../paint/textwidth";
import { Paper } from "./paper";
import { AsTables, type Figures, PictureTable } from "./picturetable";

export interface Scale {
  (value: number): number;
  ticks: number[];
}

/** A linear scale from [lo, hi] to [from, to] in pixels, with about `n` round ticks, or none. */
export function scale(lo: number, hi: number, from: number, to: number, n = 5): Scale {
  const span = hi - lo || 1;
  const power = 10 ** Math.floor(Math.log10(span / n));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= span / n) ?? Number.POSITIVE_INFINITY;
  const ticks: number[] = [];
  for (let t = Math.ceil(lo / step); n > 0 && t * step <= hi + 1e-9 * span; t++) ticks.push(t * step);
  return Object.assign((value: number) => from + ((value - lo) / span) * (to - from), { ticks });
}

const decimals = (ticks: number[]) => {
  const step = Math.abs((ticks[1] ?? 1) - (ticks[0] ?? 0)) || 1;
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
};

export const MARGIN = { left: 44, right: 12, top: 18, bottom: 34 };

/** The sheet of every chart. Files take these: where there are several, their labels are the titles. */
export function Drawing(props: {
  width: number;
  height: number;
  label?: string; // for who cannot see it; none for what only belongs to the chart before
  table: (() => Figures) | null; // what it shows in numbers; null for what has its numbers beside it, or is only for files
  wide?: boolean; // keeps its width: what is around it scrolls
  children?: ComponentChildren;
}) {
  const { width, height, label, table } = props;
  const paper = useContext(Paper);
  if (useContext(AsTables) && !paper && table) return <PictureTable title={label ?? ""} table={table} />;
  return (
    <svg
      class={props.wide ? "bl-chart bl-wide" : "bl-chart"}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role={label ? "img" : "none"}
      aria-label={label}
    >
      {props.children}
    </svg>
  );
}

/** Axes and what is drawn between them. */
export function Chart(props: {
  width: number;
  height: number;
  x: Scale;
  y: Scale;
  xLabel: string;
  yLabel: string;
  label: string; // for who cannot see it
  table: () => Figures;
  dark: boolean;
  children?: ComponentChildren;
  xTicks?: (value: number) => string;
  wide?: boolean; // as of Drawing
}) {
  const { width, height, x, y, xTicks = (value: number) => value.toFixed(decimals(x.ticks)) } = props;
  const { muted, border } = inks(props.dark);
  const right = width - MARGIN.right;
  return (
    <Drawing width={width} height={height} label={props.label} table={props.table} wide={props.wide}>
      <g font-size="11" fill={muted}>
        {y.ticks.map((t) => (
          <g key={t}>
            <line x1={MARGIN.left} x2={right} y1={y(t)} y2={y(t)} stroke={border} />
            <text x={MARGIN.left - 6} y={y(t) + 4} text-anchor="end">
              {t.toFixed(decimals(y.ticks))}
            </text>
          </g>
        ))}
        {x.ticks.map((t) => (
          <text key={t} x={x(t)} y={height - MARGIN.bottom + 15} text-anchor="middle">
            {xTicks(t)}
          </text>
        ))}
        <text x={right} y={height - 4} text-anchor="end">
          {props.xLabel}
        </text>
        <text x={2} y={11}>
          {props.yLabel}
        </text>
      </g>
      {props.children}
    </Drawing>
  );
}

/** One marker per category, eight of them: disc, square, triangle, diamond, triangle on its tip, cross, plus, half. */
export const MARKERS = 8;

export function markerPath(kind: number, x: number, y: number, r: number): string {
  const arm = 0.4 * r;
  switch (kind % MARKERS) {
    case 1:
      return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case 2:
      return `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + r}H${x - 1.1 * r}z`;
    case 3:
      return `M${x} ${y - 1.3 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.3 * r}L${x - 1.3 * r} ${y}z`;
    case 4:
      return `M${x} ${y + 1.2 * r}L${x + 1.1 * r} ${y - r}H${x - 1.1 * r}z`;
    case 5: {
      const [a, b] = [arm, 0.85 * r - arm];
      return `M${x} ${y - a}l${b} ${-b}l${a} ${a}l${-b} ${b}l${b} ${b}l${-a} ${a}l${-b} ${-b}l${-b} ${b}l${-a} ${-a}l${b} ${-b}l${-b} ${-b}l${a} ${-a}z`;
    }
    case 6: {
      const [w, l] = [2 * arm, 1.2 * r - arm];
      return `M${x - arm} ${y - arm}v${-l}h${w}v${l}h${l}v${w}h${-l}v${l}h${-w}v${-l}h${-l}v${-w}z`;
    }
    case 7:
      return `M${x - 1.2 * r} ${y + 0.6 * r}a${1.2 * r} ${1.2 * r} 0 0 1 ${2.4 * r} 0z`;
    default:
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}

/** A marker on its own, in a line of text. */
export const Marker = ({ kind, fill }: { kind: number; fill: string }) => (
  <svg width="12" height="12" aria-hidden="true">
    <path d={markerPath(kind, 6, 6, 4)} fill={fill} />
  </svg>
);

/** The names of the series with their colours and markers. */
export const Key = ({ names, colours }: { names: string[]; colours: string[] }) => (
  <Marks marks={names.map((text, n) => ({ text, kind: n, fill: colours[n] }))} />
);

export interface Mark {
  text: string;
  kind?: number; // of its marker
  fill?: string; // none: text alone
}

const LINE = 16;

/** What marks mean; in a file a chart of its own, without a name. */
export function Marks({ marks, label }: { marks: Mark[]; label?: string }) {
  const paper = useContext(Paper);
  if (!paper)
    return (
      <ul class="bl-key" aria-label={label}>
        {marks.map(({ text, kind, fill }) => (
          <li key={text}>
            {fill && <Marker kind={kind!} fill={fill} />} {text}
          </li>
        ))}
      </ul>
    );
  const limit = paper.inner || 440;
  let [x, y] = [0, 0];
  const places = marks.map(({ text, fill }) => {
    const wide = (fill ? 15 : 0) + textWidth(text, 11) + 16;
    if (x > 0 && x + wide > limit) [x, y] = [0, y + LINE];
    x += wide;
    return { x: x - wide, y };
  });
  return (
    <Drawing width={limit} height={y + LINE} table={null}>
      <g font-size="11" fill={inks(paper.dark).ink} data-key>
        {marks.map(({ text, kind, fill }, n) => (
          <g key={text} transform={`translate(${places[n]!.x} ${places[n]!.y})`}>
            {fill && <path d={markerPath(kind!, 5, 7, 4)} fill={fill} />}
            <text x={fill ? 15 : 0} y="11">
              {text}
            </text>
          </g>
        ))}
      </g>
    </Drawing>
  );
}
