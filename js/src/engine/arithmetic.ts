// Functions of numbers that a pass is made of.

/** A table of all numbers of 16 bits (IEEE 754 binary16), by their bits. */
export function halves(): Float32Array {
  const table = new Float32Array(65_536);
  for (let bits = 0; bits < 65_536; bits++) {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
    table[bits] = bits & 0x8000 ? -size : size;
  }
  return table;
}

/** erf(x) to 1.2e-7: Press et al., Numerical Recipes, 6.2.2. */
export function erf(x: number): number {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  let sum = 0;
  for (const c of ERFC) sum = c + t * sum;
  const tail = t * Math.exp(-x * x + sum);
  return x >= 0 ? 1 - tail : tail - 1;
}
/** Of powers of t, the highest first; simd.wat has them too. */
const ERFC = [
  ...[0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368],
  -1.26551223,
];

/** Functions of single numbers that models use, by the names of bertlens/export/page_weights.py. */
const ACTIVATIONS = {
  gelu: (x: number) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  relu: (x: number) => Math.max(0, x),
  silu: (x: number) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
};
export type Activation = keyof typeof ACTIVATIONS;

/** In place. */
export function activate(name: Activation, values: Float32Array | Float64Array): void {
  const of = ACTIVATIONS[name];
  for (let n = 0; n < values.length; n++) values[n] = of(values[n]!);
}

/** Of a LayerNorm. */
export interface Norm {
  scale: Float32Array;
  shift: Float32Array;
}

/** Each row of x + its own in `added` scaled to mean 0 and variance 1, then by scale and shift, in place; gives what each
 * row was scaled by, 1/s. */
export function addAndNorm(
  x: Float32Array,
  added: Float32Array | null,
  { scale, shift }: Norm,
  epsilon: number,
): Float64Array {
  const width = scale.length;
  const inverses = new Float64Array(x.length / width);
  for (let start = 0; start < x.length; start += width) {
    let mean = 0;
    for (let i = start; i < start + width; i++) {
      if (added) x[i]! += added[i]!;
      mean += x[i]!;
    }
    mean /= width;
    let variance = 0;
    for (let i = start; i < start + width; i++) variance += (x[i]! - mean) ** 2;
    const by = 1 / Math.sqrt(variance / width + epsilon);
    for (let i = 0; i < width; i++) x[start + i] = (x[start + i]! - mean) * by * scale[i]! + shift[i]!;
    inverses[start / width] = by;
  }
  return inverses;
}

const entr = (p: number) => (p > 0 ? -p * Math.log(p) : 0);

/** What two shares add to the Jensen-Shannon divergence of theirs, nats. */
export const jsdTerm = (p: number, q: number): number => entr((p + q) / 2) - (entr(p) + entr(q)) / 2;
