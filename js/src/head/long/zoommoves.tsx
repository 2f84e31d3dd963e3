// How the part of a long map that is looked at moves: by keys, pointer and fingers, and to what is pinned.
import { useRef } from "preact/hooks";
import { strongestKey } from "../../compute/attention";
import { around, type Level, type Region } from "../../compute/zoom";
import { onGridKey } from "../../parts/gridkeys";
import { hideTip, showTip } from "../../parts/tooltip";
import { type Cell, pointAt } from "../../state/page";
import { useView, type View } from "../../state/view";
import { CellTip } from "../matrix";
import { cellText, pinCell, type Scale } from "../scale";
import { type At, blockAt, blockText, lookingAt, partWords, pixelWords, snapped } from "./zoompart";

/** px of a column from which its label has room. */
export const COLUMN_LABEL = 13;
const [STEP, PINCH] = [100, 1.3]; // of the wheel and of two fingers, for one level
const DRAG = 4; // px from which a press is no click

/** Scale at another part, and say it. */
export function lookTo(view: View, to: Partial<View["page"]["zoom"]["value"]>, spoken = true): void {
  const { page } = view;
  page.zoom.value = { ...page.zoom.peek(), ...to };
  const at = lookingAt(view);
  page.zoom.value = { ...page.zoom.peek(), level: at.n, row: at.region.row, col: at.region.col };
  if (spoken) page.announcement.value = partWords(view, at) + pixelWords(view, at.level);
}

/** Zoom by some levels; the cell at a pixel of the picture stays there, without one the cursor's or the middle. */
export function zoom(view: View, by: number, point?: { x: number; y: number }): void {
  const { levels, level, n, region } = lookingAt(view);
  const to = Math.max(0, Math.min(levels.length - 1, n + by));
  const target = levels[to]!;
  const { cursor, zoom } = view.page;
  const { side } = zoom.value;
  if (to === n) return;
  const { row, col } = cursor.value;
  if (point || !isIn(region, row, col)) {
    const { x, y } = point ?? { x: side / 2, y: side / 2 };
    lookTo(view, { level: to, ...around(region, level, target, x, y) });
  } else lookTo(view, { level: to, ...centred(target, side, row, col) });
}

/** Whether a part holds a row and a column; null is in every part. */
const isIn = (region: Region, row: number | null, col: number | null) =>
  (row === null || (row >= region.row && row < region.row + region.rows)) &&
  (col === null || (col >= region.col && col < region.col + region.cols));

const centred = ({ edge, px }: Level, side: number, row: number, col: number) => {
  const half = ((side / px) * edge) / 2;
  return { row: row - half, col: col - half };
};

/** Bring a row and a column into the picture, close enough for labels. Without a column the row's strongest key. */
export function reveal(view: View, row: number | null, col: number | null): void {
  const { grid, page } = view;
  if (row === null && col === null) return;
  const { levels, level, n, region } = lookingAt(view);
  const key = col ?? strongestKey(grid.values.row(row!).map(Math.abs));
  const query = row ?? region.row;
  page.cursor.value = { row: query, col: key };
  if (level.px >= COLUMN_LABEL && isIn(region, row, col)) return;
  if (pinnedHere.has(page)) {
    pinnedHere.delete(page);
    return;
  }
  const to = level.px >= COLUMN_LABEL ? n : levels.findIndex((one) => one.px >= COLUMN_LABEL);
  lookTo(view, { level: to, ...centred(levels[to]!, page.zoom.value.side, query, key) }, false); // who pinned it says so
}

const pinnedHere = new WeakSet<View["page"]>(); // by a click into the picture, which then stays as it is

/** The keyboard's handler: arrows move over blocks or cells, and the picture with them. */
export function keysOf(view: View, { level, region }: At): (event: KeyboardEvent) => void {
  const { page, grid } = view;
  const { edge, px } = level;
  const { cursor, announcement } = page;
  const at = snapped(cursor.value, grid, edge);
  const size = { rows: Math.ceil(grid.rows.length / edge), cols: Math.ceil(grid.cols.length / edge) };
  const move = onGridKey(
    size,
    () => ({ row: at.row / edge, col: at.col / edge }),
    (to) => {
      const cell = { row: to.row * edge, col: to.col * edge };
      cursor.value = cell;
      if (!isIn(region, cell.row, cell.col))
        lookTo(view, centred({ edge, px }, page.zoom.value.side, cell.row, cell.col), false);
      announcement.value = blockText(view, level, cell);
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
  const at = edge === 1 ? { row, col } : blockAt(view, edge, row, col).at;
  pinnedHere.add(view.page);
  pinCell(view, at.row, at.col);
  view.page.announcement.value = cellText(view, at.row, at.col);
}

/** The pointer's handlers: a click pins, a drag pans, the wheel (once the picture has the focus) and two fingers zoom. */
export function usePointer({ level, region, n }: At, scale: Scale) {
  const view = useView();
  const { page } = view;
  const { edge } = level;
  const cell = level.px / edge;
  const fingers = useRef(new Map<number, PointerEvent>());
  const press = useRef<{ x: number; y: number; region: Region; moved: boolean } | null>(null);
  const spread = useRef(0);
  const wheeled = useRef(0);
  const pointOf = (event: Pick<MouseEvent, "currentTarget" | "clientX" | "clientY">) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const blockOf = (event: MouseEvent): Cell | null => {
    const { x, y } = pointOf(event);
    const at = snapped(
      { row: region.row + Math.floor(y / cell), col: region.col + Math.floor(x / cell) },
      view.grid,
      edge,
    );
    return x >= 0 && y >= 0 && at.row < region.row + region.rows && at.col < region.col + region.cols ? at : null;
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
      press.current = { x: event.clientX, y: event.clientY, region, moved: fingers.current.size > 1 };
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
        return lookTo(view, { row: from.region.row - y / cell, col: from.region.col - x / cell }, false);
      }
      const at = blockOf(event);
      pointAt(page, edge === 1 ? at : null);
      showTip(view, event, at && <BlockTip scale={scale} edge={edge} at={at} />);
    },
    onPointerUp: end,
    onPointerCancel: end,
    onPointerLeave: () => {
      pointAt(page, null);
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

function BlockTip({ scale, edge, at }: { scale: Scale; edge: number; at: Cell }) {
  const { at: largest } = blockAt(useView(), edge, at.row, at.col);
  return <CellTip scale={scale} {...largest} of={edge > 1 ? `, the largest of ${edge} × ${edge} cells` : ""} />;
}
