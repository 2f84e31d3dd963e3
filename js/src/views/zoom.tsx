// Head view as a matrix of a long text: all of it in blocks of cells, and every part of it down to single cells. Only what
// is seen is computed (compute/windows.ts), in slices.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { strongestKey } from "../compute/attention";
import { colourEnd, type Grid, largestOf, type Unit } from "../compute/grid";
import { type Cells, heldCells } from "../compute/windows";
import { around, type Level, levelsOf, type Part, partAt, picture, Tiles } from "../compute/zoom";
import { paint as paintValues } from "../paint/colormap";
import { inks } from "../paint/palette";
import { Segmented } from "../parts/controls";
import { counted, px } from "../parts/format";
import { onGridKey } from "../parts/gridkeys";
import { Pixels } from "../parts/pixels";
import { Token, tokenText } from "../parts/token";
import type { Cell } from "../state/page";
import { inSlices } from "../state/slices";
import { hideTip, showTip, useView, type View } from "./context";
import { cellText, type Look, lookNow, pinCell } from "./look";
import { CellGrid, CellTip, MapLegend } from "./matrix";
import { sweepOf, useSwept } from "./swept";
import { useWidth } from "./width";

const [SIDE, LEAST] = [512, 160]; // px of the picture
const [LABELS, ABOVE] = [104, 96]; // px beside and above it
const [ROW_LABEL, COLUMN_LABEL, TICK] = [11, 13, 56]; // px from one to the next
const [STEP, PINCH] = [100, 1.3]; // of the wheel and of two fingers, for one level
const OFTEN = 100; // ms from one picture to the next while it is being computed
const DRAG = 4; // px from which a press is no click

const kept = new WeakMap<Cells, Tiles>();
function tilesFor(cells: Cells): Tiles {
  if (!kept.has(cells)) kept.set(cells, new Tiles(cells));
  return kept.get(cells)!;
}

interface At {
  levels: Level[];
  level: Level;
  n: number; // of the level
  part: Part;
}

/** What of a long map is looked at. */
export function lookingAt({ grid, page }: View): At {
  const { level: wanted, row, col, side } = page.zoom.value;
  const size = { rows: grid.rows.length, cols: grid.cols.length };
  const levels = levelsOf(size, side);
  const n = Math.min(wanted, levels.length - 1);
  const level = levels[n]!;
  return { levels, level, n, part: partAt(size, level, side, row, col) };
}

/** What a pixel is, in words; "" where it is a cell. */
export const pixelWords = ({ page }: View, { edge }: Level): string =>
  edge === 1 ? "" : `; a pixel is the ${page.zoom.value.by === "max" ? "largest" : "mean"} of ${edge} × ${edge} cells`;

/** The look of what is drawn: means have a scale of their own, since most cells are near 0. */
export function lookAt(view: View, { edge }: Level): Look {
  const look = lookNow(view);
  if (edge === 1 || view.page.zoom.value.by === "max") return look;
  const { blocks } = sweepOf(view.grid.values);
  const means = blocks.sum.map((sum) => Math.abs(sum) / blocks.edge ** 2 || 0);
  const hi = colourEnd(largestOf(means, blocks.rows)) || look.hi;
  return { ...look, lo: look.signed ? -hi : 0, hi, beyond: ", larger ones alike" };
}

const place = (units: Unit[], from: number, count: number) =>
  count === 1
    ? tokenText(units[from]!.label)
    : `${counted(from)} – ${counted(Math.min(from + count, units.length) - 1)}`;

/** The numbers of the pixels, as far as they are here. */
const pixelsOf = ({ grid, page }: View, { level, part }: Pick<At, "level" | "part">) =>
  picture(sizeOf(grid), sweepOf(grid.values).blocks, tilesFor(grid.values), level, part, page.zoom.value.by);

