// Of a long text, lines of some tokens at a time; what leads out of them is counted at their edges.
import { useEffect, useMemo, useState } from "preact/hooks";
import { extremes, type Grid } from "../../compute/grid";
import { heldCells, isLong } from "../../compute/windows";
import { counted } from "../../paint/format";
import { into, Slider } from "../../parts/controls";
import { tokenText } from "../../parts/token";
import { inSlices } from "../../state/idle";
import type { View } from "../../state/view";
import { lookNow, pinCell } from "../scale";

const TOKENS = 100; // on each side
const NAMED = 3; // links that are named at an edge

export const isPart = ({ grid: { rows, cols } }: View): boolean => isLong(rows.length, cols.length);

/** First query and key of the part. */
const fromOf = ({ page }: View, { rows, cols }: Grid) => {
  const first = (count: number) => Math.max(0, Math.min(page.zoom.value.row, count - TOKENS));
  return { row: first(rows.length), col: first(cols.length) };
};

/** The view of the part that is drawn as lines, the whole one of a text that is not long. */
export function linesPart(view: View): View {
  if (!isPart(view)) return view;
  const from = fromOf(view, view.grid);
  const part = ({ rows, cols, values }: Grid): Grid => {
    const [queries, keys] = [rows.slice(from.row, from.row + TOKENS), cols.slice(from.col, from.col + TOKENS)];
    const cells = values.window(from.row, from.row + queries.length, from.col, from.col + keys.length);
    return { rows: queries, cols: keys, values: heldCells(cells, keys.length), ...extremes(cells, queries.length) };
  };
  const inside = (n: number | null, first: number) =>
    n !== null && n >= first && n < first + TOKENS ? n - first : null;
  return {
    ...view,
    grid: part(view.grid),
    overlays: view.overlays.map(part),
    ...{ row: inside(view.row, from.row), col: inside(view.col, from.col), from },
  };
}

/** The same for a component. */
export function useLinesPart(view: View): View {
  const { grid, overlays, row, col, shown, dark, page } = view;
  useEffect(() => {
    const { row: first } = fromOf(view, grid);
    const at = row ?? col;
    if (isPart(view) && at !== null && (at < first || at >= first + TOKENS)) goTo(view, at - TOKENS / 2);
  }, [row, col]);
  const from = isPart(view) ? page.zoom.value.row : 0;
  return useMemo(() => linesPart(view), [grid, overlays, row, col, shown, dark, from]);
}

function goTo({ page, grid }: View, row: number): void {
  const to = Math.round(Math.max(0, Math.min(row, Math.max(grid.rows.length, grid.cols.length) - TOKENS)));
  page.zoom.value = { ...page.zoom.peek(), row: to };
}

interface Leaving {
  rows: number; // that were looked at
  before: [row: number, col: number, value: number][]; // to keys before the part, the strongest first
  after: [row: number, col: number, value: number][];
  counts: [before: number, after: number];
}

/** Links of the part's queries that lead to keys outside it and reach the minimum. */
function* leaving(
  { grid: { values } }: View,
  from: Record<"row" | "col", number>,
  minimum: number,
  done: (found: Leaving) => void,
): Generator<void> {
  const found: Leaving = { rows: 0, before: [], after: [], counts: [0, 0] };
  for (let r = from.row; r < Math.min(values.rows, from.row + TOKENS); r++) {
    const row = values.row(r);
    for (let c = 0; c < row.length; c++) {
      if (c === from.col) c = Math.min(row.length, from.col + TOKENS);
      if (!(Math.abs(row[c]!) >= minimum)) continue;
      const side = c < from.col ? 0 : 1;
      found.counts[side]++;
      const list = side ? found.after : found.before;
      if (list.length === NAMED && Math.abs(list.at(-1)![2]) >= Math.abs(row[c]!)) continue;
      list.push([r, c, row[c]!]);
      list.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2])).splice(NAMED);
    }
    found.rows++;
    yield;
  }
  done(found);
}

/** Which part it is, and what leaves it. `view` is of the whole text. */
export function PartOfLines({ view, minimum }: { view: View; minimum: number }) {
  const { grid, page } = view;
  const from = fromOf(view, grid);
  const [found, setFound] = useState<Leaving | null>(null);
  useEffect(() => {
    setFound(null);
    return inSlices(leaving(view, from, minimum, setFound));
  }, [grid.values, from.row, from.col, minimum]);
  const count = Math.max(grid.rows.length, grid.cols.length);
  const { text } = lookNow(view);
  const edge = (side: 0 | 1) => {
    const named = (side ? found?.after : found?.before) ?? [];
    const all = found?.counts[side] ?? 0;
    return (
      found &&
      all > 0 && (
        <p class="bl-muted" data-testid={side ? "lines-after" : "lines-before"}>
          {side ? "↓" : "↑"} {counted(all)} {all === 1 ? "line leads" : "lines lead"} to {side ? "later" : "earlier"}{" "}
          keys:{" "}
          {named.map(([r, c, value], n) => (
            <>
              {n > 0 && ", "}
              <button type="button" class="bl-link" onClick={() => pinCell(view, r, c)}>
                {tokenText(grid.rows[r]!.label)} {r} → {tokenText(grid.cols[c]!.label)} {c}
              </button>{" "}
              {text(value)}
            </>
          ))}
          {all > named.length && " …"}
        </p>
      )
    );
  };
  return (
    <>
      <div class="bl-controls" data-testid="lines-part">
        <Slider
          label="tokens from"
          min={0}
          max={Math.max(0, count - TOKENS)}
          step={1}
          value={from.row}
          text={`${counted(from.row)} – ${counted(Math.min(count, from.row + TOKENS) - 1)} of ${counted(count)}`}
          onChange={(row) => into(page.zoom)({ ...page.zoom.peek(), row })}
        />
      </div>
      {edge(0)}
      {edge(1)}
    </>
  );
}
