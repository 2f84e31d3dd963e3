// Head view as lines: tokens left (queries) and right (keys), opacity = weight, one colour and dash per head.
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { included } from "../atlas/atlas";
import { keyNorms, type Unit } from "../compute/grid";
import { chooseLines, type Line, type Series } from "../compute/linechoice";
import type { HeadName } from "../generated/vocabulary";
import { headLabel, px, scaleEnd, share } from "../paint/format";
import { headColour, headDash, signColour } from "../paint/palette";
import { Button, binding, into, Slider } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import { More } from "../parts/term";
import { Token, tokenWord } from "../parts/token";
import { useWidth } from "../parts/width";
import type { Cell } from "../state/page";
import { useView, type View, ViewContext } from "../state/view";
import { PartOfLines, useLinesPart } from "./long/linespart";
import { currentScale, pinToken, type Scale } from "./scale";

const MOST_NUMBERS = 3; // heads whose weights are printed beside the tokens, where these have the room
const [WORD, BAR, LEAST_LINES] = [60, 24, 60]; // px that a token keeps, its norm's bar, the least for the lines
const [ROOM, LOWEST, HIGHEST] = [300, 14, 20]; // px: what the rows should not pass, as the matrix's, and of one row
const FAINT = 0.18; // strength of the other lines while a token is in focus

/** What is drawn as lines, and how. */
interface LinesChart {
  series: Series[];
  full: number; // the value that is drawn opaque
  minimum: number; // the value from which lines are drawn
  scale: Scale;
  digits: number; // of the weights beside the tokens: two of them for the largest
}

export function linesChart(view: View): LinesChart {
  const { grid, overlays, shownHead, page } = view;
  const scale = currentScale(view);
  const names = shownHead.overlays.map(({ layer, head }, n) => ({ name: headLabel(layer, head), grid: overlays[n]! }));
  const grids = [{ name: scale.name, grid }, ...(shownHead.layerMap ? [] : names)];
  const series = grids.map((one): Series => ({ ...one, muted: page.muted.value.has(one.name) }));
  const full =
    scale.symbol === "α" && !view.from ? 1 : scaleEnd(Math.max(...series.map((s) => s.grid.peak)), scale.digits);
  const digits = Math.min(
    Math.max(2, 1 - Math.floor(Math.log10(full))),
    shownHead.slice.decimals ?? Number.POSITIVE_INFINITY,
  );
  return { series, full, minimum: page.lineMinimum.value * full, scale, digits };
}

/** The query or the key in focus: what the pointer is on, else what is pinned; null for neither. */
type Ends = { [End in keyof Cell]: number | null };

function useFocus(): Ends {
  const { page, row, col } = useView();
  const hover = page.hover.value;
  if (!hover) return { row, col: row === null ? col : null };
  return { row: hover.row >= 0 ? hover.row : null, col: hover.col >= 0 ? hover.col : null };
}

export function Lines() {
  const fullView = useView();
  const view = useLinesPart(fullView);
  return (
    <ViewContext.Provider value={view}>
      <LinesOf fullView={fullView} />
    </ViewContext.Provider>
  );
}

const rowHeight = (rows: number) => Math.max(LOWEST, Math.min(HIGHEST, Math.floor(ROOM / Math.max(1, rows))));

