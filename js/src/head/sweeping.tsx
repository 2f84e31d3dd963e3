// How far the rows of a long map have been computed, where that is waited for.
import { counted } from "../paint/format";
import { useView } from "../state/view";
import { useSwept } from "./swept";

/** Beside a list that needs every row: of the mean query, or of a key where a cell needs its whole row. */
export function Sweeping() {
  const { grid, row, col } = useView();
  const { values } = grid;
  const isKnown = useSwept(values, row === null);
  const isWanted = row === null && (col === null || values.whole);
  return !isKnown && isWanted ? <p class="bl-muted">computing all {counted(grid.rows.length)} rows …</p> : null;
}
