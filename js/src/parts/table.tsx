// The one table: row headers, a caption, a copy button; columns sort by a click on their header where that is wanted.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { sorted } from "../compute/sorted";
import { number } from "../paint/format";
import { Button } from "./controls";
import { CopyButton } from "./copy";
import { Section } from "./section";

export interface Column<Row> {
  name: string; // also above the column, unless there is a label
  label?: ComponentChildren;
  title?: string;
  value: (row: Row) => number | string | null;
  show?: (row: Row) => ComponentChildren; // default: the value
  copied?: boolean; // is only copied, not shown
}

/** A column of numbers with so many digits. */
export const numbers = <Row,>(
  name: string,
  value: (row: Row) => number | null | undefined,
  { title, digits, label }: { title?: string; digits?: number; label?: string } = {},
): Column<Row> => ({
  name,
  label,
  title,
  value: (row) => value(row) ?? Number.NaN,
  show: (row) => number(value(row), digits),
});

/** A table as it is copied and written to a file. */
export const tableCells = <Row,>(columns: Column<Row>[], rows: Row[]) => ({
  columns: columns.map(({ name }) => name),
  rows: rows.map((row) => columns.map(({ value }) => value(row))),
});

const FIRST_ROWS = 40; // rows of a long table that sorts, until it is scrolled: laying out hundreds takes longer than sorting them

type Order = { name: string; down: boolean };

export function Table<Row>(props: {
  title: string;
  about?: ComponentChildren;
  class?: string;
  bare?: boolean; // stands under a heading that says what it is
  columns: Column<Row>[];
  rows: Row[];
  first?: string; // the column that it is sorted by at the start; without one it does not sort
  pinned?: (row: Row) => boolean;
}) {
  const { title, columns, pinned } = props;
  const [order, setOrder] = useState<Order | null>(props.first ? { name: props.first, down: true } : null);
  const atFirst = props.rows.length > 2 * FIRST_ROWS ? FIRST_ROWS : 2 * FIRST_ROWS;
  const [limit, setLimit] = useState(atFirst);
  const by = columns.find(({ name }) => name === order?.name);
  const places = props.rows.map((_, n) => n);
  const ordered = by ? sorted(places, (n) => by.value(props.rows[n]!), order!.down) : places;
  const visible = columns.filter(({ copied }) => !copied);
  const copied = () => {
    const inOrder = ordered.map((n) => props.rows[n]!);
    const cells = tableCells(columns, inOrder);
    return [cells.columns, ...cells.rows];
  };
  const cell = (row: Row, { name, value, show = value }: Column<Row>, n: number) =>
    n === 0 ? (
      <th scope="row" key={name}>
        {show(row)}
      </th>
    ) : (
      <td key={name} class={typeof value(row) === "number" ? "bl-number" : ""}>
        {show(row)}
      </td>
    );
  // another order moves the lines that there are
  const lines = useMemo(
    () =>
      props.rows.map((row, n) => (
        <tr key={n} class={pinned?.(row) ? "bl-pinned" : ""}>
          {visible.map((column, c) => cell(row, column, c))}
        </tr>
      )),
    [props.rows, columns, pinned],
  );
  const grow = ({ currentTarget: box }: { currentTarget: HTMLElement }) => {
    if (box.scrollTop + 2 * box.clientHeight > box.scrollHeight) setLimit(limit + FIRST_ROWS);
  };
  const body = (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <div class="bl-scroll bl-table-scroll" role="region" aria-label={`${title}, table`} tabIndex={0} onScroll={grow}>
      <table aria-rowcount={ordered.length + 1}>
        <caption class={props.bare ? "bl-muted" : "bl-hidden"}>{title}</caption>
        <thead>
          <tr>
            {visible.map((column) => (
              <Head
                key={column.name}
                column={column}
                order={order}
                onOrder={(next) => {
                  setOrder(next);
                  setLimit(atFirst);
                }}
              />
            ))}
          </tr>
        </thead>
        <tbody>{(by ? ordered.slice(0, limit) : ordered).map((n) => lines[n]!)}</tbody>
      </table>
    </div>
  );
  if (props.bare)
    return (
      <div class="bl-bare-table">
        {body}
        <p class="bl-muted">
          {props.about} <CopyButton rows={copied} />
        </p>
      </div>
    );
  return (
    <Section title={title} about={props.about} class={props.class} aside={<CopyButton rows={copied} />}>
      {body}
    </Section>
  );
}

interface HeadProps<Row> {
  column: Column<Row>;
  order: Order | null;
  onOrder: (order: Order) => void;
}

/** A column's header; where there is an order, a click sorts by it, another one the other way round. */
function Head<Row>({ column: { name, label = name, title }, order, onOrder }: HeadProps<Row>) {
  const isSorted = order?.name === name;
  return (
    <th scope="col" title={title} aria-sort={isSorted ? (order.down ? "descending" : "ascending") : undefined}>
      {order ? (
        <Button class="bl-sort" onClick={() => onOrder({ name, down: isSorted ? !order.down : true })}>
          {label}
          <span aria-hidden="true">{isSorted ? (order.down ? " ▾" : " ▴") : ""}</span>
        </Button>
      ) : title ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: focus shows what the pointer shows
        <span class="bl-term" tabIndex={0}>
          {label}
        </span>
      ) : (
        label
      )}
    </th>
  );
}