function LinesOf({ fullView }: { fullView: View }) {
  const view = useView();
  const { grid, shownHead, page, dark } = view;
  const { rows, cols } = grid;
  const changes = [shownHead, grid, view.overlays, page.muted.value, page.lineMinimum.value, dark];
  const chart = useMemo(() => linesChart(view), changes);
  const { lines, passed } = useMemo(() => chooseLines(chart.series, chart.minimum, null, null), [chart]);
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const focus = useFocus();
  const isFocused = focus.row !== null || focus.col !== null;
  const norms = shownHead.layerMap || !shownHead.norms ? null : keyNorms(shownHead.norms, cols);
  const caption = lines.length < passed ? `the ${lines.length} strongest of ${passed} lines` : `${passed} lines`;
  const active = chart.series.filter((s) => !s.muted).length;
  const word = WORD + (norms ? BAR : 0);
  const number = 6 + 8 * numberText(chart, chart.full).length;
  const crowded = active > MOST_NUMBERS || 2 * (word + active * number) + LEAST_LINES + 14 > width;
  const column = Math.max(word + (crowded ? Math.min(48, 9 * active) : active * number), Math.min(130, width * 0.22));
  const middle = Math.max(LEAST_LINES, width - 2 * column - 14);
  const shared = { chart, focus, crowded, height: rowHeight(Math.max(rows.length, cols.length)) };
  return (
    <div class="bl-lines" ref={frame} data-testid="lines">
      <LineKey series={chart.series} scale={chart.scale} />
      {view.from && <PartOfLines view={fullView} minimum={chart.minimum} />}
      <div class="bl-scroll bl-lines-scroll">
        <div class="bl-lines-sheet" style={{ gridTemplateColumns: `${column}px ${middle}px ${column}px` }}>
          <small class="bl-lines-from">query (from)</small>
          <span />
          <small class="bl-lines-to">key (to)</small>
          <Tokens {...shared} units={rows} isQuery norms={null} />
          <Canvases {...shared} width={middle} lines={lines} caption={caption} />
          <Tokens {...shared} units={cols} isQuery={false} norms={norms} />
        </div>
      </div>
      <div class="bl-controls">
        <Slider
          label="from"
          min={0}
          max={0.5}
          step={0.005}
          text={chart.scale.text(chart.minimum)}
          {...binding(page.lineMinimum)}
        />
        <span class="bl-muted">
          {isFocused ? "all its lines" : caption}, opacity = {chart.scale.symbol}
          {chart.full === 1 ? "" : ` / ${chart.scale.text(chart.full)}`}{" "}
          {norms && <More about={`The grey bars beside keys are ‖f(x)‖, the longest ${share(Math.max(...norms))}.`} />}
        </span>
      </div>
    </div>
  );
}

interface Sheet {
  width: number;
  height: number; // of a row
  rows: number;
  dark: boolean;
  chart: LinesChart;
}

/** All lines, and over them those of the token in focus. */
function Canvases(props: Omit<Sheet, "rows" | "dark"> & { lines: Line[]; focus: Ends; caption: string }) {
  const { chart, lines, width, height, caption } = props;
  const { row, col } = props.focus;
  const { dark, grid } = useView();
  const [backdrop, focused] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const rows = Math.max(1, grid.rows.length, grid.cols.length);
  const isFocused = row !== null || col !== null;
  const sheet: Sheet = { width, height, rows, dark, chart: chart };
  const layout = [width, height, rows, dark, chart];
  useLayoutEffect(() => {
    const active = chart.series.filter((s) => !s.muted).length || 1;
    draw(backdrop, sheet, lines, 1 / Math.sqrt(active));
  }, [lines, ...layout]);
  useLayoutEffect(() => {
    const { series, full } = chart;
    draw(focused, sheet, isFocused ? chooseLines(series, 0.0005 * full, row, col).lines : [], 1.15);
  }, [row, col, ...layout]);
  return (
    <div class="bl-line-canvases" style={{ height: px(rows * height) }}>
      <canvas
        ref={backdrop}
        role="img"
        aria-label={`${caption} from queries to keys; opacity is the ${chart.scale.title}`}
        style={{ opacity: isFocused ? FAINT : 1 }}
      />
      <canvas ref={focused} />
    </div>
  );
}

