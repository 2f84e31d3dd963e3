// Head view as a matrix: one cell per query and key, labels on both sides, a cursor for keys and screen readers.
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Grid, Span, Unit } from "../compute/grid";
import { paint as paintValues } from "../paint/colormap";
import { weightTable } from "../paint/palette";
import { Select } from "../parts/controls";
import { px, share } from "../parts/format";
import { Legend } from "../parts/legend";
import { Pixels } from "../parts/pixels";
import { Token, visibleText } from "../parts/token";
import { showTip, useView, type View } from "./context";
import { type Look, lookOf } from "./look";
import { useWidth } from "./width";

const LABELLED = 11; // px a row needs to carry its label
const SLANTED = 13; // the same for a column's
const LARGEST = 24;

/** Pin a row and a column of the displayed grid; a second time on the same cell unpins it. */
export function pinCell(view: View, row: number | null, col: number | null): void {
  const { synced } = view.store;
  const { rows, cols } = view.display.grid.value;
  const query = row === null ? null : (rows[row]?.pieces[0] ?? null);
  const key = col === null ? null : (cols[col]?.pieces[0] ?? null);
  const same = view.display.row.value === row && view.display.col.value === col;
  synced.put(same ? { query: null, key: null } : { query, key });
  if (row !== null && col !== null && !same) view.page.said.value = cellText(view, row, col);
}

export function cellText(view: View, row: number, col: number): string {
  const { rows, cols, values } = view.display.grid.value;
  const look = lookOf(view.store.shown.value, view.display.grid.value, false);
  const value = look.text(values[row * cols.length + col]!);
  return `query ${visibleText(rows[row]!.label)} → key ${visibleText(cols[col]!.label)}: ${value}, ${look.name}`;
}

function CellTip({ grid, look, row, col }: { grid: Grid; look: Look; row: number; col: number }) {
  return (
    <>
      <Token text={grid.rows[row]!.label} /> → <Token text={grid.cols[col]!.label} />{" "}
      <b class="bl-number">{look.text(grid.values[row * grid.cols.length + col]!)}</b>
      <br />
      <span class="bl-muted">
        query {row}, key {col}
      </span>
    </>
  );
}

/** ‖f(x)‖ of every key, above its column: what the weights are multiplied with. */
function NormStrip({ norms, cols, cell }: { norms: Float32Array; cols: Unit[]; cell: number }) {
  const view = useView();
  const table = weightTable(view.dark.value);
  const sums = useMemo(
    () => Float32Array.from(cols, (unit) => unit.pieces.reduce((n, j) => n + norms[j]!, 0)),
    [norms, cols],
  );
  const hi = sums.reduce((a, b) => Math.max(a, b), 1e-9);
  const paint = useCallback((out: Uint8ClampedArray) => paintValues(sums, 0, hi, table, out), [sums, hi, table]);
  return (
    <>
      <span class="bl-norm-name bl-muted">‖f(x)‖ ≤ {share(hi)}</span>
      <div
        class="bl-norm-strip"
        data-testid="norm-strip"
        style={{ width: px(cols.length * cell) }}
        onPointerMove={(event) => {
          const n = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / cell);
          if (cols[n])
            showTip(
              view,
              event,
              <>
                ‖f(x)‖ of <Token text={cols[n].label} /> <b class="bl-number">{share(sums[n]!)}</b>
              </>,
            );
        }}
        onPointerLeave={() => {
          view.tip.value = null;
        }}
      >
        <Pixels width={cols.length} height={1} paint={paint} label="norm of f(x) for every key" />
      </div>
    </>
  );
}

/** The first units of the spans, as positions in the displayed list. */
const spanEdges = (spans: Span[], list: Unit[]) =>
  spans.map(([, start, end]) => list.findIndex((u) => u.pieces[0]! >= start && u.pieces[0]! < end));

