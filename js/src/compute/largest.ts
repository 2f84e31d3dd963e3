// The largest of many values without sorting them all: maps have a cell for every pair of tokens.

/**
 * Positions of the `most` values of largest size, the largest first and equal ones in order; what is below `minimum` or
 * not a number is left out. `passed` counts all that reach the minimum.
 */
export function largest(values: ArrayLike<number>, most: number, minimum = 0): { positions: number[]; passed: number } {
  const sizes = new Float64Array(values.length);
  let passed = 0;
  for (let n = 0; n < values.length; n++) {
    const size = Math.abs(values[n]!);
    if (size >= minimum) sizes[passed++] = size;
  }
  const limit = passed > most ? nth(sizes.subarray(0, passed), most - 1) : minimum;
  const above: number[] = [];
  const equal: number[] = [];
  for (let n = 0; n < values.length; n++) {
    const size = Math.abs(values[n]!);
    if (size > limit) above.push(n);
    else if (size === limit && equal.length < most) equal.push(n);
  }
  const bySize = (a: number, b: number) => Math.abs(values[b]!) - Math.abs(values[a]!) || a - b;
  return { positions: [...above.sort(bySize), ...equal].slice(0, most), passed };
}

/** The largest size of some numbers; what is not a number is left out. */
export const largestSize = (values: Iterable<number>): number => {
  let peak = 0;
  for (const value of values) peak = Math.max(peak, Math.abs(value) || 0);
  return peak;
};

/** The n-th largest value, 0 the largest; the values change places (Hoare's selection). */
function nth(values: Float64Array, n: number): number {
  let [from, to] = [0, values.length - 1];
  while (from < to) {
    const pivot = values[(from + to) >> 1]!;
    let [left, right] = [from, to];
    while (left <= right) {
      while (values[left]! > pivot) left++;
      while (values[right]! < pivot) right--;
      if (left > right) break;
      [values[left], values[right]] = [values[right]!, values[left]!];
      left++;
      right--;
    }
    if (n <= right) to = right;
    else if (n >= left) from = left;
    else break;
  }
  return values[n]!;
}
