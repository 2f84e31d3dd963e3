// Head view as lines: tokens left (queries) and right (keys), opacity = weight, one colour and dash per head.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Grid } from "../compute/grid";
import { headColor, headDash } from "../paint/palette";
import { Slider } from "../parts/controls";
import { px, share } from "../parts/format";
import { Token, visibleText } from "../parts/token";
import { headLabel } from "../state/store";
import { useView } from "./context";
import { gridMaximum, pinCell } from "./matrix";
import { useWidth } from "./width";

const MOST_LINES = 6000; // drawn at once; the legend says when there are more

interface Line {
  series: number;
  row: number;
  col: number;
  weight: number;
}

export interface Series {
  name: string;
  grid: Grid;
  muted: boolean;
}

/** The lines to draw, weakest first, and how many weights passed the threshold. */
export function chooseLines(
  series: Series[],
  minimum: number,
  row: number | null,
  col: number | null,
  most = MOST_LINES,
): { lines: Line[]; passed: number } {
  const lines: Line[] = [];
  series.forEach(({ grid, muted }, n) => {
    if (muted) return;
    const K = grid.cols.length;
    for (let i = row ?? 0; i < (row === null ? grid.rows.length : row + 1); i++) {
      for (let j = col ?? 0; j < (col === null ? K : col + 1); j++) {
        const weight = grid.values[i * K + j]!;
        if (weight >= minimum && weight > 0) lines.push({ series: n, row: i, col: j, weight });
      }
    }
  });
  lines.sort((a, b) => a.weight - b.weight);
  return { lines: lines.slice(-most), passed: lines.length };
}

export function Lines() {
  const view = useView();
  const { page, display, store, dark } = view;
  const shown = store.shown.value;
  const grid = display.grid.value;
  const muted = page.muted.value;
  const series: Series[] = [{ data: shown, grid }, ...display.overlays.value].map((drawn) => {
    const name = headLabel(drawn.data.layer, drawn.data.head);
    return { name, grid: drawn.grid, muted: muted.has(name) };
  });
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const hover = page.hover.value;
  const pinnedRow = display.row.value;
  const pinnedCol = display.col.value;
  const row = hover && hover.row >= 0 ? hover.row : hover ? null : pinnedRow;
  const col = hover && hover.col >= 0 ? hover.col : hover ? null : pinnedRow === null ? pinnedCol : null;
  const focused = row !== null || col !== null;
  const { rows, cols } = grid;
  const height = rows.length > 120 ? 16 : 20;
  const total = Math.max(rows.length, cols.length) * height;
  const tokenWidth = Math.min(130, Math.max(76, width * 0.22));
  const middle = Math.max(60, width - 2 * tokenWidth - 12);
  const { lines, passed } = chooseLines(series, page.lineMinimum.value, null, null);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const density = Math.min(2, window.devicePixelRatio || 1, 16000 / total);
    element.width = Math.round(middle * density);
    element.height = Math.round(total * density);
    context.scale(density, density);
    context.clearRect(0, 0, middle, total);
    const active = series.filter((s) => !s.muted).length || 1;
    const draw = (line: Line, strength: number) => {
      const y1 = (line.row + 0.5) * height;
      const y2 = (line.col + 0.5) * height;
      context.beginPath();
      context.strokeStyle = headColor(line.series, dark.value);
      context.globalAlpha = Math.min(1, strength * line.weight);
      context.lineWidth = 0.75 + 2.25 * line.weight;
      context.setLineDash(headDash(line.series));
      context.moveTo(2, y1);
      context.bezierCurveTo(middle * 0.4, y1, middle * 0.6, y2, middle - 2, y2);
      context.stroke();
    };
    for (const line of lines) draw(line, focused ? 0.18 : 1 / Math.sqrt(active));
    if (focused) for (const line of chooseLines(series, 0.0005, row, col).lines) draw(line, 1.15);
  });

  if (rows.length === 0 || cols.length === 0)
    return <p class="bl-empty">No tokens left to show: undo “hide special” or the pair filter.</p>;

  const value = (s: Series, i: number, j: number) => s.grid.values[i * cols.length + j]!;
  /** Per head, the numbers beside a token while the other end is hovered or pinned. */
  const numbers = (i: number | null, j: number | null) =>
    i === null || j === null
      ? null
      : series.map(
          (s, n) =>
            !s.muted &&
            value(s, i, j) >= 0.005 && (
              <span key={s.name} class="bl-number bl-line-number" style={{ color: headColor(n, dark.value) }}>
                {value(s, i, j).toFixed(2)}
              </span>
            ),
        );
  const token = (label: string, n: number, isQuery: boolean) => {
    const pinned = isQuery ? n === pinnedRow : n === pinnedCol;
    const lit = isQuery ? n === row : n === col;
    return (
      <button
        type="button"
        key={n}
        class={`bl-line-token${pinned ? " bl-pinned" : ""}${lit ? " bl-lit" : ""}`}
        style={{ height: px(height) }}
        aria-pressed={pinned}
        title={`${isQuery ? "query" : "key"} ${n}: ${visibleText(label)}`}
        onPointerEnter={() => {
          page.hover.value = isQuery ? { row: n, col: -1 } : { row: -1, col: n };
        }}
        onPointerLeave={() => {
          page.hover.value = null;
        }}
        onClick={() =>
          isQuery ? pinCell(view, pinned ? null : n, pinnedCol) : pinCell(view, pinnedRow, pinned ? null : n)
        }
      >
        {isQuery && <span class="bl-line-numbers">{numbers(n, col)}</span>}
        <Token text={label} />
        {!isQuery && <span class="bl-line-numbers">{numbers(row, n)}</span>}
      </button>
    );
  };
  return (
    <div class="bl-lines" ref={frame} data-testid="lines">
      <HeadLegend series={series} />
      <div class="bl-lines-names bl-muted">
        <span>query (from)</span>
        <span>key (to)</span>
      </div>
      <div class="bl-scroll bl-lines-scroll">
        <div class="bl-lines-sheet" style={{ gridTemplateColumns: `${tokenWidth}px ${middle}px ${tokenWidth}px` }}>
          <div class="bl-line-queries">{rows.map((u, n) => token(u.label, n, true))}</div>
          <canvas
            ref={canvas}
            role="img"
            aria-label={`${lines.length} lines from queries to keys; opacity is the attention weight`}
            style={{ width: px(middle), height: px(total) }}
          />
          <div class="bl-line-keys">{cols.map((u, n) => token(u.label, n, false))}</div>
        </div>
      </div>
      <div class="bl-controls">
        <Slider
          label="draw α ≥"
          min={0}
          max={0.5}
          step={0.005}
          value={page.lineMinimum.value}
          text={page.lineMinimum.value.toFixed(3)}
          onChange={(v) => {
            page.lineMinimum.value = v;
          }}
        />
        <span class="bl-muted">
          {lines.length < passed ? `the ${lines.length} strongest of ${passed} lines` : `${passed} lines`}, opacity = α
          {focused ? "; the token in focus: all its lines" : ""}
        </span>
      </div>
    </div>
  );
}

