// Numbers of every head from the pinned query's row.
import type { Unit } from "../compute/grid";
import type { Measure } from "../generated/vocabulary";
import { renormalized } from "../state/headgrid";
import { entropyOf, rowsOf, unitValues, variationOf } from "../state/rows";
import type { View } from "../state/view";

/** "cell", "row" or "contrast" of every head by the measure shown; null until it is here. */
export function rowValue(
  view: View,
  name: string,
  query: Unit,
  measure: Measure,
): ((layer: number, head: number) => number) | null {
  const { overview, col, grid, synced, shownHead } = view;
  const answer = rowsOf(view, overview, query);
  if (answer.state === "asking") return null;
  if (answer.state === "refused") return () => Number.NaN;
  const K = overview.keyside.tokens.length;
  const scaled = renormalized(synced, shownHead);
  const { weight, norm, share } = answer.value;
  const shares = share ?? norm;
  const cell = (row: Float32Array) => unitValues(row, grid.cols, scaled)[col ?? -1] ?? Number.NaN;
  return (l, h) => {
    const at = (l * overview.n_heads + h) * K;
    const rowOf = (all: Float32Array | null) => all?.subarray(at, at + K) ?? new Float32Array(K).fill(Number.NaN);
    if (name === "contrast") return variationOf(rowOf(weight), rowOf(shares));
    if (measure === "difference" && name === "cell") return cell(rowOf(weight)) - cell(rowOf(shares));
    if (measure === "difference") return entropyOf(rowOf(weight)) - entropyOf(rowOf(shares));
    if (name === "cell") return cell(rowOf(measure === "norm" ? norm : weight));
    return entropyOf(rowOf(measure === "norm" ? shares : weight));
  };
}
