// Table: the numbers of the view as a real table, for reading, copying and screen readers.
import { scores } from "../compute/attention";
import { CopyButton } from "../parts/copy";
import { share, signed } from "../parts/format";
import { Token } from "../parts/token";
import { headLabel } from "../state/store";
import { useView, type View } from "./context";

const MOST = 100;

interface TableRow {
  query: string;
  key: string;
  queryIndex: number;
  keyIndex: number;
  score: number | null;
  weight: number;
}

/** The pinned row entirely, or the largest cells of the head. */
export function tableRows(view: View): { rows: TableRow[]; of: number } {
  const { store, display } = view;
  const { slice } = store.shown.value;
  const { rows, cols, values } = display.grid.value;
  const pinned = display.row.value;
  const K = cols.length;
  const cells = (pinned === null ? Array.from(values.keys()) : cols.map((_, j) => pinned * K + j)).sort(
    (a, b) => values[b]! - values[a]! || a - b,
  );
  const chosen = cells.slice(0, MOST);
  const points = new Map<number, Float64Array>();
  const pieces = store.synced.units.value === "pieces" && slice.q;
  return {
    of: cells.length,
    rows: chosen.map((cell) => {
      const [row, col] = [rows[Math.floor(cell / K)]!, cols[cell % K]!];
      const i = row.pieces[0]!;
      if (pieces && !points.has(i)) points.set(i, scores(slice, i));
      return {
        query: row.label,
        key: col.label,
        queryIndex: i,
        keyIndex: col.pieces[0]!,
        score: pieces ? points.get(i)![col.pieces[0]!]! : null,
        weight: values[cell]!,
      };
    }),
  };
}

export function Table() {
  const view = useView();
  const { layer, head } = view.store.shown.value;
  const { rows, of } = tableRows(view);
  const pinned = view.display.row.value !== null;
  const hasScores = rows.some((r) => r.score !== null);
  const title = `${headLabel(layer, head)}: ${pinned ? "the pinned query" : "largest weights"}`;
  const copied = () => [
    ["query", "query_index", "key", "key_index", ...(hasScores ? ["score"] : []), "attention"],
    ...rows.map((r) => [r.query, r.queryIndex, r.key, r.keyIndex, ...(hasScores ? [r.score] : []), r.weight]),
  ];
  return (
    <div class="bl-table" data-testid="table">
      <header class="bl-panel-head">
        <h3>{title}</h3>
        <span class="bl-muted">
          {rows.length < of ? `the ${rows.length} largest of ${of} cells` : `${rows.length} cells`}
        </span>
        <CopyButton rows={copied} />
      </header>
      <div class="bl-scroll bl-table-scroll">
        <table>
          <caption class="bl-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col">query</th>
              <th scope="col">key</th>
              {hasScores && <th scope="col">score</th>}
              <th scope="col">α</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={`${r.queryIndex}-${r.keyIndex}`}>
                <td>
                  <Token text={r.query} /> <span class="bl-muted bl-number">{r.queryIndex}</span>
                </td>
                <td>
                  <Token text={r.key} /> <span class="bl-muted bl-number">{r.keyIndex}</span>
                </td>
                {hasScores && <td class="bl-number">{r.score === null ? "" : signed(r.score, 3)}</td>}
                <td class="bl-number">{share(r.weight)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
