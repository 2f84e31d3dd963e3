// The body of a tab that was registered at run time: heat maps and tables, as its first question answers them.

import { useMemo } from "preact/hooks";
import type { CsvCell } from "../export/csv";
import { MISSING } from "../generated/vocabulary";
import { arrived, type Kind } from "../kernel/answers";
import { indexed } from "../paint/colormap";
import { signed } from "../paint/format";
import { coloursOf } from "../paint/palette";
import { HeatChart } from "../parts/heatchart";
import { Legend } from "../parts/legend";
import { cellColumns, type Numbers } from "../parts/picturetable";
import { Section, Waiting } from "../parts/section";
import { Table } from "../parts/table";
import type { Tab } from "../state/overview";
import { useAnswer } from "../state/useanswer";
import { useView, type View } from "../state/view";

const SIDE = 440; // px of the longer side

interface Part {
  title: string;
  remark: string;
  rows: string[];
  cols: string[];
  values?: Float32Array; // (rows·cols)
  table: { head: string[]; rows: CsvCell[][] }; // where there are no values
}

/** The question of a sheet: the first of its tab. */
const kindOf = ({ questions }: Tab): Kind<Part[]> => ({
  op: Object.keys(questions)[0]!,
  read: ({ fields, arrays }) =>
    (fields.sections as Part[]).map((part, n) => ({ ...part, values: arrays[`values${n}`]?.data as Float32Array })),
});

/** Layer and head of the selection, as far as the question takes them. */
const selectionFor = ({ questions }: Tab, { shownHead: { layer, head } }: View) =>
  Object.fromEntries(Object.entries({ layer, head }).filter(([name]) => Object.values(questions)[0]!.includes(name)));

export function Sheet({ tab }: { tab: Tab }) {
  const answer = useAnswer(kindOf(tab), selectionFor(tab, useView()));
  if (answer.state !== "answered") return <Waiting answer={answer} doing="computing" />;
  return (
    <div class="bl-norms" data-testid={`sheet-${tab.name}`}>
      {answer.value.map((part) =>
        part.values ? (
          <SheetMap key={part.title} {...part} values={part.values} />
        ) : (
          <Table<CsvCell[]>
            key={part.title}
            title={part.title}
            about={part.remark}
            columns={cellColumns(part.table.head)}
            rows={part.table.rows}
          />
        ),
      )}
    </div>
  );
}

function SheetMap({ title, remark, rows, cols, values }: Part & { values: Float32Array }) {
  const { dark } = useView();
  const [low, high] = useMemo(() => ends(values), [values]);
  const colours = coloursOf(low < 0, dark);
  const { entries, palette, hasNaN } = useMemo(() => indexed(values, low, high, colours), [values, colours]);
  const cell = Math.min(18, SIDE / Math.max(rows.length, cols.length, 1));
  return (
    <Section title={title} about={remark}>
      <HeatChart
        label={title}
        {...{ rows, cols, values, entries, palette, dark }}
        width={cell * cols.length}
        height={cell * rows.length}
      />
      <Legend
        low={signed(low, 3)}
        high={signed(high, 3)}
        label={hasNaN ? `${MISSING}: not a number` : ""}
        colours={colours}
      />
    </Section>
  );
}

/** Where the colours end: from nothing to the largest value, the same on both sides where some are negative. */
function ends(values: Float32Array): [low: number, high: number] {
  const low = values.reduce((least, value) => Math.min(least, value || 0), 0);
  const high = values.reduce((most, value) => Math.max(most, value || 0), 0);
  const peak = Math.max(-low, high) || 1;
  return [low < 0 ? -peak : 0, peak];
}

/** Every number of a sheet on a line of its own: its section, where it stands there, its value. */
export async function sheetNumbers(view: View, tab: Tab): Promise<Numbers> {
  const selection = selectionFor(tab, view);
  const sections = await arrived(() => view.answers.get(kindOf(tab), view.shownHead.overview, selection));
  const cells = ({ rows, cols, values, table }: Part): CsvCell[][] =>
    values
      ? rows.flatMap((row, r) => cols.map((col, c) => [row, col, values[r * cols.length + c]!]))
      : table.rows.flatMap((row, r) => row.map((value, c) => [r, table.head[c]!, value]));
  return {
    columns: ["section", "row", "column", "value"],
    rows: sections.flatMap((part) => cells(part).map((cell) => [part.title, ...cell])),
  };
}