/** What is seen as a map of its own, of cells or of blocks: for files. An error while it is not all here. */
export function seenPart(view: View): Grid {
  const { grid } = view;
  const { level, part } = lookingAt(view);
  const { edge } = level;
  if (edge > 1 && !grid.values.swept.peek()) throw new Error("rows are still being computed: export again in a moment");
  for (const job = tilesFor(grid.values).fill(level, part); !job.next().done; );
  const { values, rows, cols } = pixelsOf(view, { level, part });
  const units = (all: Unit[], from: number, count: number) =>
    Array.from({ length: count }, (_, n) => {
      const at = from + n * edge;
      return edge === 1 ? all[at]! : { ...all[at]!, label: place(all, at, edge) };
    });
  const { hi } = lookAt(view, level);
  return {
    rows: units(grid.rows, part.row, rows),
    cols: units(grid.cols, part.col, cols),
    values: heldCells(values, cols),
    ...{ most: hi, top: hi },
  };
}

const sizeOf = ({ rows, cols }: Grid) => ({ rows: rows.length, cols: cols.length });

export function Zoomed() {
  const view = useView();
  const { grid, page, dark, row, col } = view;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const labels = Math.round(Math.min(LABELS, 0.28 * width));
  const side = Math.max(LEAST, Math.min(SIDE, width - labels - 16));
  const [came, redraw] = useState(0); // tiles and rows
  useLayoutEffect(() => {
    page.zoom.value = { ...page.zoom.peek(), side };
  }, [side]);
  const { values } = grid;
  const isKnown = useSwept(values);
  const at = lookingAt(view);
  const { level, part } = at;
  const soon = useRef(0);
  const again = () => {
    soon.current ||= window.setTimeout(() => {
      soon.current = 0;
      redraw((n) => n + 1);
    }, OFTEN);
  };
  useEffect(
    () => inSlices(tilesFor(values).fill(level, part, again), { first: true }),
    [values, level.edge, ...Object.values(part)],
  );
  useEffect(() => {
    if (isKnown) return;
    const timer = setInterval(again, OFTEN); // rows come
    return () => clearInterval(timer);
  }, [values, isKnown]);
  const look = lookAt(view, level);
  const shown = useRef<number | null>(null);
  useLayoutEffect(() => {
    const isOther = shown.current !== null;
    shown.current = row;
    if (isOther || row !== null) reveal(view, row, col);
  }, [row, col]);
  const base = sweepOf(values);
  const done = Math.floor((100 * base.done) / grid.rows.length);
  return (
    <div class="bl-matrix bl-zoom" ref={frame}>
      <div class="bl-matrix-sheet" style={{ "--labels": px(labels), "--above": px(ABOVE) }}>
        <Minimap at={at} side={Math.min(labels, ABOVE) - 12} />
        <Axis at={at} isRow={false} />
        <Axis at={at} isRow />
        <Picture at={at} look={look} blank={inks(dark).panel} came={2 * came + Number(isKnown)} />
      </div>
      <div class="bl-controls">
        <div class="bl-group" role="group" aria-label="Zoom">
          {ZOOMS.map(([key, name, by]) => (
            <button
              key={key}
              type="button"
              class="bl-button"
              title={`${name} (${key})`}
              aria-label={name}
              onClick={() => zoom(view, by)}
            >
              {key === "0" ? "all" : key}
            </button>
          ))}
        </div>
        {level.edge > 1 && (
          <Segmented<"max" | "mean">
            label="a pixel is"
            value={page.zoom.value.by}
            choices={[
              { value: "max", label: "the largest" },
              { value: "mean", label: "the mean" },
            ]}
            onChange={(by) => {
              page.zoom.value = { ...page.zoom.peek(), by };
            }}
          />
        )}
        <span class="bl-muted" data-testid="zoom-part">
          {partWords(view, at) + pixelWords(view, level)}
          {done < 100 && ` · ${done} % of rows computed`}
        </span>
      </div>
      <MapLegend look={look} />
    </div>
  );
}

