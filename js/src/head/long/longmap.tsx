// Head view as a matrix of a long text: all of it in blocks of cells, and every part of it down to single cells. Only what
// is seen is computed (compute/windows.ts), in slices.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { counted, px } from "../../paint/format";
import { inks } from "../../paint/palette";
import { Button, choicesOf, Segmented } from "../../parts/controls";
import { Pixels, usePaint } from "../../parts/pixels";
import { Token, tokenWord } from "../../parts/token";
import { useWidth } from "../../parts/width";
import { inSlices } from "../../state/idle";
import { useView } from "../../state/view";
import { CellGrid, MapLegend, Marks, markOf } from "../matrix";
import { currentScale, pinToken, type Scale } from "../scale";
import { sweepOf, useSwept } from "../swept";
import { COLUMN_LABEL, keysOf, lookTo, reveal, usePointer, zoom } from "./zoommoves";
import {
  type At,
  blockText,
  lookingAt,
  partWords,
  pixelsOf,
  pixelWords,
  place,
  scaleAt,
  sizeOf,
  snapped,
  tilesFor,
} from "./zoompart";

const [SIDE, LEAST_SIDE] = [512, 160]; // px of the picture
const [LABELS, ABOVE] = [104, 96]; // px beside and above it
const [ROW_LABEL, TICK] = [11, 56]; // px from one to the next
const OFTEN = 100; // ms from one picture to the next while it is being computed

export function Zoomed() {
  const view = useView();
  const { grid, page, dark, row, col } = view;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  const labels = Math.round(Math.min(LABELS, 0.28 * width));
  const side = Math.max(LEAST_SIDE, Math.min(SIDE, width - labels - 16));
  const [came, redraw] = useState(0); // tiles and rows
  useLayoutEffect(() => {
    page.zoom.value = { ...page.zoom.peek(), side };
  }, [side]);
  const { values } = grid;
  const isKnown = useSwept(values);
  const at = lookingAt(view);
  const { level, region } = at;
  const soon = useRef(0);
  const repaint = () => {
    soon.current ||= window.setTimeout(() => {
      soon.current = 0;
      redraw((n) => n + 1);
    }, OFTEN);
  };
  useEffect(
    () => inSlices(tilesFor(values).fill(level, region, repaint), { first: true }),
    [values, level.edge, ...Object.values(region)],
  );
  useEffect(() => {
    if (isKnown) return;
    const timer = setInterval(repaint, OFTEN); // rows come
    return () => clearInterval(timer);
  }, [values, isKnown]);
  const scale = scaleAt(view, level);
  const lastRow = useRef<number | null>(null);
  useLayoutEffect(() => {
    const isOther = lastRow.current !== null;
    lastRow.current = row;
    if (isOther || row !== null) reveal(view, row, col);
  }, [row, col]);
  return (
    <div class="bl-matrix bl-zoom" ref={frame}>
      <div class="bl-matrix-sheet" style={{ "--labels": px(labels), "--above": px(ABOVE) }}>
        <Minimap at={at} side={Math.min(labels, ABOVE) - 12} />
        <Axis at={at} isRow={false} />
        <Axis at={at} isRow />
        <Picture at={at} scale={scale} blank={inks(dark).panel} came={2 * came + Number(isKnown)} />
      </div>
      <ZoomControls at={at} />
      <MapLegend scale={scale} />
    </div>
  );
}

const ZOOMS: [key: string, name: string, by: number][] = [
  ["+", "Zoom in", 1],
  ["−", "Zoom out", -1],
  ["0", "All of it", Number.NEGATIVE_INFINITY],
];

