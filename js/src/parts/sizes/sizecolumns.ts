// The table of layers or dimensions, in the columns that Python names.
import type { SizeFields, SizeRow } from "../../generated/answers";
import { number } from "../../paint/format";
import type { Column } from "../table";

const DIGITS = 3;

export const sizeColumns = ({ columns }: SizeFields): Column<SizeRow>[] =>
  columns.flatMap(({ name, label, high }, n) => {
    const cellOf = (key: string) => (row: SizeRow) => (row as Record<string, unknown>)[key] as number | null;
    const [from, to] = [cellOf(name), cellOf(high)];
    const show = (row: SizeRow) =>
      from(row) === null || !high
        ? number(from(row), DIGITS)
        : `${number(from(row), DIGITS)} to ${number(to(row), DIGITS)}`;
    const column = { name, label, value: (row: SizeRow) => from(row) ?? Number.NaN, ...(n > 0 && { show }) };
    return high ? [column, { name: high, value: to, copied: true }] : [column];
  });