const ZOOMS: [key: string, name: string, by: number][] = [
  ["+", "Zoom in", 1],
  ["−", "Zoom out", -1],
  ["0", "All of it", Number.NEGATIVE_INFINITY],
];

function partWords({ grid }: View, { part }: Pick<At, "part">): string {
  const of = (from: number, count: number) => `${counted(from)} – ${counted(from + count - 1)}`;
  if (part.rows === grid.rows.length && part.cols === grid.cols.length)
    return `all ${counted(part.rows)} queries and ${counted(part.cols)} keys`;
  return `queries ${of(part.row, part.rows)}, keys ${of(part.col, part.cols)}`;
}

/** Look at another part, and say it. */
function lookTo(view: View, to: Partial<View["page"]["zoom"]["value"]>, spoken = true): void {
  const { page } = view;
  page.zoom.value = { ...page.zoom.peek(), ...to };
  const at = lookingAt(view);
  page.zoom.value = { ...page.zoom.peek(), level: at.n, row: at.part.row, col: at.part.col };
  if (spoken) page.said.value = partWords(view, at) + pixelWords(view, at.level);
}

/** Zoom by some levels; the cell at a pixel of the picture stays there, without one the cursor's or the middle. */
function zoom(view: View, by: number, point?: { x: number; y: number }): void {
  const { levels, level, n, part } = lookingAt(view);
  const to = Math.max(0, Math.min(levels.length - 1, n + by));
  const after = levels[to]!;
  const { cursor, zoom } = view.page;
  const { side } = zoom.value;
  if (to === n) return;
  const { row, col } = cursor.value;
  const isSeen = row >= part.row && row < part.row + part.rows && col >= part.col && col < part.col + part.cols;
  if (point || !isSeen) {
    const { x, y } = point ?? { x: side / 2, y: side / 2 };
    lookTo(view, { level: to, ...around(part, level, after, x, y) });
  } else lookTo(view, { level: to, ...centred(after, side, row, col) });
}

const centred = ({ edge, px }: Level, side: number, row: number, col: number) => {
  const half = ((side / px) * edge) / 2;
  return { row: row - half, col: col - half };
};

/** Bring a row and a column into the picture, close enough for labels. Without a column the row's strongest key. */
function reveal(view: View, row: number | null, col: number | null): void {
  const { grid, page } = view;
  if (row === null && col === null) return;
  const { levels, level, n, part } = lookingAt(view);
  const key = col ?? strongestKey(grid.values.row(row!).map(Math.abs));
  const query = row ?? part.row;
  page.cursor.value = { row: query, col: key };
  const isIn = (at: number | null, from: number, count: number) => at === null || (at >= from && at < from + count);
  if (level.px >= COLUMN_LABEL && isIn(row, part.row, part.rows) && isIn(col, part.col, part.cols)) return;
  if (pinnedHere.has(page)) {
    pinnedHere.delete(page);
    return;
  }
  const to = level.px >= COLUMN_LABEL ? n : levels.findIndex((one) => one.px >= COLUMN_LABEL);
  lookTo(view, { level: to, ...centred(levels[to]!, page.zoom.value.side, query, key) }, false); // who pinned it says so
}

const pinnedHere = new WeakSet<View["page"]>(); // by a click into the picture, which then stays as it is

