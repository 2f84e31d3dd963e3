// The line at the foot that says what is selected. Every number in it is one that the picture shows.
import { cellWords, howWords, mostWords } from "../head/cellwords";
import { shadesOf } from "../head/running";
import { useView, type View } from "../state/view";

/** What is selected in the picture; where nothing is, how it is read. */
export function statusText(view: View): string {
  const { row, col, grid } = view;
  if (grid.rows.length * grid.cols.length === 0) return "No tokens are left to show.";
  if (row !== null && col !== null) return cellWords(view, row, col);
  if (row !== null || col !== null) return mostWords(view, shadesOf(view, row === null)!);
  return howWords(view);
}

export function StatusLine() {
  const view = useView();
  if (!view.page.explain.value) return null;
  return (
    <p class="bl-seeing" data-testid="seeing">
      {statusText(view)}
    </p>
  );
}
