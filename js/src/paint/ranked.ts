// Numbers in an order as text: bertlens/base/ranking.py has the same in Python.
import { FINEST_DECIMALS } from "../generated/vocabulary";
import { signed } from "./format";

/**
 * Whether a number reads 0 to six decimals, or a difference of numbers as large as `beside` is so small a part of them:
 * it is not said to be the most of anything. So is NaN.
 */
export const isNothing = (value: number, beside = 1): boolean =>
  !(Math.abs(value) >= 0.5 * 10 ** -FINEST_DECIMALS * Math.max(1, Math.abs(beside)));

/** Numbers in an order: with as many decimals as tell neighbours apart and the first from 0; "less than" what reads 0. */
export function ranked(values: number[], digits = 3): string[] {
  const text = (n: number, decimals: number) => signed(values[n] ?? 0, decimals);
  const isZero = (n: number) => Number(text(n, digits)) === 0;
  const areAlike = (n: number, decimals: number) => text(n, decimals) === text(n - 1, decimals);
  const isBlurred = (n: number) => (n === 0 || !isZero(n)) && areAlike(n, digits) && !areAlike(n, FINEST_DECIMALS);
  while (values.some((_, n) => isBlurred(n))) digits++;
  const bound = `less than ${(10 ** -digits).toFixed(digits)}`;
  return values.map((value, n) => (value && isZero(n) ? bound : text(n, digits)));
}