/** Tokens where there is room for them, else positions. */
function Axis({ at: { level, part }, isRow }: { at: At; isRow: boolean }) {
  const view = useView();
  const { grid, row, col } = view;
  const [kind, units, pinned] = isRow ? ["row", grid.rows, row] : ["col", grid.cols, col];
  const [from, count] = isRow ? [part.row, part.rows] : [part.col, part.cols];
  const cell = level.px / level.edge;
  const isTokens = cell >= (isRow ? ROW_LABEL : COLUMN_LABEL);
  const step = isTokens ? 1 : 2 ** Math.ceil(Math.log2(TICK / cell));
  const places: number[] = [];
  for (let n = Math.ceil(from / step) * step; n < from + count; n += step) places.push(n);
  const length = px(count * cell);
  return (
    <div class={isRow ? "" : "bl-cols"}>
      <div class={`bl-${kind}-labels`} style={isRow ? { height: length } : { width: length, height: px(ABOVE - 4) }}>
        {places.map((n) => (
          <button
            type="button"
            tabIndex={-1}
            key={n}
            class={`bl-${kind}-label${n === pinned ? " bl-pinned" : ""}`}
            style={{ [isRow ? "top" : "left"]: px((n - from + 0.5) * cell) }}
            title={`${isRow ? "query" : "key"} ${n}: ${tokenText(units[n]!.label)}`}
            onClick={() => {
              const to = n === pinned ? null : n;
              isRow ? pinCell(view, to, col) : pinCell(view, row, to);
            }}
          >
            {isTokens ? <Token text={units[n]!.label} /> : counted(n)}
          </button>
        ))}
      </div>
    </div>
  );
}

/** The overview, with a frame around what is looked at; the frame can be dragged. */
function Minimap({ at, side }: { at: At; side: number }) {
  const view = useView();
  const { grid, dark } = view;
  const size = sizeOf(grid);
  const { blocks, done } = sweepOf(grid.values);
  const scale = side / Math.max(size.rows, size.cols);
  const { lo, hi, colours } = lookNow(view);
  const paint = useCallback(
    (out: Uint8ClampedArray) => paintValues(blocks.max, lo, hi, colours, out, inks(dark).panel),
    [blocks, done, lo, hi, colours],
  );
  const go = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = (event.clientY - box.top) / scale - at.part.rows / 2;
    lookTo(view, { row, col: (event.clientX - box.left) / scale - at.part.cols / 2 }, false);
  };
  const { part } = at;
  return (
    <div class="bl-corner">
      <div
        class="bl-map"
        aria-hidden="true"
        style={{ width: px(size.cols * scale), height: px(size.rows * scale) }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          go(event);
        }}
        onPointerMove={go}
      >
        <Pixels width={blocks.cols} height={blocks.rows} paint={paint} />
        <div
          class="bl-map-frame"
          style={{
            left: px(part.col * scale),
            top: px(part.row * scale),
            width: px(part.cols * scale),
            height: px(part.rows * scale),
          }}
        />
      </div>
    </div>
  );
}

/** The cell or block under the pointer and the keyboard's cursor, in words. */
function blockText(view: View, { edge }: Level, { row, col }: Cell): string {
  if (edge === 1) return cellText(view, row, col);
  const { grid } = view;
  const { value, at } = blockAt(view, edge, row, col);
  const look = lookNow(view);
  return `queries ${place(grid.rows, row, edge)}, keys ${place(grid.cols, col, edge)}: the largest ${look.text(value)}, query ${counted(at.row)}, key ${counted(at.col)}, ${look.name}`;
}

/** The largest cell of a block. */
function blockAt({ grid: { values } }: View, edge: number, row: number, col: number): { value: number; at: Cell } {
  const right = Math.min(values.cols, col + edge);
  const cells = values.window(row, Math.min(values.rows, row + edge), col, right);
  const n = strongestKey(cells.map(Math.abs));
  const width = right - col;
  return { value: cells[n]!, at: { row: row + Math.floor(n / width), col: col + (n % width) } };
}