/** Buttons that zoom, what a pixel is, and which part is shown. */
function ZoomControls({ at }: { at: At }) {
  const view = useView();
  const { grid, page } = view;
  const { level } = at;
  const percent = Math.floor((100 * sweepOf(grid.values).rowsDone) / grid.rows.length);
  return (
    <div class="bl-controls">
      <div class="bl-group" role="group" aria-label="Zoom">
        {ZOOMS.map(([key, name, by]) => (
          <Button
            key={key}
            class="bl-button"
            title={`${name} (${key})`}
            aria-label={name}
            onClick={() => zoom(view, by)}
          >
            {key === "0" ? "all" : key}
          </Button>
        ))}
      </div>
      {level.edge > 1 && (
        <Segmented<"max" | "mean">
          label="a pixel is"
          value={page.zoom.value.by}
          choices={choicesOf({ max: "the largest", mean: "the mean" })}
          onChange={(by) => {
            page.zoom.value = { ...page.zoom.peek(), by };
          }}
        />
      )}
      <span class="bl-muted" data-testid="zoom-part">
        {partWords(view, at) + pixelWords(view, level)}
        {percent < 100 && ` · ${percent} % of rows computed`}
      </span>
    </div>
  );
}

/** Tokens where there is room for them, else positions. */
function Axis({ at: { level, region }, isRow }: { at: At; isRow: boolean }) {
  const view = useView();
  const { grid } = view;
  const [kind, units, pinned] = isRow ? ["row", grid.rows, view.row] : ["col", grid.cols, view.col];
  const [from, count] = isRow ? [region.row, region.rows] : [region.col, region.cols];
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
          <Button
            tabIndex={-1}
            key={n}
            class={`bl-${kind}-label${n === pinned ? " bl-pinned" : ""}`}
            style={{ [isRow ? "top" : "left"]: px((n - from + 0.5) * cell) }}
            title={`${isRow ? "query" : "key"} ${n}: ${tokenWord(units[n]!.label)}`}
            onClick={() => pinToken(view, isRow, n)}
          >
            {isTokens ? <Token text={units[n]!.label} /> : counted(n)}
          </Button>
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
  const { blocks, rowsDone } = sweepOf(grid.values);
  const scale = side / Math.max(size.rows, size.cols);
  const paint = usePaint(blocks.max, currentScale(view), inks(dark).panel, rowsDone);
  const go = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = (event.clientY - box.top) / scale - at.region.rows / 2;
    lookTo(view, { row, col: (event.clientX - box.left) / scale - at.region.cols / 2 }, false);
  };
  const { region } = at;
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
            left: px(region.col * scale),
            top: px(region.row * scale),
            width: px(region.cols * scale),
            height: px(region.rows * scale),
          }}
        />
      </div>
    </div>
  );
}

function Picture({ at, scale, blank, came }: { at: At; scale: Scale; blank: string; came: number }) {
  const view = useView();
  const { grid, page } = view;
  const { level, region } = at;
  const { edge } = level;
  const cell = level.px / edge;
  const inputs = [grid.values, edge, page.zoom.value.by, came, ...Object.values(region)];
  const { values, rows, cols } = useMemo(() => pixelsOf(view, at), inputs);
  const paint = usePaint(values, scale, blank);
  const cursor = snapped(page.cursor.value, grid, edge);
  const mark = markOf(region, cell, 2);
  return (
    <CellGrid
      scale={scale}
      keys="plus and minus zoom, 0 shows all, "
      cursor={cursor}
      header={place(grid.rows, cursor.row, edge)}
      text={blockText(view, level, cursor)}
      style={{ width: px(cols * level.px), height: px(rows * level.px), touchAction: at.n > 0 ? "none" : "pan-y" }}
      onKeyDown={keysOf(view, at)}
      {...usePointer(at, scale)}
    >
      {(focused) => (
        <>
          <Pixels width={cols} height={rows} paint={paint} class={level.px % 1 ? "bl-smooth" : ""} />
          <Marks mark={mark} cursor={focused ? cursor : null} edge={edge} hovered={edge === 1 && level.px > 1} />
        </>
      )}
    </CellGrid>
  );
}
