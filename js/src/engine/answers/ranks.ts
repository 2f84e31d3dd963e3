// Spearman's rank correlation, ties sharing their mean rank: bertlens/measures/ranks.py.
import { RHO_POINTS } from "../../generated/vocabulary";

function ranks(values: Float32Array): Float64Array {
  const sorted = values.slice().sort();
  /** How many are below a value, or not above it. */
  const count = (value: number, orEqual: boolean) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < value || (orEqual && sorted[middle] === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return Float64Array.from(values, (value) => (count(value, false) + count(value, true) + 1) / 2);
}

/** ρ in [-1, 1], NaN for fewer than three and where one side is constant. */
export function spearman(x: Float32Array, y: Float32Array): number {
  if (x.length < RHO_POINTS) return Number.NaN;
  const [a, b] = [ranks(x), ranks(y)];
  const mean = (a.length + 1) / 2;
  let [cross, squaresA, squaresB] = [0, 0, 0];
  for (let n = 0; n < a.length; n++) {
    const [p, q] = [a[n]! - mean, b[n]! - mean];
    cross += p * q;
    squaresA += p * p;
    squaresB += q * q;
  }
  const spread = Math.sqrt(squaresA * squaresB);
  return spread > 0 ? cross / spread : Number.NaN;
}