/** One chip per head drawn: click switches it off and on, a double click isolates it. */
function HeadLegend({ series }: { series: Series[] }) {
  const { page, dark, store } = useView();
  const { synced } = store;
  if (series.length < 2)
    return <p class="bl-hint bl-muted">Shift-click heads in the atlas to draw several over each other.</p>;
  const toggle = (name: string) => {
    const next = new Set(page.muted.value);
    if (!next.delete(name)) next.add(name);
    if (next.size < series.length) page.muted.value = next; // the last one stays on
  };
  const isolate = (name: string) => {
    const others = series.map((s) => s.name).filter((n) => n !== name);
    const alone = others.every((n) => page.muted.value.has(n)) && !page.muted.value.has(name);
    page.muted.value = new Set(alone ? [] : others);
  };
  return (
    <div class="bl-chips" role="group" aria-label="Heads drawn">
      {series.map((s, n) => (
        <button
          type="button"
          key={s.name}
          class="bl-chip"
          aria-pressed={!s.muted}
          title="click: off and on; double click: this one alone"
          onClick={(event) => {
            if (event.detail <= 1) toggle(s.name);
          }}
          onDblClick={() => isolate(s.name)}
        >
          <svg width="22" height="8" aria-hidden="true">
            <line
              x1="1"
              y1="4"
              x2="21"
              y2="4"
              stroke={headColor(n, dark.value)}
              stroke-width="3"
              stroke-dasharray={headDash(n).join(" ")}
            />
          </svg>
          {s.name}
          <span class="bl-number bl-muted">max {share(gridMaximum(s.grid))}</span>
        </button>
      ))}
      <button type="button" class="bl-link" onClick={() => synced.put({ heads: [] })}>
        only {series[0]!.name}
      </button>
    </div>
  );
}