function draw({ current: canvas }: RefObject<HTMLCanvasElement | null>, sheet: Sheet, lines: Line[], strength: number) {
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return;
  const { width, height, rows, dark, chart } = sheet;
  const density = Math.min(2, window.devicePixelRatio || 1, 16000 / (rows * height)); // canvases end near 16,000 pixels
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(rows * height * density);
  context.scale(density, density);
  for (const { series, row, col, weight } of lines) {
    const portion = Math.abs(weight) / chart.full;
    const [from, to] = [(row + 0.5) * height, (col + 0.5) * height];
    context.beginPath();
    context.strokeStyle = lineColour(chart, series, weight, dark);
    context.globalAlpha = Math.min(1, strength * portion);
    context.lineWidth = 0.75 + 2.25 * Math.min(1, portion);
    context.setLineDash(headDash(series));
    context.moveTo(2, from);
    context.bezierCurveTo(width * 0.4, from, width * 0.6, to, width - 2, to);
    context.stroke();
  }
}

/** The head's colour, or the sign's. */
export const lineColour = ({ scale, series }: LinesChart, n: number, weight: number, dark: boolean): string =>
  scale.signed ? signColour(weight, dark) : headColour(n, dark, series.length);

/** One chip per head drawn: a click switches it off and on, a double click isolates it. */
function LineKey({ series, scale }: Pick<LinesChart, "series" | "scale">) {
  const { page, dark, shownHead } = useView();
  const { muted } = page;
  const toggle = (name: string) => {
    const next = new Set(muted.value);
    if (!next.delete(name)) next.add(name);
    if (series.some((s) => !next.has(s.name))) muted.value = next; // the last one stays on
  };
  const isolate = (name: string) => {
    const otherNames = series.map((s) => s.name).filter((other) => other !== name);
    muted.value = new Set(otherNames.every((other) => muted.value.has(other)) ? [] : otherNames);
  };
  return (
    <>
      <div class="bl-chips" role="group" aria-label="Heads drawn">
        {series.map((one, n) => (
          <Button
            key={one.name}
            class="bl-chip"
            aria-pressed={!one.muted}
            title="click: off and on; double click: this one alone"
            onClick={(event) => event.detail <= 1 && toggle(one.name)}
            onDblClick={() => isolate(one.name)}
          >
            <svg width="22" height="8" aria-hidden="true" stroke-width="3">
              <line
                x1="1"
                y1="4"
                x2="21"
                y2="4"
                stroke={headColour(n, dark, series.length)}
                stroke-dasharray={headDash(n).join(" ")}
              />
            </svg>
            {one.name}
            <span class="bl-number bl-muted">max {scale.text(one.grid.peak)}</span>
          </Button>
        ))}
        <MoreOrFewer first={series[0]!.name} />
      </div>
      {shownHead.refused && <p class="bl-note">{shownHead.refused}</p>}
    </>
  );
}

/** To all heads of the layer, and back to one. */
function MoreOrFewer({ first }: { first: string }) {
  const { synced, overview, shownHead } = useView();
  const { heads } = included(overview, null, synced.include_heads.value);
  const several = synced.heads.value.length > 0;
  const allHeads = heads.map((h): HeadName => [shownHead.layer, h]);
  return (
    <Button
      class="bl-link"
      title={
        !several && synced.parts.value.includes("atlas") ? "or shift-click heads in the atlas to draw several" : ""
      }
      onClick={() => synced.put({ heads: several ? [] : allHeads })}
    >
      {several ? `only ${first}` : `all heads of L${shownHead.layer}`}
    </Button>
  );
}

interface TokensProps {
  units: Unit[];
  isQuery: boolean;
  chart: LinesChart;
  focus: Ends;
  crowded: boolean;
  height: number;
  norms: Float32Array | null;
}

/** A weight beside a token. */
const numberText = ({ scale, digits }: LinesChart, weight: number) =>
  scale.signed ? scale.text(weight) : weight.toFixed(digits);

