// A table whose columns sort: a click on a header, again for the other way round. What is shown can be copied.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "./copy";

export interface Column<Row> {
  name: string;
  title?: string;
  value: (row: Row) => number | string;
  show?: (row: Row) => ComponentChildren; // default: the value
}

/** NaN comes last in both directions. */
export function sorted<Row>(rows: Row[], value: (row: Row) => number | string, down: boolean): Row[] {
  const sign = down ? -1 : 1;
  const absent = (v: number | string) => typeof v === "number" && Number.isNaN(v);
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y));
    return sign * (typeof x === "string" ? x.localeCompare(String(y), "en", { numeric: true }) : x - (y as number));
  });
}

export function Sortable<Row>(props: {
  title: string;
  about: ComponentChildren;
  columns: Column<Row>[];
  rows: Row[];
  first: string; // the column that it is sorted by at the start
  pinned: (row: Row) => boolean;
}) {
  const { title, about, columns, rows, pinned } = props;
  const [order, setOrder] = useState<{ name: string; down: boolean } | null>(null);
  const { name, down } = order ?? { name: props.first, down: true };
  const by = columns.find((column) => column.name === name) ?? columns[0]!;
  const shown = sorted(rows, by.value, down);
  const copied = () => [columns.map((c) => c.name), ...shown.map((row) => columns.map((c) => c.value(row)))];
  return (
    <section>
      <header class="bl-panel-head">
        <h3>{title}</h3>
        <span class="bl-muted">{about}</span>
        <CopyButton rows={copied} />
      </header>
      <div class="bl-scroll bl-table-scroll">
        <table>
          <caption class="bl-hidden">{title}</caption>
          <thead>
            <tr>
              {columns.map((column) => {
                const chosen = column === by;
                return (
                  <th
                    scope="col"
                    key={column.name}
                    title={column.title}
                    aria-sort={chosen ? (down ? "descending" : "ascending") : undefined}
                  >
                    <button
                      type="button"
                      class="bl-sort"
                      onClick={() => setOrder({ name: column.name, down: chosen ? !down : true })}
                    >
                      {column.name}
                      <span aria-hidden="true">{chosen ? (down ? " ▾" : " ▴") : ""}</span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={columns[0]!.value(row)} class={pinned(row) ? "bl-pinned" : ""}>
                {columns.map(({ name, value, show }) => (
                  <td key={name} class={typeof value(row) === "number" ? "bl-number" : ""}>
                    {show ? show(row) : value(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
