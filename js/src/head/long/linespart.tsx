// Of a long text, lines of some tokens at a time; what leads out of them is counted at their edges.
import { useEffect, useMemo, useState } from "preact/hooks";
import { extremes, type Grid } from "../../compute/grid";
import { heldCells, isLong } from "../../compute/windows";
import { counted } from "../../paint/format";
import { Button, into, Slider } from "../../parts/controls";
import { tokenWord } from "../../parts/token";
import { inSlices } from "../../state/idle";
import type { View } from "../../state/view";
import { currentScale, pinCell } from "../scale";

const TOKENS_DRAWN = 100; // on each side
const LINKS_NAMED = 3; // links that are named at an edge

export const isPart = ({ grid: { rows, cols } }: View): boolean => isLong(rows.length, cols.length);

/** First query and key of the part. */
const fromOf = ({ page }: View, { rows, cols }: Grid) => {
  const start = (count: number) => Math.max(0, Math.min(page.zoom.value.row, count - TOKENS_DRAWN));
  return { row: start(rows.length), col: start(cols.length) };
};

/** The view of the part that is drawn as lines, the whole one of a text that is not long. */
export function linesPart(view: View): View {
  if (!isPart(view)) return view;
  const from = fromOf(view, view.grid);
  const clip = ({ rows, cols, values }: Grid): Grid => {
    const [queries, keys] = [
      rows.slice(from.row, from.row + TOKENS_DRAWN),
      cols.slice(from.col, from.col + TOKENS_DRAWN),
    ];
    const cells = values.window(from.row, from.row + queries.length, from.col, from.col + keys.length);
    return { rows: queries, cols: keys, values: heldCells(cells, keys.length), ...extremes(cells, queries.length) };
  };
  const inside = (n: number | null, first: number) =>
    n !== null && n >= first && n < first + TOKENS_DRAWN ? n - first : null;
  return {
    ...view,
    grid: clip(view.grid),
    overlays: view.overlays.map(clip),
    ...{ row: inside(view.row, from.row), col: inside(view.col, from.col), from },
  };
}

/** The same for a component. */
export function useLinesPart(view: View): View {
  const { grid, overlays, row, col, shownHead, dark, page } = view;
  useEffect(() => {
    const { row: start } = fromOf(view, grid);
    const at = row ?? col;
    if (isPart(view) && at !== null && (at < start || at >= start + TOKENS_DRAWN)) goTo(view, at - TOKENS_DRAWN / 2);
  }, [row, col]);
  const from = isPart(view) ? page.zoom.value.row : 0;
  return useMemo(() => linesPart(view), [grid, overlays, row, col, shownHead, dark, from]);
}

function goTo({ page, grid }: View, row: number): void {
  const to = Math.round(Math.max(0, Math.min(row, Math.max(grid.rows.length, grid.cols.length) - TOKENS_DRAWN)));
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
  done: (leading: Leaving) => void,
): Generator<void> {
  const leading: Leaving = { rows: 0, before: [], after: [], counts: [0, 0] };
  for (let r = from.row; r < Math.min(values.rows, from.row + TOKENS_DRAWN); r++) {
    const row = values.row(r);
    for (let c = 0; c < row.length; c++) {
      if (c === from.col) c = Math.min(row.length, from.col + TOKENS_DRAWN);
      if (!(Math.abs(row[c]!) >= minimum)) continue;
      const side = c < from.col ? 0 : 1;
      leading.counts[side]++;
      const list = side ? leading.after : leading.before;
      if (list.length === LINKS_NAMED && Math.abs(list.at(-1)![2]) >= Math.abs(row[c]!)) continue;
      list.push([r, c, row[c]!]);
      list.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2])).splice(LINKS_NAMED);
    }
    leading.rows++;
    yield;
  }
  done(leading);
}

/** Which part it is, and what leaves it. `view` is of the whole text. */
export function PartOfLines({ view, minimum }: { view: View; minimum: number }) {
  const { grid, page } = view;
  const from = fromOf(view, grid);
  const [leading, setLeading] = useState<Leaving | null>(null);
  useEffect(() => {
    setLeading(null);
    return inSlices(leaving(view, from, minimum, setLeading));
  }, [grid.values, from.row, from.col, minimum]);
  const count = Math.max(grid.rows.length, grid.cols.length);
  const { text } = currentScale(view);
  const edge = (side: 0 | 1) => {
    const named = (side ? leading?.after : leading?.before) ?? [];
    const count = leading?.counts[side] ?? 0;
    return (
      leading &&
      count > 0 && (
        <p class="bl-muted" data-testid={side ? "lines-after" : "lines-before"}>
          {side ? "↓" : "↑"} {counted(count)} {count === 1 ? "line leads" : "lines lead"} to{" "}
          {side ? "later" : "earlier"} keys:{" "}
          {named.map(([r, c, value], n) => (
            <>
              {n > 0 && ", "}
              <Button class="bl-link" onClick={() => pinCell(view, r, c)}>
                {tokenWord(grid.rows[r]!.label)} {r} → {tokenWord(grid.cols[c]!.label)} {c}
              </Button>{" "}
              {text(value)}
            </>
          ))}
          {count > named.length && " …"}
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
          max={Math.max(0, count - TOKENS_DRAWN)}
          step={1}
          value={from.row}
          text={`${counted(from.row)} – ${counted(Math.min(count, from.row + TOKENS_DRAWN) - 1)} of ${counted(count)}`}
          onChange={(row) => into(page.zoom)({ ...page.zoom.peek(), row })}
        />
      </div>
      {edge(0)}
      {edge(1)}
    </>
  );
}
