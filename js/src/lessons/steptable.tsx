// A table that a step carries, such as of a survey: texts only, as they are.
import type { Table } from "../state/lesson";

const isNumber = (cell: string) => /^[\d.,– ]+$/.test(cell);

export function Sheet({ table: { columns, rows } }: { table: Table }) {
  return (
    <div class="bl-lesson-sheet">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...cells], n) => (
            <tr key={n}>
              <th scope="row">{first}</th>
              {cells.map((cell, at) => (
                <td key={at} class={isNumber(cell) ? "bl-lesson-number" : ""}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
