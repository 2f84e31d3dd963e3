// A picture as the table that it was drawn from: every chart has one, and one switch shows them all instead of charts.
import { createContext } from "preact";
import { largest } from "../compute/largest";
import type { CsvCell, Facts } from "../export/csv";
import { counted, signed } from "../paint/format";
import { type Column, Table } from "./table";
import { tokenText } from "./token";

/** What a picture shows, as rows; the first column names the row. */
export interface Figures {
  columns: string[];
  rows: CsvCell[][];
  about?: string;
}

/** A table for a file, and what is to be said of it beside where it comes from. */
export interface Numbers extends Figures {
  facts?: Facts;
}

/** Whether pictures are shown as tables. */
export const AsTables = createContext(false);

const MOST_ROWS = 500;
const MOST_CELLS = 2500; // of a map that is written out; of a larger one the largest values
const LARGEST = 100;

const cellText = (value: CsvCell): CsvCell => {
  if (typeof value === "string") return tokenText(value);
  return typeof value === "number" && !Number.isInteger(value) ? signed(value, 3) : value;
};

/** Columns of rows of cells. */
export const cellColumns = (names: string[]): Column<CsvCell[]>[] =>
  names.map((name, n) => ({ name, value: (row) => row[n]!, show: (row) => cellText(row[n]!) }));

export function PictureTable({ title, table }: { title: string; table: () => Figures }) {
  const { columns, rows, about } = table();
  const cut = rows.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${rows.length} rows` : "";
  return (
    <Table<CsvCell[]>
      bare
      title={title}
      about={[about, cut].filter(Boolean).join("; ")}
      columns={cellColumns(columns)}
      rows={rows.slice(0, MOST_ROWS)}
    />
  );
}

/** Names that come again get their place, so that every column has a name of its own. */
export const distinct = (names: string[]): string[] =>
  names.map((name, n) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${n})`));

/** A heat map as rows and columns; of one with too many cells the largest, each with its row and column. */
export function mapTable(rows: string[], cols: string[], values: ArrayLike<number>): Figures {
  const [down, across] = [distinct(rows), distinct(cols)];
  const row = (r: number) => across.map((_, c) => values[r * cols.length + c]!);
  if (values.length <= MOST_CELLS)
    return { columns: ["row", ...across], rows: down.map((name, r) => [name, ...row(r)]) };
  const cell = (n: number) => [down[Math.floor(n / cols.length)]!, across[n % cols.length]!, values[n]!];
  return {
    columns: ["row", "column", "value"],
    rows: largest(values, LARGEST).positions.map(cell),
    about: `the ${LARGEST} largest of ${counted(values.length)} cells`,
  };
}
