// Head view as lines: tokens left (queries) and right (keys), opacity = weight, one colour and dash per head.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Grid } from "../compute/grid";
import { headColor, headDash, signColor } from "../paint/palette";
import { Slider } from "../parts/controls";
import { px, share } from "../parts/format";
import { Token, visibleText } from "../parts/token";
import { headLabel } from "../state/store";
import { useView, type View } from "./context";
import { lookOf } from "./look";
import { pinCell } from "./matrix";
import { useWidth } from "./width";

const MOST_LINES = 6000; // drawn at once; the caption says when there are more
const MOST_NUMBERS = 3; // heads whose weights are printed beside the tokens
const FAINT = 0.18; // strength of the other lines while a token is in focus

interface Line {
  series: number;
  row: number;
  col: number;
  weight: number; // the measure shown, negative only for differences
}

export interface Series {
  name: string;
  grid: Grid;
  muted: boolean;
}

/** The lines to draw, weakest first, and how many weights reach the threshold. */
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
    const lastRow = row === null ? grid.rows.length : row + 1;
    const lastCol = col === null ? K : col + 1;
    for (let i = row ?? 0; i < lastRow; i++) {
      for (let j = col ?? 0; j < lastCol; j++) {
        const weight = grid.values[i * K + j]!;
        if (Math.abs(weight) >= minimum && weight !== 0) lines.push({ series: n, row: i, col: j, weight });
      }
    }
  });
  lines.sort((a, b) => Math.abs(a.weight) - Math.abs(b.weight));
  return { lines: lines.slice(-most), passed: lines.length };
}

interface Sheet {
  width: number;
  height: number;
  rowHeight: number;
  full: number; // the value that is drawn opaque
  dark: boolean;
  signed: boolean; // colour says the sign instead of the head
}

function draw(canvas: HTMLCanvasElement | null, sheet: Sheet, lines: Line[], strength: number) {
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return;
  const { width, height, rowHeight, full, dark } = sheet;
  const density = Math.min(2, window.devicePixelRatio || 1, 16000 / height); // canvases end near 16,000 pixels
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  context.scale(density, density);
  for (const { series, row, col, weight } of lines) {
    const part = Math.abs(weight) / full;
    const from = (row + 0.5) * rowHeight;
    const to = (col + 0.5) * rowHeight;
    context.beginPath();
    context.strokeStyle = sheet.signed ? signColor(weight, dark) : headColor(series, dark);
    context.globalAlpha = Math.min(1, strength * part);
    context.lineWidth = 0.75 + 2.25 * Math.min(1, part);
    context.setLineDash(headDash(series));
    context.moveTo(2, from);
    context.bezierCurveTo(width * 0.4, from, width * 0.6, to, width - 2, to);
    context.stroke();
  }
}

/** The heads drawn, the value that is drawn opaque, and the value from which lines are drawn. */
export function lineSeries(view: View): { series: Series[]; full: number; minimum: number } {
  const { display, page } = view;
  const shown = view.store.shown.value;
  const grid = display.grid.value;
  const look = lookOf(shown, grid, false);
  const drawn = [{ data: shown, grid }, ...(shown.layerMap ? [] : display.overlays.value)];
  const series = drawn.map((one): Series => {
    const name = shown.layerMap ? look.name : headLabel(one.data.layer, one.data.head);
    return { name, grid: one.grid, muted: page.muted.value.has(name) };
  });
  const full = look.symbol === "α" ? 1 : Math.max(...series.map((s) => s.grid.most)) || 1;
  return { series, full, minimum: page.lineMinimum.value * full };
}

