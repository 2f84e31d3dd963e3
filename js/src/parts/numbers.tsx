// A plain table of numbers, one row of which may be pinned.
import { signed } from "./format";

/** A number for a table; a dash for none. */
export const number = (value: number | null | undefined, digits = 2) =>
  value == null || Number.isNaN(value) ? "–" : signed(value, digits);

export function Numbers({ head, rows, pinned }: { head: string[]; rows: string[][]; pinned: number }) {
  return (
    <div class="bl-scroll bl-table-scroll">
      <table>
        <thead>
          <tr>
            {head.map((name, n) => (
              <th scope="col" key={n}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={row[0]} class={n === pinned ? "bl-pinned" : ""}>
              {row.map((cell, c) => (
                <td key={c} class="bl-number">
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
