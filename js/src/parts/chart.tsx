// The frame of a chart: scales, axes with ticks, markers. Colours are attributes, so that a chart can leave the page.
import type { ComponentChildren } from "preact";

export interface Scale {
  (value: number): number;
  ticks: number[];
}

/** A linear scale from [lo, hi] to [from, to] in pixels, with about `n` round ticks. */
export function scale(lo: number, hi: number, from: number, to: number, n = 5): Scale {
  const span = hi - lo || 1;
  const raw = span / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw)!;
  const ticks: number[] = [];
  for (let t = Math.ceil(lo / step); t * step <= hi + 1e-9 * span; t++) ticks.push(t * step);
  return Object.assign((value: number) => from + ((value - lo) / span) * (to - from), { ticks });
}

const decimals = (ticks: number[]) => {
  const step = Math.abs((ticks[1] ?? 1) - (ticks[0] ?? 0)) || 1;
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
};

export const inks = (dark: boolean) =>
  dark
    ? { ink: "#e6e9ee", muted: "#97a1b0", grid: "#2c333d", select: "#ff8a5c", accent: "#7ea6ea", panel: "#171b21" }
    : { ink: "#1d2430", muted: "#5d6778", grid: "#e2e5ea", select: "#c03a14", accent: "#2f5fb3", panel: "#ffffff" };

/** Token categories and vectors: told apart by colour and by marker. */
export const series = (dark: boolean) =>
  dark
    ? ["#ff6fa3", "#c39bd3", "#e0b040", "#7ea6ea", "#5cc4b0", "#b0b8c4"]
    : ["#c2185b", "#7a5195", "#8a6508", "#2f5fb3", "#1f7a6b", "#5d6778"];

export interface ChartProps {
  width: number;
  height: number;
  x: Scale;
  y: Scale;
  xLabel: string;
  yLabel: string;
  label: string; // for who cannot see it
  dark: boolean;
  children?: ComponentChildren;
  xTicks?: (value: number) => string;
}

export const MARGIN = { left: 44, right: 12, top: 18, bottom: 34 };

/** The sheet of every chart. Exports of a tab take these: its label is the title there. */
export function Drawing(props: {
  width: number;
  height: number;
  label: string; // for who cannot see it
  wide?: boolean; // keeps its width: what is around it scrolls
  children?: ComponentChildren;
}) {
  const { width, height } = props;
  return (
    <svg
      class={props.wide ? "bl-chart bl-wide" : "bl-chart"}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={props.label}
    >
      {props.children}
    </svg>
  );
}

/** Axes and what is drawn between them. */
export function Chart({ width, height, x, y, xLabel, yLabel, label, dark, children, xTicks }: ChartProps) {
  const { muted, grid } = inks(dark);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  return (
    <Drawing width={width} height={height} label={label}>
      <g font-size="11" fill={muted}>
        {y.ticks.map((t) => (
          <g key={t}>
            <line x1={MARGIN.left} x2={right} y1={y(t)} y2={y(t)} stroke={grid} />
            <text x={MARGIN.left - 6} y={y(t) + 4} text-anchor="end">
              {t.toFixed(decimals(y.ticks))}
            </text>
          </g>
        ))}
        {x.ticks.map((t) => (
          <text key={t} x={x(t)} y={bottom + 15} text-anchor="middle">
            {xTicks ? xTicks(t) : t.toFixed(decimals(x.ticks))}
          </text>
        ))}
        <text x={right} y={height - 4} text-anchor="end">
          {xLabel}
        </text>
        <text x={2} y={11}>
          {yLabel}
        </text>
      </g>
      {children}
    </Drawing>
  );
}

/** One marker per category: disc, square, triangle, diamond, and again. */
export function markerPath(kind: number, x: number, y: number, r: number): string {
  switch (kind % 4) {
    case 1:
      return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`;
    case 2:
      return `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + r}H${x - 1.1 * r}z`;
    case 3:
      return `M${x} ${y - 1.3 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.3 * r}L${x - 1.3 * r} ${y}z`;
    default:
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
}

/** A marker on its own, in a line of text. */
export function Marker({ kind, fill }: { kind: number; fill: string }) {
  return (
    <svg width="12" height="12" aria-hidden="true">
      <path d={markerPath(kind, 6, 6, 4)} fill={fill} />
    </svg>
  );
}

/** The names of the series with their markers. */
export function Key({ names, dark }: { names: string[]; dark: boolean }) {
  return (
    <ul class="bl-key">
      {names.map((name, n) => (
        <li key={name}>
          <Marker kind={n} fill={series(dark)[n]!} />
          {name}
        </li>
      ))}
    </ul>
  );
}