export function Lines() {
  const view = useView();
  const { page, display, store } = view;
  const dark = view.dark.value;
  const shown = store.shown.value;
  const grid = display.grid.value;
  const look = lookOf(shown, grid, dark);
  const { series, full, minimum } = useMemo(
    () => lineSeries(view),
    [shown, grid, display.overlays.value, page.muted.value, page.lineMinimum.value],
  );
  const { lines, passed } = useMemo(() => chooseLines(series, minimum, null, null), [series, minimum]);

  const frame = useRef<HTMLDivElement>(null);
  const all = useRef<HTMLCanvasElement>(null);
  const focus = useRef<HTMLCanvasElement>(null);
  const width = useWidth(frame);
  const { rows, cols } = grid;
  const height = rows.length > 120 ? 16 : 20;
  const total = Math.max(1, rows.length, cols.length) * height;
  const tokenWidth = Math.min(130, Math.max(76, width * 0.22));
  const middle = Math.max(60, width - 2 * tokenWidth - 14);

  const hover = page.hover.value;
  const pinned = { row: display.row.value, col: display.col.value };
  const row = hover ? (hover.row >= 0 ? hover.row : null) : pinned.row;
  const col = hover ? (hover.col >= 0 ? hover.col : null) : pinned.row === null ? pinned.col : null;
  const focused = row !== null || col !== null;

  const { signed } = look;
  const sheet = useMemo(
    (): Sheet => ({ width: middle, height: total, rowHeight: height, full, dark, signed }),
    [middle, total, height, full, dark, signed],
  );
  useLayoutEffect(() => {
    const active = series.filter((s) => !s.muted).length || 1;
    draw(all.current, sheet, lines, 1 / Math.sqrt(active));
  }, [lines, series, sheet]);
  useLayoutEffect(() => {
    draw(focus.current, sheet, focused ? chooseLines(series, 0.0005 * full, row, col).lines : [], 1.15);
  }, [series, focused, row, col, sheet, full]);

  if (rows.length === 0 || cols.length === 0)
    return <p class="bl-empty">No tokens left to show: undo “hide special” or the pair filter.</p>;

  /** Per head, the weight beside a token while the token at the other end is in focus: numbers, or squares if many. */
  const crowded = series.filter((s) => !s.muted).length > MOST_NUMBERS;
  const beside = (i: number | null, j: number | null) =>
    i === null || j === null
      ? null
      : series.map((s, n) => {
          const weight = s.grid.values[i * cols.length + j]!;
          if (s.muted || (!crowded && Math.abs(weight) < 0.005 * full)) return null;
          const color = signed ? signColor(weight, dark) : headColor(n, dark);
          return crowded ? (
            <i
              key={s.name}
              title={`${s.name}: ${look.text(weight)}`}
              style={{ background: color, opacity: Math.abs(weight) / full }}
            />
          ) : (
            <span key={s.name} class="bl-number" style={{ color: `color-mix(in srgb, ${color} 75%, var(--ink))` }}>
              {signed ? look.text(weight) : weight.toFixed(2)}
            </span>
          );
        });
  // ‖f(x)‖ of every key, as a bar beside it: what the weights are multiplied with
  const { norms } = shown;
  const keyNorms =
    norms && !shown.layerMap ? cols.map((unit) => unit.pieces.reduce((sum, j) => sum + norms[j]!, 0)) : null;
  const mostNorm = Math.max(1e-9, ...(keyNorms ?? []));
  const token = (label: string, n: number, isQuery: boolean) => {
    const chosen = n === (isQuery ? pinned.row : pinned.col);
    const lit = n === (isQuery ? row : col);
    const pin = chosen ? null : n;
    return (
      <button
        type="button"
        key={n}
        class={`bl-line-token${chosen ? " bl-pinned" : ""}${lit ? " bl-lit" : ""}`}
        style={{ height: px(height) }}
        aria-pressed={chosen}
        title={`${isQuery ? "query" : "key"} ${n}: ${visibleText(label)}`}
        onPointerEnter={() => {
          page.hover.value = isQuery ? { row: n, col: -1 } : { row: -1, col: n };
        }}
        onPointerLeave={() => {
          page.hover.value = null;
        }}
        onClick={() => (isQuery ? pinCell(view, pin, pinned.col) : pinCell(view, pinned.row, pin))}
      >
        {isQuery && <span class="bl-line-numbers">{beside(n, col)}</span>}
        <Token text={label} />
        {!isQuery && keyNorms && (
          <span
            class="bl-key-norm"
            title={`‖f(x)‖ ${share(keyNorms[n]!)}`}
            style={{ width: `${(18 * keyNorms[n]!) / mostNorm}px` }}
          />
        )}
        {!isQuery && <span class="bl-line-numbers">{beside(row, n)}</span>}
      </button>
    );
  };
  const caption = lines.length < passed ? `the ${lines.length} strongest of ${passed} lines` : `${passed} lines`;
  return (
    <div class="bl-lines" ref={frame} data-testid="lines">
      <HeadLegend series={series} />
      <div class="bl-scroll bl-lines-scroll">
        <div class="bl-lines-sheet" style={{ gridTemplateColumns: `${tokenWidth}px ${middle}px ${tokenWidth}px` }}>
          <small class="bl-lines-from">query (from)</small>
          <span />
          <small class="bl-lines-to">key (to)</small>
          <div class="bl-line-queries">{rows.map((u, n) => token(u.label, n, true))}</div>
          <div class="bl-line-canvases" style={{ height: px(total) }}>
            <canvas
              ref={all}
              role="img"
              aria-label={`${caption} from queries to keys; opacity is the ${look.label}`}
              style={{ opacity: focused ? FAINT : 1 }}
            />
            <canvas ref={focus} />
          </div>
          <div>{cols.map((u, n) => token(u.label, n, false))}</div>
        </div>
      </div>
      <div class="bl-controls">
        <Slider
          label="from"
          min={0}
          max={0.5}
          step={0.005}
          value={page.lineMinimum.value}
          text={share(minimum)}
          onChange={(v) => {
            page.lineMinimum.value = v;
          }}
        />
        <span class="bl-muted">
          {caption}, opacity = {look.symbol}
          {full === 1 ? "" : ` / ${share(full)}`}
          {focused ? "; all lines of the token in focus" : ""}
          {keyNorms ? `; grey bars: ‖f(x)‖ up to ${share(mostNorm)}` : ""}
        </span>
      </div>
    </div>
  );
}

/** One chip per head drawn: a click switches it off and on, a double click isolates it. */
function HeadLegend({ series }: { series: Series[] }) {
  const { page, dark, store } = useView();
  const { synced } = store;
  const { layer, picture } = store.shown.value;
  const toggle = (name: string) => {
    const next = new Set(page.muted.value);
    if (!next.delete(name)) next.add(name);
    if (series.some((s) => !next.has(s.name))) page.muted.value = next; // the last one stays on
  };
  const isolate = (name: string) => {
    const others = series.map((s) => s.name).filter((n) => n !== name);
    const alone = others.every((n) => page.muted.value.has(n));
    page.muted.value = new Set(alone ? [] : others);
  };
  const heads = synced.include_heads.value ?? Array.from({ length: picture.n_heads }, (_, h) => h);
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
          <span class="bl-number bl-muted">max {share(s.grid.most)}</span>
        </button>
      ))}
      {series.length > 1 ? (
        <button type="button" class="bl-link" onClick={() => synced.put({ heads: [] })}>
          only {series[0]!.name}
        </button>
      ) : (
        <>
          <button
            type="button"
            class="bl-link"
            onClick={() => synced.put({ heads: heads.map((h): [number, number] => [layer, h]) })}
          >
            all heads of L{layer}
          </button>
          {synced.panels.value.includes("atlas") && (
            <span class="bl-muted">or shift-click heads in the atlas to draw several</span>
          )}
        </>
      )}
    </div>
  );
}
