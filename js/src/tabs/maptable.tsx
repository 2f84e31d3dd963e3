// Table: the numbers of the head view as a real table, for reading, copying and screen readers.

import { useMemo } from "preact/hooks";
import { scores } from "../compute/attention";
import { largest } from "../compute/largest";
import { currentScale } from "../head/scale";
import { largestCells, useSwept } from "../head/swept";
import { counted, signed } from "../paint/format";
import { into, Segmented } from "../parts/controls";
import type { Numbers } from "../parts/picturetable";
import { type Column, Table, tableCells } from "../parts/table";
import { Token } from "../parts/token";
import { useView, type View } from "../state/view";
import { AtlasTable, atlasNumbers } from "./atlastable";

const MOST_CELLS = 100;

interface Row {
  query: string;
  key: string;
  i: number;
  j: number;
  score: number | null;
  value: number; // of the measure shown
}

/** The pinned row, or the largest cells of the map whatever their sign; the sizes fall. */
function rowsOf({ shownHead, grid, row, synced }: View): { rows: Row[]; total: number } {
  const { rows, cols, values } = grid;
  const K = cols.length;
  const from = (row ?? 0) * K;
  const numbers = row === null ? null : values.row(row);
  const positions = numbers ? largest(numbers, MOST_CELLS).positions : (largestCells(values, MOST_CELLS) ?? []);
  const at = (position: number) => numbers?.[position] ?? values.at(Math.floor(position / K), position % K);
  const hasScores = shownHead.slice.q && !shownHead.layerMap && synced.units.value === "pieces";
  const points = new Map<number, Float64Array>();
  const rowAt = (position: number): Row => {
    const [query, key] = [rows[Math.floor((from + position) / K)]!, cols[(from + position) % K]!];
    const [i, j] = [query.pieces[0]!, key.pieces[0]!];
    if (hasScores && !points.has(i)) points.set(i, scores(shownHead.slice, i));
    return { query: query.label, key: key.label, i, j, score: points.get(i)?.[j] ?? null, value: at(position) };
  };
  return { rows: positions.map(rowAt), total: numbers?.length ?? rows.length * K };
}

const token = (text: string, index: number) => (
  <>
    <Token text={text} /> <span class="bl-muted bl-number">{index}</span>
  </>
);

/** The columns; what is copied names the measure as files do. */
function columnsOf(view: View, rows: Row[]): Column<Row>[] {
  const { column, symbol, text } = currentScale(view);
  const score = { name: "score", value: (row: Row) => row.score, show: (row: Row) => signed(row.score ?? NaN, 3) };
  return [
    { name: "query", value: (row) => row.query, show: (row) => token(row.query, row.i) },
    { name: "query_index", value: (row) => row.i, copied: true },
    { name: "key", value: (row) => row.key, show: (row) => token(row.key, row.j) },
    { name: "key_index", value: (row) => row.j, copied: true },
    ...(rows.some((row) => row.score !== null) ? [score] : []),
    { name: column, label: symbol, value: (row) => row.value, show: (row) => text(row.value) },
  ];
}

export function TableTab() {
  const view = useView();
  const { tableOf } = view.page;
  const panes = view.synced.parts.value;
  const hasBoth = panes.includes("atlas") && panes.includes("head");
  const ofAtlas = isOfAtlas(view);
  return (
    <div data-testid="table">
      {hasBoth && (
        <div class="bl-controls">
          <Segmented<"head" | "atlas">
            label="of"
            value={ofAtlas ? "atlas" : "head"}
            choices={[
              { value: "head", label: "Head view", title: "What the head shown gives each key" },
              { value: "atlas", label: "Atlas", title: "Every head with its statistics" },
            ]}
            onChange={into(tableOf)}
          />
        </div>
      )}
      {ofAtlas ? <AtlasTable /> : <CellTable />}
    </div>
  );
}

/** Whether the table is of all heads: where there is an atlas, and it is asked for or there is nothing else. */
const isOfAtlas = ({ page, synced }: View): boolean =>
  synced.parts.value.includes("atlas") && (page.tableOf.value === "atlas" || !synced.parts.value.includes("head"));

function CellTable() {
  const view = useView();
  const isKnown = useSwept(view.grid.values, view.row === null);
  const { rows, total } = useMemo(() => rowsOf(view), [view.shownHead, view.grid, view.row, isKnown]);
  const { name, symbol } = currentScale(view);
  const largest = symbol === "α" ? "largest weights" : `largest ${symbol}`;
  return (
    <Table
      title={`${name}: ${view.row === null ? largest : "the pinned query"}`}
      about={
        rows.length < total
          ? `the ${rows.length} largest of ${counted(total)} cells${isKnown || view.row !== null ? "" : ", once all rows are computed"}`
          : `${counted(rows.length)} cells`
      }
      columns={columnsOf(view, rows)}
      rows={rows}
    />
  );
}

/** The table as it is copied. */
export function tableNumbers(view: View): Numbers | Promise<Numbers> {
  if (isOfAtlas(view)) return atlasNumbers(view);
  const { rows } = rowsOf(view);
  return { ...tableCells(columnsOf(view, rows), rows), facts: [["table", currentScale(view).title]] };
}
