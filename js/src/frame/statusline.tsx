// The line at the foot that says what is selected. Every number in it is one that the picture shows.
import { cellWords, howWords, mostWords } from "../head/cellwords";
import { Present } from "../head/present";
import { shadesOf } from "../head/running";
import { into } from "../parts/controls";
import { useView, type View } from "../state/view";

/** What is selected in the picture; where nothing is, how it is read. */
export function statusText(view: View): string {
  const { row, col, grid } = view;
  if (grid.rows.length * grid.cols.length === 0) return "No tokens are left to show.";
  if (row !== null && col !== null) return cellWords(view, row, col);
  if (row !== null || col !== null) return mostWords(view, shadesOf(view, row === null)!);
  return howWords(view);
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