/** The spans above their columns, named where there is room. */
function SpanStrip({ cols, cell }: { cols: Unit[]; cell: number }) {
  const { spans } = useView().store.shown.value.picture;
  return (
    <>
      <span class="bl-norm-name bl-muted">domain</span>
      <div class="bl-span-strip" data-testid="span-strip" style={{ width: px(cols.length * cell) }}>
        {spans.map(([label, start, end], n) => {
          const inside = cols
            .map((u, i) => (u.pieces[0]! >= start && u.pieces[0]! < end ? i : -1))
            .filter((i) => i >= 0);
          if (inside.length === 0) return null;
          const width = inside.length * cell;
          return (
            <span
              key={start}
              class={n % 2 ? "bl-span bl-odd" : "bl-span"}
              style={{ left: px(inside[0]! * cell), width: px(width) }}
              title={`${label}: tokens ${start} to ${end - 1}`}
            >
              {width > 7 * label.length ? label : ""}
            </span>
          );
        })}
      </div>
    </>
  );
}

/** Where the second sentence begins, 0 if there is none. */
const boundary = (list: Unit[]) =>
  Math.max(
    0,
    list.findIndex((u, n) => n > 0 && u.segment === 1 && list[n - 1]!.segment === 0),
  );

/** Every how many labels one is drawn so that they do not overlap. */
const thinning = (cell: number, room = LABELLED) => Math.max(1, Math.ceil(room / cell));

