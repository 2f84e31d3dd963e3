// The tables of a retrieval: how good, what changed, kinds of failures beside chance, hubs, slices. Copied, or as CSV.
import type { ComponentChildren } from "preact";
import { csv, type Facts } from "../export/csv";
import { download, fileName } from "../export/download";
import type { SearchOverview, SheetTable, SheetTables } from "../generated/answers";
import { counted, number } from "../paint/format";
import { Button } from "../parts/controls";
import { type Column, Table, tableCells } from "../parts/table";
import type { Row, SheetRows } from "./shapes";
import { useSearch } from "./state";

type Show = "text" | "count" | "turn" | number; // digits
type Spec = [key: string, label: string, show: Show, ends?: [low: string, high: string]];

const P: Spec = ["p_holm", "p, Holm", 3];
export const SPECS: Record<string, Spec[]> = {
  quality: [
    ["measure", "measure", "text"],
    ["mean", "mean", 3],
    ["interval", "95 %", 3, ["low", "high"]],
    ["bm25", "BM25", 3],
    ["difference", "difference", 3],
    ["difference_interval", "95 %", 3, ["difference_low", "difference_high"]],
    ["n", "questions", "count"],
    ["about", "what it is", "text"],
  ],
  before: [
    ["measure", "measure", "text"],
    ["before", "before", 3],
    ["now", "now", 3],
    ["difference", "difference", 3],
    ["interval", "95 %, Holm", 3, ["low", "high"]],
    ["p", "p, Holm", 3],
    ["n", "questions", "count"],
  ],
  kinds: [
    ["kind", "kind", "text"],
    ["n", "failures", "count"],
    ["share", "share", 3],
    ["interval", "95 %", 3, ["low", "high"]],
    ["chance", "by chance", 3],
    P,
    ["answered", "where it is right", 3],
    ["rule", "rule", "text"],
  ],
  hubs: [
    ["passage", "passage", "text"],
    ["times", "times among ten", "count"],
    ["chance", "by chance", 1],
    P,
    ["text", "text", "text"],
  ],
  turns: [
    ["query", "question", "text"],
    ["word", "word that is named", "text"],
    ["turned", "the order", "turn"],
    ["random", "random words", 3],
    ["frequent", "as frequent", 3],
  ],
  slices: [
    ["kind", "questions by", "text"],
    ["slice", "slice", "text"],
    ["n", "n", "count"],
    ["mean", "mean", 3],
    ["interval", "95 %", 3, ["low", "high"]],
    ["outside", "others", 3],
    ["difference", "difference", 3],
    ["difference_interval", "95 %, Holm", 3, ["difference_low", "difference_high"]],
    ["p", "p, Holm", 3],
  ],
};

const asNumber = (row: Row, key: string): number | null => (typeof row[key] === "number" ? (row[key] as number) : null);

function shown(row: Row, [key, , show, ends]: Spec): string {
  if (ends) {
    const [low, high] = ends.map((end) => asNumber(row, end));
    return low == null || high == null ? "–" : `${number(low, 3)} to ${number(high, 3)}`;
  }
  if (show === "text") return String(row[key] ?? "").replaceAll(key === "kind" ? "_" : "\0", " ");
  if (show === "turn") return row[key] ? "turns" : "stays";
  const cell = asNumber(row, key);
  if (cell === null) return "–";
  return show === "count" ? counted(cell) : number(cell, show);
}

/** The columns of a table: those that its rows have. */
export function columnsOf(name: string, rows: Row[]): Column<Row>[] {
  const has = (key: string) => rows.some((row) => key in row);
  return SPECS[name]!.filter(([key, , , ends]) => has(ends ? ends[0] : key)).flatMap((spec): Column<Row>[] => {
    const [key, label, show, ends] = spec;
    const cellOf = (of: string) => (row: Row) =>
      show === "text" || show === "turn" ? String(row[of] ?? "") : (asNumber(row, of) ?? Number.NaN);
    const column = {
      name: ends?.[0] ?? key,
      label,
      value: cellOf(ends?.[0] ?? key),
      show: (row: Row) => shown(row, spec),
    };
    return ends ? [column, { name: ends[1], value: cellOf(ends[1]), copied: true }] : [column];
  });
}

/** A table as a file: numbers in full, an interval as its two ends. */
export const tableCsv = (overview: SearchOverview, name: string, sheet: SheetTable): string =>
  sheetCsv(overview, sheet, columnsOf(name, sheet.rows));

function sheetCsv<R>(overview: SearchOverview, sheet: SheetRows<R>, shown: Column<R>[]): string {
  const facts: Facts = [
    ["model", overview.model],
    ["questions", counted(overview.questions.query.length)],
    ["passages", counted(overview.passages)],
    ["table", sheet.said],
    ["date", overview.date],
  ];
  const { columns, rows } = tableCells(shown, sheet.rows);
  return csv(
    facts,
    columns,
    rows.map((row) => row.map((cell) => (Number.isNaN(cell) ? null : cell))),
  );
}

interface SheetProps<R> {
  name: string;
  title: string;
  sheet: SheetRows<R>;
}

export const Sheet = (props: SheetProps<Row>) => (
  <SheetOf {...props} columns={columnsOf(props.name, props.sheet.rows)} />
);

/** What a table says, a picture of it where there is one, the table, its file. */
export function SheetOf<R>(props: SheetProps<R> & { columns: Column<R>[]; children?: ComponentChildren }) {
  const { name, title, sheet, columns, children } = props;
  const { overview } = useSearch();
  const save = () =>
    download(
      fileName(["bertlens", overview.model.split("/").at(-1)!, name], "csv"),
      sheetCsv(overview, sheet, columns),
    );
  return (
    <div class="bl-sheet" data-testid={`table-${name}`}>
      <p class="bl-sheet-said">{sheet.said}</p>
      {children}
      {sheet.rows.length > 0 && <Table<R> bare {...{ title, columns }} about={sheet.about} rows={sheet.rows} />}
      {sheet.rows.length > 0 && (
        <Button class="bl-button" onClick={save}>
          CSV
        </Button>
      )}
    </div>
  );
}

/** All failures: which kinds there are more of than chance has. */
export function Kinds() {
  const { overview } = useSearch();
  const about =
    "By chance: the share, were the right passages those of another question; of hubs, that of all questions with a hub first. " +
    "Where it is right: the share of questions with a right document first for which the rule holds, too.";
  return <Sheet name="kinds" title="Kinds of failures" sheet={{ said: overview.said, about, rows: overview.kinds }} />;
}

const TITLES = { quality: "Measures", before: "Before and now", hubs: "Hubs", slices: "Slices of questions" };

export function TableOf({ name }: { name: keyof SheetTables }) {
  const answer = useSearch().get("search_tables", {});
  if (answer.state !== "answered")
    return <p class="bl-empty">{answer.state === "refused" ? answer.reason : "counting …"}</p>;
  const sheet = answer.value[name];
  return sheet ? <Sheet name={name} title={TITLES[name]} sheet={sheet} /> : <p class="bl-empty">{NONE}</p>;
}

const NONE = "No question has a relevant document: there is nothing to measure by.";
