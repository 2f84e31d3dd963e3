// The line at the foot that says what is selected, in words. Every number in it is one that the picture shows.
import { visible } from "../compute/attention";
import { MEASURES } from "../generated/vocabulary";
import { Present } from "../head/present";
import { shadesInWords, shadesOf } from "../head/running";
import { currentScale } from "../head/scale";
import { largestCells } from "../head/swept";
import { counted, upTo } from "../paint/format";
import { into } from "../parts/controls";
import { tokenText } from "../parts/token";
import { renormalized } from "../state/display";
import { useView, type View } from "../state/view";

const HOW = {
  matrix: "Rows look (queries), columns are looked at (keys); a cell is the",
  lines: "Left looks (queries), right is looked at (keys); a line is the",
  text: "A token’s shade is the",
};

/** A cell among those of its row, and for weights what an even row would have there. */
function cellWords(view: View, row: number, col: number): string {
  const { grid, shown, synced } = view;
  const { rows, cols, values } = grid;
  const scale = currentScale(view);
  const [query, key] = [rows[row]!, cols[col]!];
  const own = values.row(row);
  const size = Math.abs(own[col]!);
  const rank = 1 + own.filter((one) => Math.abs(one) > size).length;
  const sees = (j: number) => visible(shown.slice, query.pieces[0]!, j);
  const seen = upTo(shown.slice.K).filter(sees).length;
  const isWeight = scale.symbol === "α" && !renormalized(synced, shown);
  const even = `; evenly over the ${counted(seen)} it sees: ${scale.text(key.pieces.filter(sees).length / seen)}`;
  const names = `“${tokenText(query.label)}” → “${tokenText(key.label)}”`;
  return `${names} ${scale.text(own[col]!)}, place ${counted(rank)} of ${counted(cols.length)} in its row${isWeight ? even : ""}`;
}

/** What is selected in the picture; where nothing is, how it is read and its largest cell. */
export function statusText(view: View): string {
  const { row, col, grid, synced, shown } = view;
  const scale = currentScale(view);
  const { rows, cols, values } = grid;
  if (rows.length * cols.length === 0) return "No tokens are left to show.";
  if (row !== null && col !== null) return `${cellWords(view, row, col)}.`;
  if (row !== null || col !== null) return `${shadesInWords(view, shadesOf(view, row === null)!)}.`;
  const how = `${HOW[synced.mode.value]} ${scale.title}.`;
  const at = largestCells(values, 1)?.[0];
  const first = at !== undefined && ` The largest: ${cellWords(view, Math.floor(at / cols.length), at % cols.length)}.`;
  return `${how}${shown.layerMap ? "" : ` ${MEASURES[shown.measure].about}`}${first || ""}`;
}

/** The line, which can be turned off, and the way to present mode. */
export function StatusLine() {
  const view = useView();
  const { explain } = view.page;
  return (
    <div class={explain.value ? "bl-seeing bl-on" : "bl-seeing"}>
      {explain.value && <span data-testid="seeing">{statusText(view)}</span>}
      <button type="button" class="bl-link" aria-pressed={explain.value} onClick={() => into(explain)(!explain.value)}>
        What am I seeing?
      </button>
      <Present />
    </div>
  );
}