export function Matrix() {
  const view = useView();
  const { page, display, store, dark } = view;
  const grid = display.grid.value;
  const { rows, cols, values } = grid;
  const look = lookOf(store.shown.value, grid, dark.value);
  const { lo, hi, table } = look;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const labels = 88;
  const fit = Math.max(1, Math.min(LARGEST, Math.floor((width - labels - 12) / Math.max(1, cols.length))));
  const cell = page.cellSize.value || fit;
  const step = thinning(cell);
  const paint = useCallback(
    (out: Uint8ClampedArray) => paintValues(values, lo, hi, table, out),
    [values, lo, hi, table],
  );
  const { picture, norms, layerMap } = store.shown.value;
  const pinnedRow = display.row.value;
  const pinnedCol = display.col.value;
  const cursor = page.cursor.value;
  const [focused, setFocused] = useState(false);
  const hover = page.hover.value;

  useLayoutEffect(() => {
    if (pinnedRow !== null) page.cursor.value = { row: pinnedRow, col: pinnedCol ?? page.cursor.value.col };
  }, [pinnedRow, pinnedCol]);

  const at = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / cell);
    const col = Math.floor((event.clientX - box.left) / cell);
    return row >= 0 && row < rows.length && col >= 0 && col < cols.length ? { row, col } : null;
  };

  const move = (event: KeyboardEvent) => {
    let { row, col } = cursor;
    if (event.key === "ArrowUp") row--;
    else if (event.key === "ArrowDown") row++;
    else if (event.key === "ArrowLeft") col--;
    else if (event.key === "ArrowRight") col++;
    else if (event.key === "Home") [row, col] = [event.ctrlKey ? 0 : row, 0];
    else if (event.key === "End") [row, col] = [event.ctrlKey ? rows.length - 1 : row, cols.length - 1];
    else if (event.key === "Enter" || event.key === " ") pinCell(view, row, col);
    else if (event.key === "Escape" && (pinnedRow !== null || pinnedCol !== null))
      store.synced.put({ query: null, key: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
    row = Math.max(0, Math.min(rows.length - 1, row));
    col = Math.max(0, Math.min(cols.length - 1, col));
    page.cursor.value = { row, col };
    page.said.value = cellText(view, row, col);
  };

  if (rows.length === 0 || cols.length === 0)
    return <p class="bl-empty">No tokens left to show: undo “hide special” or the pair filter.</p>;

  const mark = (row: number | null, col: number | null, name: string) =>
    row === null && col === null ? null : (
      <div
        class={name}
        style={{
          top: px(row === null ? 0 : row * cell),
          left: px(col === null ? 0 : col * cell),
          width: px(col === null ? cols.length * cell : cell),
          height: px(row === null ? rows.length * cell : cell),
        }}
      />
    );
  const name = `${look.label}, ${look.name} of ${picture.model}: ${rows.length} queries by ${cols.length} keys, row = query, column = key`;
  return (
    <div class="bl-matrix" ref={frame}>
      <div class="bl-scroll bl-matrix-scroll">
        <div class="bl-matrix-sheet" style={{ "--labels": px(labels), width: px(labels + cols.length * cell + 60) }}>
          <div class="bl-cols" style={{ width: px(cols.length * cell) }}>
            {cols.map(
              (unit, n) =>
                (n % thinning(cell, SLANTED) === 0 || n === pinnedCol) && (
                  <button
                    type="button"
                    tabIndex={-1}
                    key={n}
                    class={n === pinnedCol ? "bl-col-label bl-pinned" : "bl-col-label"}
                    style={{ left: px(n * cell + cell / 2) }}
                    title={`key ${n}: ${visibleText(unit.label)}`}
                    onClick={() => pinCell(view, pinnedRow, n === pinnedCol ? null : n)}
                  >
                    <Token text={unit.label} />
                  </button>
                ),
            )}
          </div>
          {picture.spans.length > 0 && <SpanStrip cols={cols} cell={cell} />}
          {norms && !layerMap && <NormStrip norms={norms} cols={cols} cell={cell} />}
          <div class="bl-rows" style={{ height: px(rows.length * cell) }}>
            {rows.map(
              (unit, n) =>
                (n % step === 0 || n === pinnedRow) && (
                  <button
                    type="button"
                    tabIndex={-1}
                    key={n}
                    class={n === pinnedRow ? "bl-row-label bl-pinned" : "bl-row-label"}
                    style={{ top: px(n * cell + cell / 2) }}
                    title={`query ${n}: ${visibleText(unit.label)}`}
                    onClick={() => pinCell(view, n === pinnedRow ? null : n, pinnedCol)}
                  >
                    <Token text={unit.label} />
                  </button>
                ),
            )}
          </div>

          <div
            class="bl-cells"
            role="grid"
            tabIndex={0}
            aria-label={`${name}. Arrow keys move, Enter pins, Escape unpins.`}
            aria-rowcount={rows.length}
            aria-colcount={cols.length}
            data-testid="matrix"
            style={{ width: px(cols.length * cell), height: px(rows.length * cell) }}
            onKeyDown={move}
            onFocus={() => setFocused(true)}
            onBlur={() => setFocused(false)}
            onClick={(event) => {
              const hit = at(event);
              if (hit) pinCell(view, hit.row, hit.col);
            }}
            onPointerMove={(event) => {
              const hit = at(event);
              page.hover.value = hit;
              if (hit) showTip(view, event, <CellTip grid={grid} look={look} row={hit.row} col={hit.col} />);
              else view.tip.value = null;
            }}
            onPointerLeave={() => {
              page.hover.value = null;
              view.tip.value = null;
            }}
          >
            <Pixels width={cols.length} height={rows.length} paint={paint} />
            {spanEdges(picture.spans, rows).map((n) => n > 0 && mark(n, null, "bl-mark-pair"))}
            {spanEdges(picture.spans, cols).map((n) => n > 0 && mark(null, n, "bl-mark-pair"))}
            {boundary(rows) > 0 && mark(boundary(rows), null, "bl-mark-pair")}
            {boundary(cols) > 0 && mark(null, boundary(cols), "bl-mark-pair")}
            {hover && mark(hover.row, null, "bl-mark-hover")}
            {hover && mark(null, hover.col, "bl-mark-hover")}
            {mark(pinnedRow, null, "bl-mark-row")}
            {pinnedRow === null && mark(null, pinnedCol, "bl-mark-row")}
            {pinnedRow !== null && pinnedCol !== null && mark(pinnedRow, pinnedCol, "bl-mark-cell")}
            {focused && mark(cursor.row, cursor.col, "bl-mark-cursor")}
          </div>
        </div>
      </div>
      {cols.length > 40 && (
        <div class="bl-controls">
          <Select
            label="cells"
            value={String(page.cellSize.value)}
            choices={[
              { value: "0", label: "fit the width" },
              { value: "6", label: "small" },
              { value: "12", label: "with labels" },
              { value: "20", label: "large" },
            ]}
            onChange={(value) => {
              page.cellSize.value = Number(value);
            }}
          />
        </div>
      )}
      <Legend
        low={look.signed ? look.text(lo) : "0"}
        high={look.text(hi)}
        label={`${look.symbol}, ${look.name}${look.beyond}`}
        table={table}
      />
    </div>
  );
}
