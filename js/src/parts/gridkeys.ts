// Arrow keys, Home, End, PageUp and PageDown in every grid: where they lead.
import type { Cell } from "../state/page";

const PAGE = 8; // rows

interface Grid {
  rows: number;
  cols: number;
  count?: number; // of a list laid out in rows: left and right go on in the next one, the last may be short
}

/** The cell that a key leads to, null for other keys. With Ctrl, Home and End mean the whole grid. */
export function cellAfter(key: string, ctrl: boolean, { row, col }: Cell, { rows, cols, count }: Grid): Cell | null {
  const within = (value: number, n: number) => Math.max(0, Math.min(n - 1, value));
  const cell = (row: number, col: number) => within(row, rows) * cols + within(col, cols);
  const along = (step: number) => (count ? within(row * cols + col + step, count) : cell(row, col + step));
  const keys: Record<string, number> = {
    ArrowUp: cell(row - 1, col),
    ArrowDown: cell(row + 1, col),
    PageUp: cell(row - PAGE, col),
    PageDown: cell(row + PAGE, col),
    ArrowLeft: along(-1),
    ArrowRight: along(1),
    Home: cell(ctrl ? 0 : row, 0),
    End: Math.min(cell(ctrl ? rows : row, cols), (count ?? Number.POSITIVE_INFINITY) - 1),
  };
  const to = keys[key];
  if (to === undefined) return null;
  const at = to < (count ?? rows * cols) ? to : row * cols + col;
  return { row: Math.floor(at / cols), col: at % cols };
}

const TURNED: Record<string, string> = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

/** The key handler of a grid whose cell in focus is `at()`; of one that is laid right to left, left leads on. */
export const onGridKey = (grid: Grid, at: () => Cell, go: (cell: Cell) => void) => (event: KeyboardEvent) => {
  if (event.altKey) return; // back and forward
  const isTurned = (event.currentTarget as Element | null)?.matches("[dir=rtl]");
  const key = (isTurned && TURNED[event.key]) || event.key;
  const to = cellAfter(key, event.ctrlKey, at(), grid);
  if (!to) return;
  event.preventDefault();
  go(to);
};
