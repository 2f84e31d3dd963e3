// Head view as a matrix: one cell per query and key, labels on both sides, a cursor for keys and screen readers.
import type { ComponentChildren, HTMLAttributes, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { edges, keyNorms, type Unit } from "../compute/grid";
import type { Region } from "../compute/zoom";
import { counted, px, share } from "../paint/format";
import { visibleText } from "../paint/quotes";
import { Button, choicesOf, into, Select, useElementId } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import { Legend } from "../parts/legend";
import { Pixels, usePaint } from "../parts/pixels";
import { Token, tokenText, tokenWord } from "../parts/token";
import { hideTip, showTip } from "../parts/tooltip";
import { useWidth } from "../parts/width";
import { type Cell, pointAt } from "../state/page";
import { useView } from "../state/view";
import { cellText, currentScale, pinCell, pinToken, type Scale } from "./scale";
import { NormStrip, SpanStrip } from "./strips";

const [LEAST_LABELS, MOST_LABELS] = [44, 186]; // px beside the rows
const [TILT, TEXT, STRIP] = [(66 * Math.PI) / 180, 12, 12]; // of the columns' labels; px of a text, of the norms below them
const [NARROW, LOW, TALL, SCROLLED] = [400, 255, 300, 640]; // px: a matrix beside a wide atlas should not pass LOW, others TALL
const LABELLED = 11; // px a row needs to carry its label
const SLANTED = 12; // the same for a column's
const [LARGEST, COMFORTABLE] = [24, 12];
const SIZES = { 0: "fit the width", 6: "small", 12: "with labels", 20: "large" }; // px of a cell

/** Where everything stands: pixels of a cell, of the labels beside and above, and of what these reach out at the right. */
interface Layout {
  cell: number;
  labels: number;
  above: number;
  strip: number; // of that, for the norms below the labels
  beyond: number;
}

/** A cell as chosen, or as large as fits without a scroll bar. */
function useLayout(frame: RefObject<HTMLDivElement | null>): Layout {
  const { page, grid, overview } = useView();
  const width = useWidth(frame);
  const { rows, cols } = grid;
  const cellSize = page.cellSize.value;
  return useMemo(() => {
    const wide = textWidths(frame.current, cols);
    const labelWidth = 1.1 * Math.max(...textWidths(frame.current, rows)) + 18; // the pinned one is bold
    const labels = Math.max(LEAST_LABELS, Math.min(0.38 * width, labelWidth));
    const strip = overview.measures.includes("norm") ? STRIP : 0;
    const above = Math.ceil(Math.max(...wide) * Math.sin(TILT)) + 8 + strip;
    const beyond = (cell: number) => {
      const step = labelStep(cell, false);
      const reach = wide.map((w, n) => (n % step ? 0 : (n + 0.5) * cell + w * Math.cos(TILT) + 10));
      return Math.max(1, Math.ceil(Math.max(...reach)) - cols.length * cell);
    };
    const fits = (cell: number) => {
      const bar = above + rows.length * cell > SCROLLED ? 14 : 0;
      return labels + cols.length * cell + beyond(cell) + bar <= width;
    };
    let cell =
      cellSize ||
      Math.min(LARGEST, Math.max(COMFORTABLE, Math.floor((width < NARROW ? LOW : TALL) / (rows.length || 1))));
    while (!cellSize && cell > 1 && !fits(cell)) cell--;
    return { cell, labels, above, strip, beyond: beyond(cell) };
  }, [rows, cols, width, cellSize]);
}

/** How wide the labels of some tokens are drawn. */
function textWidths(frame: Element | null, units: Unit[]): number[] {
  const ruler = document.createElement("canvas").getContext("2d");
  if (ruler && frame) ruler.font = `${TEXT}px ${getComputedStyle(frame).fontFamily}`;
  return units.map(({ label }) =>
    Math.min(MOST_LABELS, ruler?.measureText(tokenText(label)).width ?? 6 * label.length),
  );
}

/** Every how many-th token has its label. */
const labelStep = (cell: number, isRow: boolean) => Math.max(1, Math.ceil((isRow ? LABELLED : SLANTED) / cell));

export function Matrix() {
  const view = useView();
  const { grid, shownHead, overview, page } = view;
  const { rows, cols } = grid;
  const frame = useRef<HTMLDivElement>(null);
  const layout = useLayout(frame);
  const { cell, labels, above, strip, beyond } = layout;
  const width = px(labels + cols.length * cell + beyond);
  const sheet = { "--labels": px(labels), "--above": px(above), "--strip": px(strip), width };
  const norms = shownHead.layerMap ? null : shownHead.norms;
  const scale = currentScale(view);
  return (
    <div class="bl-matrix" ref={frame}>
      <div class="bl-scroll bl-matrix-scroll">
        <div class="bl-matrix-sheet" style={sheet}>
          <div class="bl-corner bl-muted">
            {norms && `‖f(x)‖ ≤ ${share(keyNorms(norms, cols).reduce((a, b) => Math.max(a, b), 0))}`}
          </div>
          <div class="bl-cols">
            <Labels units={cols} cell={cell} isRow={false} />
            {norms && <NormStrip norms={norms} cols={cols} cell={cell} />}
          </div>
          {overview.spans.length > 0 && <SpanStrip cols={cols} cell={cell} />}
          <Labels units={rows} cell={cell} isRow />
          <Cells scale={scale} cell={cell} />
        </div>
      </div>
      {cols.length > 40 && (
        <div class="bl-controls">
          <Select
            label="cells"
            value={String(page.cellSize.value)}
            choices={choicesOf(SIZES)}
            onChange={(value) => into(page.cellSize)(Number(value))}
          />
        </div>
      )}
      <MapLegend scale={scale} />
    </div>
  );
}

/** The colours of a head or layer map, on the screen and in a file. */
export const MapLegend = ({ scale, note = "" }: { scale: Scale; note?: string }) => (
  <Legend
    low={scale.signed ? scale.text(scale.lo) : "0"}
    high={scale.text(scale.hi)}
    label={`${scale.symbol}, ${scale.name}${scale.beyond}${note}`}
    colours={scale.colours}
  />
);

/** The tokens of a side, as many as do not overlap; a click pins one. */
function Labels({ units, cell, isRow }: { units: Unit[]; cell: number; isRow: boolean }) {
  const view = useView();
  const [kind, pinned] = isRow ? ["row", view.row] : ["col", view.col];
  const step = labelStep(cell, isRow);
  const [length, half] = [units.length * cell, LABELLED / 2];
  /** A label stays within the picture, which would cut it: of small rows not the first but the next that fits is named. */
  const within = (at: number) => (isRow ? Math.max(half, Math.min(length - half, at)) : at);
  const place = (n: number) => within((n + 0.5) * cell);
  const phase = isRow ? Math.max(0, Math.ceil(half / cell - 0.5)) % step : 0;
  const isNamed = (n: number) =>
    n % step === phase &&
    place(n) === (n + 0.5) * cell &&
    (pinned === null || Math.abs(place(n) - place(pinned)) >= step * cell);
  return (
    <div class={`bl-${kind}-labels`} style={isRow ? { height: px(length) } : { width: px(length) }}>
      {units.map(
        ({ label, pieces }, n) =>
          (n === pinned || isNamed(n)) && (
            <Button
              tabIndex={-1}
              key={n}
              data-tokens={pieces}
              class={`bl-${kind}-label${n === pinned ? " bl-pinned" : ""}`}
              style={{ [isRow ? "top" : "left"]: px(place(n)) }}
              title={`${isRow ? "query" : "key"} ${n}: ${tokenWord(label)}`}
              onClick={() => pinToken(view, isRow, n)}
            >
              <Token text={label} />
            </Button>
          ),
      )}
    </div>
  );
}

/** The cells: pointer and keys move over them, a click or Enter pins. */
function Cells({ scale, cell }: { scale: Scale; cell: number }) {
  const view = useView();
  const { grid, page, overview } = view;
  const { rows, cols } = grid;
  const mark = markOf({ row: 0, col: 0, rows: rows.length, cols: cols.length }, cell);
  const paint = usePaint(grid.values.matrix!, scale);
  const row = Math.min(page.cursor.value.row, rows.length - 1);
  const col = Math.min(page.cursor.value.col, cols.length - 1);
  return (
    <CellGrid
      scale={scale}
      cursor={{ row, col }}
      header={tokenText(rows[row]!.label)}
      text={cellText(view, row, col)}
      style={{ width: px(cols.length * cell), height: px(rows.length * cell) }}
      onKeyDown={useCursor()}
      {...usePointer(scale, cell)}
    >
      {(focused) => (
        <>
          <Pixels width={cols.length} height={rows.length} paint={paint} />
          {edges(overview.spans, rows).map((n) => mark("pair-row", n, null))}
          {edges(overview.spans, cols).map((n) => mark("pair-col", null, n))}
          <Marks mark={mark} cursor={focused ? page.cursor.value : null} />
        </>
      )}
    </CellGrid>
  );
}

/** The frame of the cells; for who cannot see the picture it holds the cell at the cursor: a row of the grid, with its header. */
export function CellGrid(
  props: Omit<HTMLAttributes<HTMLDivElement>, "children"> & {
    scale: Scale;
    keys?: string; // others that do something here
    cursor: Cell;
    header: string;
    text: string;
    children: (focused: boolean) => ComponentChildren;
  },
) {
  const { scale, keys = "", cursor, header, text, children, ...others } = props;
  const view = useView();
  const [rows, cols] = [view.grid.rows.length, view.grid.cols.length];
  const [focused, setFocused] = useState(false);
  const id = useElementId();
  const size = `${counted(rows)} queries by ${counted(cols)} keys, row = query, column = key`;
  return (
    <div
      class="bl-cells"
      role="grid"
      tabIndex={0}
      aria-label={`${scale.title}, ${scale.name} of ${visibleText(view.overview.model)}: ${size}. Arrow keys move, ${keys}Enter pins, Escape unpins.`}
      aria-rowcount={rows}
      aria-colcount={cols}
      data-testid="matrix"
      aria-activedescendant={focused ? id : undefined}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
      {...others}
    >
      {children(focused)}
      <div role="row" aria-rowindex={cursor.row + 1} class="bl-hidden">
        <span role="rowheader">{header}</span>
        <span role="gridcell" id={id} aria-colindex={cursor.col + 1}>
          {text}
        </span>
      </div>
    </div>
  );
}

/** The keyboard's handler: it moves the cursor, which starts where the pin is, and says the cell. */
function useCursor(): (event: KeyboardEvent) => void {
  const view = useView();
  const { row, col, grid } = view;
  const { cursor, announcement } = view.page;
  useLayoutEffect(() => {
    if (row !== null) cursor.value = { row, col: col ?? cursor.value.col };
  }, [row, col]);
  const size = { rows: grid.rows.length, cols: grid.cols.length };
  const at = () => ({
    row: Math.min(cursor.value.row, size.rows - 1),
    col: Math.min(cursor.value.col, size.cols - 1),
  });
  const move = onGridKey(size, at, (cell) => {
    cursor.value = cell;
    announcement.value = cellText(view, cell.row, cell.col);
  });
  return (event) => {
    if (event.key !== "Enter" && event.key !== " ") return move(event);
    event.preventDefault();
    pinCell(view, at().row, at().col);
    announcement.value = cellText(view, at().row, at().col);
  };
}

/** The pointer's handlers. */
function usePointer(scale: Scale, cell: number) {
  const view = useView();
  const { page } = view;
  const at = (event: MouseEvent): Cell | null => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / cell);
    const col = Math.floor((event.clientX - box.left) / cell);
    return view.grid.rows[row] && view.grid.cols[col] ? { row, col } : null;
  };
  return {
    onClick: (event: MouseEvent) => {
      const hit = at(event);
      if (hit) pinCell(view, hit.row, hit.col);
    },
    onPointerMove: (event: PointerEvent) => {
      const hit = at(event);
      pointAt(page, hit);
      showTip(view, event, hit && <CellTip scale={scale} {...hit} />);
    },
    onPointerLeave: () => {
      pointAt(page, null);
      hideTip(view);
    },
  };
}

