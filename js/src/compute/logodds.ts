// Where a probability is near to 1, what moves it is seen in its log-odds. As strongest_heads.py.
import { SURE } from "../generated/vocabulary";

const FINEST = 1e-12; // of a probability from 1

/** ln p / (1 − p), of 1 itself that of the number next to it. */
export function logOdds(p: number): number {
  const inside = Math.max(FINEST, Math.min(1 - FINEST, p));
  return Math.log(inside / (1 - inside));
}

/** Whether a change of a number is told by its log-odds. */
export const isSure = (unit: string, value: number): boolean => unit === "probability" && value > SURE;

/** The change of a number, of a probability that is near to 1 that of its log-odds. */
export const toldChange = (unit: string, before: number, change: number): number =>
  isSure(unit, before) ? logOdds(before + change) - logOdds(before) : change;
