// What is known of all of a map: at once where it is held, after all rows have been computed where it is long.
import { useEffect } from "preact/hooks";
import { largest } from "../compute/largest";
import { emptySweep, type Sweep, sweep } from "../compute/sweep";
import type { Cells } from "../compute/windows";
import { inSlices } from "../state/idle";

const sweeps = new WeakMap<Cells, { state: Sweep; job: Iterator<void>; users: number; stop: () => void }>();

/** The sweep of a map as far as it is. */
export function sweepOf(cells: Cells): Sweep {
  if (!sweeps.has(cells)) {
    const state = emptySweep(cells);
    sweeps.set(cells, { state, job: sweep(cells, state), users: 0, stop: () => undefined });
  }
  return sweeps.get(cells)!.state;
}

/** Have all rows of a map computed while somebody needs it; the next one goes on where it stopped. */
export function sweeping(cells: Cells): () => void {
  sweepOf(cells);
  const entry = sweeps.get(cells)!;
  if (cells.swept.peek()) return () => undefined;
  if (entry.users++ === 0) entry.stop = inSlices(entry.job);
  let ended = false;
  return () => {
    if (!ended && --entry.users === 0) entry.stop();
    ended = true;
  };
}

/** Whether all of a map is known, which is seen to. */
export function useSwept(cells: Cells, wanted = true): boolean {
  const extent = cells.matrix || cells.swept.value;
  useEffect(() => (wanted && !cells.matrix ? sweeping(cells) : undefined), [cells, wanted]);
  return Boolean(extent);
}

/** Positions of the largest cells of all, null while they are not known. */
export const largestCells = ({ matrix, swept }: Cells, most: number): number[] | null =>
  matrix ? largest(matrix, most).positions : (swept.value?.largest.slice(0, most) ?? null);

export function useLargest(cells: Cells, most: number): number[] | null {
  useSwept(cells);
  return largestCells(cells, most);
}