/** The tokens at one end of the lines; a click pins one. */
function Tokens({ units, isQuery, chart, focus, crowded, height, norms }: TokensProps) {
  const view = useView();
  const { row, col, page, grid, from } = view;
  const { row: tabRow, col: tabCol } = page.cursor.value; // where Tab leads to, on one of the sides
  const stop = { row: Math.min(tabRow, grid.rows.length - 1), col: Math.min(tabCol, grid.cols.length - 1) };
  const isStop = (n: number) => page.keySide.value === !isQuery && n === (isQuery ? stop.row : stop.col);
  const [pinned, lit] = isQuery ? [row, focus.row] : [col, focus.col];
  const peak = Math.max(1e-9, ...(norms ?? []));
  const token = ({ label, pieces }: Unit, n: number) => (
    <Button
      key={n}
      data-tokens={pieces}
      class={`bl-line-token${n === pinned ? " bl-pinned" : ""}${n === lit ? " bl-lit" : ""}`}
      style={{ height: px(height) }}
      aria-pressed={n === pinned}
      tabIndex={isStop(n) ? 0 : -1}
      title={`${isQuery ? `query ${n + (from?.row ?? 0)}` : `key ${n + (from?.col ?? 0)}`}: ${tokenWord(label)}`}
      onPointerEnter={() => into(page.hover)(isQuery ? { row: n, col: -1 } : { row: -1, col: n })}
      onPointerLeave={() => into(page.hover)(null)}
      onClick={() => pinToken(view, isQuery, n)}
    >
      {isQuery && <Beside chart={chart} crowded={crowded} row={n} col={focus.col} />}
      <Token text={label} />
      {norms && (
        <span class="bl-key-norm" title={`‖f(x)‖ ${share(norms[n]!)}`} style={{ width: px((18 * norms[n]!) / peak) }} />
      )}
      {!isQuery && <Beside chart={chart} crowded={crowded} row={focus.row} col={n} />}
    </Button>
  );
  const box = useRef<HTMLDivElement>(null);
  const at = () => ({ row: isQuery ? stop.row : stop.col, col: isQuery ? 0 : 1 });
  const size = { rows: Math.max(grid.rows.length, grid.cols.length), cols: 2 };
  const move = onGridKey(size, at, ({ row, col }) => {
    const n = Math.min(row, (col === 0 ? grid.rows : grid.cols).length - 1);
    page.cursor.value = col === 0 ? { ...stop, row: n } : { ...stop, col: n };
    page.keySide.value = col === 1;
    const side = box.current!.parentElement!.querySelector(col === 0 ? ".bl-line-queries" : ".bl-line-keys")!;
    (side.children[n] as HTMLElement).focus();
  });
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its buttons are one stop, arrows lead from one to the next
    <div ref={box} class={isQuery ? "bl-line-queries" : "bl-line-keys"} onKeyDown={move}>
      {units.map(token)}
    </div>
  );
}

/** Per head, the weight beside a token while the one at the other end is in focus: numbers, or squares where these lack the room. */
function Beside({ chart, crowded, row, col }: { chart: LinesChart; crowded: boolean } & Ends) {
  const { dark } = useView();
  const { series, full, scale, digits } = chart;
  if (row === null || col === null) return <span class="bl-line-numbers" />;
  const weightOf = ({ name, grid, muted }: Series, n: number) => {
    const weight = grid.values.at(row, col);
    const colour = lineColour(chart, n, weight, dark);
    if (muted || (!crowded && Number(Math.abs(weight).toFixed(digits)) === 0)) return null;
    return crowded ? (
      <i
        key={name}
        title={`${name}: ${scale.text(weight)}`}
        style={{ background: colour, opacity: Math.abs(weight) / full }}
      />
    ) : (
      <span key={name} class="bl-number" style={{ color: `color-mix(in srgb, ${colour} 75%, var(--ink))` }}>
        {numberText(chart, weight)}
      </span>
    );
  };
  return <span class="bl-line-numbers">{series.map(weightOf)}</span>;
}
