// Numbers as CSV (RFC 4180), with where they come from in '#' lines above: pandas.read_csv(path, comment="#") reads it.
// As bertlens/export/arrays.py writes it: text is always quoted, and an apostrophe stands before what a spreadsheet would
// take for a formula, at the beginning or where one of its separators has a cell begin.
import * as phrases from "../generated/phrases";
import { inert } from "./inert";

export type Facts = [name: string, value: string][];
export type CsvCell = string | number | null;

/** The name of a column as programs like it: small letters, digits and "_", whatever the page calls it. */
export const columnName = (label: string): string =>
  label
    .toLowerCase()
    .replaceAll("‖αf(x)‖", "norm")
    .replaceAll("α", "weight")
    .replaceAll("−", " minus ")
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "");

/** `facts` become comment lines; null becomes an empty field. */
export function csv(facts: Facts, columns: string[], rows: Iterable<readonly CsvCell[]>): string {
  const comments = [...facts, ["note", phrases.SPREADSHEET_NOTE]].map(
    ([name, value]) => `# ${name}: ${inert(oneLine(value!))}`,
  );
  const lines = [...comments, columns.map((label) => field(columnName(label))).join(",")];
  for (const row of rows) lines.push(row.map(field).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function field(cell: CsvCell): string {
  if (cell === null) return "";
  return typeof cell === "number" ? numberText(cell) : `"${inert(cell).replaceAll('"', '""')}"`;
}

/** Shortest decimal that gives back the number: as float32 where it is one, else as float64. */
export function numberText(value: number): string {
  if (!Number.isFinite(value) || Math.fround(value) !== value) return String(value);
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

const oneLine = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\r", "\\r").replaceAll("\n", "\\n");