function Picture({ at, look, blank, came }: { at: At; look: Look; blank: string; came: number }) {
  const view = useView();
  const { grid, page, row, col } = view;
  const { level, part } = at;
  const { edge } = level;
  const cell = level.px / edge;
  const seen = [grid.values, edge, page.zoom.value.by, came, ...Object.values(part)];
  const { values, rows, cols } = useMemo(() => pixelsOf(view, at), seen);
  const { lo, hi, colours } = look;
  const paint = useCallback(
    (out: Uint8ClampedArray) => paintValues(values, lo, hi, colours, out, blank),
    [values, lo, hi, colours, blank],
  );
  const cursor = snapped(page.cursor.value, grid, edge);
  const hover = page.hover.value;
  const mark = (name: string, row: number | null, col: number | null, count = 1) => {
    const isOut = (n: number | null, from: number, all: number) => n !== null && (n + count <= from || n >= from + all);
    if (isOut(row, part.row, part.rows) || isOut(col, part.col, part.cols)) return null;
    const along = (n: number | null, from: number, all: number) => [
      px(n === null ? 0 : (n - from) * cell),
      px(n === null ? all * cell : Math.max(2, count * cell)),
    ];
    const [top, height] = along(row, part.row, part.rows);
    const [left, width] = along(col, part.col, part.cols);
    return <div class={`bl-mark-${name}`} style={{ top, left, width, height }} />;
  };
  return (
    <CellGrid
      look={look}
      keys="plus and minus zoom, 0 shows all, "
      cursor={cursor}
      header={place(grid.rows, cursor.row, edge)}
      text={blockText(view, level, cursor)}
      style={{ width: px(cols * level.px), height: px(rows * level.px), touchAction: at.n > 0 ? "none" : "pan-y" }}
      onKeyDown={keysOf(view, at)}
      {...usePointer(at, look)}
    >
      {(focused) => (
        <>
          <Pixels width={cols} height={rows} paint={paint} class={level.px % 1 ? "bl-smooth" : ""} />
          {hover && edge === 1 && level.px > 1 && [mark("hover", hover.row, null), mark("hover", null, hover.col)]}
          {(row !== null || col !== null) && mark("row", row, row === null ? col : null)}
          {row !== null && col !== null && mark("cell", row, col)}
          {focused && mark("cursor", cursor.row, cursor.col, edge)}
        </>
      )}
    </CellGrid>
  );
}

/** The first cell of the block that a cell is in. */
const snapped = ({ row, col }: Cell, { rows, cols }: Grid, edge: number): Cell => ({
  row: edge * Math.floor(Math.max(0, Math.min(row, rows.length - 1)) / edge),
  col: edge * Math.floor(Math.max(0, Math.min(col, cols.length - 1)) / edge),
});

/** The keyboard's handler: arrows move over blocks or cells, and the picture with them. */
function keysOf(view: View, { level, part }: At): (event: KeyboardEvent) => void {
  const { page, grid } = view;
  const { edge, px } = level;
  const { cursor, said } = page;
  const at = snapped(cursor.value, grid, edge);
  const size = { rows: Math.ceil(grid.rows.length / edge), cols: Math.ceil(grid.cols.length / edge) };
  const move = onGridKey(
    size,
    () => ({ row: at.row / edge, col: at.col / edge }),
    (to) => {
      const cell = { row: to.row * edge, col: to.col * edge };
      cursor.value = cell;
      const isIn = (n: number, from: number, count: number) => n >= from && n < from + count;
      if (!isIn(cell.row, part.row, part.rows) || !isIn(cell.col, part.col, part.cols))
        lookTo(view, centred({ edge, px }, page.zoom.value.side, cell.row, cell.col), false);
      said.value = blockText(view, level, cell);
    },
  );
  return (event) => {
    if (event.altKey) return;
    const by = { "+": 1, "=": 1, "-": -1, "0": Number.NEGATIVE_INFINITY }[event.key];
    if (by !== undefined && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      return zoom(view, by);
    }
    if (event.key !== "Enter" && event.key !== " ") return move(event);
    event.preventDefault();
    pinAt(view, edge, at);
  };
}

/** Pin a cell, of a block the largest. */
function pinAt(view: View, edge: number, { row, col }: Cell): void {
  const { at } = edge === 1 ? { at: { row, col } } : blockAt(view, edge, row, col);
  pinnedHere.add(view.page);
  pinCell(view, at.row, at.col);
  view.page.said.value = cellText(view, at.row, at.col);
}