/** What the pointer is on. `of`: where that is the largest cell of several, how many these are. */
export function CellTip({ scale, row, col, of = "" }: Cell & { scale: Scale; of?: string }) {
  const { grid } = useView();
  return (
    <>
      <Token text={grid.rows[row]!.label} /> → <Token text={grid.cols[col]!.label} />{" "}
      <b class="bl-number">{scale.text(grid.values.at(row, col))}</b>
      <br />
      <span class="bl-muted">
        query {counted(row)}, key {counted(col)}
        {of}
      </span>
    </>
  );
}

type MarkOf = ReturnType<typeof markOf>;

/** Frames of a row, a column or `count` by `count` cells, in pixels of the part that is drawn; none where they lie outside. */
export const markOf =
  (part: Region, cell: number, least = 0) =>
  (name: string, row: number | null, col: number | null, count = 1) => {
    const isOut = (n: number | null, from: number, all: number) => n !== null && (n + count <= from || n >= from + all);
    if (isOut(row, part.row, part.rows) || isOut(col, part.col, part.cols)) return null;
    const along = (n: number | null, from: number, all: number) => [
      px(n === null ? 0 : (n - from) * cell),
      px(n === null ? all * cell : Math.max(least, count * cell)),
    ];
    const [top, height] = along(row, part.row, part.rows);
    const [left, width] = along(col, part.col, part.cols);
    return <div key={`${name}${row}/${col}`} class={`bl-mark-${name}`} style={{ top, left, width, height }} />;
  };

/** Frames: what the pointer is on, what is pinned, where the keyboard's cursor is. */
export function Marks({ mark, cursor, edge = 1, hovered = true }: MarksProps) {
  const { page, row, col } = useView();
  const hover = page.hover.value;
  return (
    <>
      {hovered && hover && [mark("hover", hover.row, null), mark("hover", null, hover.col)]}
      {(row !== null || col !== null) && mark("row", row, row === null ? col : null)}
      {row !== null && col !== null && mark("cell", row, col)}
      {cursor && mark("cursor", cursor.row, cursor.col, edge)}
    </>
  );
}

interface MarksProps {
  mark: MarkOf;
  cursor: Cell | null;
  edge?: number; // cells along a side of the cursor
  hovered?: boolean;
}