/** The pointer's handlers: a click pins, a drag pans, the wheel (once the picture has the focus) and two fingers zoom. */
function usePointer({ level, part, n }: At, look: Look) {
  const view = useView();
  const { hover } = view.page;
  const { edge } = level;
  const cell = level.px / edge;
  const fingers = useRef(new Map<number, PointerEvent>());
  const press = useRef<{ x: number; y: number; part: Part; moved: boolean } | null>(null);
  const spread = useRef(0);
  const wheeled = useRef(0);
  const pointOf = (event: Pick<MouseEvent, "currentTarget" | "clientX" | "clientY">) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const blockOf = (event: MouseEvent): Cell | null => {
    const { x, y } = pointOf(event);
    const at = snapped({ row: part.row + Math.floor(y / cell), col: part.col + Math.floor(x / cell) }, view.grid, edge);
    return x >= 0 && y >= 0 && at.row < part.row + part.rows && at.col < part.col + part.cols ? at : null;
  };
  const pinch = (event: PointerEvent) => {
    const [a, b] = [...fingers.current.values()];
    const wide = Math.hypot(a!.clientX - b!.clientX, a!.clientY - b!.clientY);
    spread.current ||= wide;
    const by = wide > PINCH * spread.current ? 1 : wide * PINCH < spread.current ? -1 : 0;
    if (by === 0) return;
    spread.current = wide;
    const middle = (side: "clientX" | "clientY") => (a![side] + b![side]) / 2;
    const { currentTarget } = event;
    zoom(view, by, pointOf({ currentTarget, clientX: middle("clientX"), clientY: middle("clientY") }));
  };
  const end = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    spread.current = 0;
    if (fingers.current.size > 0) press.current = null; // the finger that is left began elsewhere
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      fingers.current.set(event.pointerId, event);
      press.current = { x: event.clientX, y: event.clientY, part, moved: fingers.current.size > 1 };
    },
    onPointerMove: (event: PointerEvent) => {
      if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, event);
      if (fingers.current.size > 1) return pinch(event);
      const from = press.current;
      if (from && event.buttons === 1 && n > 0) {
        const [x, y] = [event.clientX - from.x, event.clientY - from.y];
        if (!from.moved && Math.hypot(x, y) < DRAG) return;
        if (!from.moved) (event.currentTarget as Element).setPointerCapture(event.pointerId);
        from.moved = true;
        hideTip(view);
        return lookTo(view, { row: from.part.row - y / cell, col: from.part.col - x / cell }, false);
      }
      const at = blockOf(event);
      hover.value = at && edge === 1 ? at : null;
      showTip(view, event, at && <BlockTip look={look} edge={edge} at={at} />);
    },
    onPointerUp: end,
    onPointerCancel: end,
    onPointerLeave: () => {
      hover.value = null;
      hideTip(view);
    },
    onClick: (event: MouseEvent) => {
      const at = blockOf(event);
      if (at && !press.current?.moved) pinAt(view, edge, at);
      press.current = null;
    },
    onWheel: (event: WheelEvent) => {
      const isOurs = event.ctrlKey || event.metaKey || event.currentTarget === focusIn(event);
      if (!isOurs) return;
      event.preventDefault();
      wheeled.current += event.ctrlKey ? 10 * event.deltaY : event.deltaY;
      const by = -Math.trunc(wheeled.current / STEP);
      if (by === 0) return;
      wheeled.current = 0;
      zoom(view, Math.sign(by), pointOf(event));
    },
  };
}

/** The element that has the focus, within a shadow root too. */
const focusIn = ({ currentTarget }: Event) => ((currentTarget as Element).getRootNode() as Document).activeElement;

function BlockTip({ look, edge, at }: { look: Look; edge: number; at: Cell }) {
  const { at: largest } = blockAt(useView(), edge, at.row, at.col);
  return <CellTip look={look} {...largest} of={edge > 1 ? `, the largest of ${edge} × ${edge} cells` : ""} />;
}
