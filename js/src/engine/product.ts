// What a pass spends its time on, y = x wᵀ + b before all: by WebAssembly, or in plain JavaScript where a browser or a page's
// policy refuses it. Both work on one block of memory, whose parts are named by their first byte.
import { activate } from "./arithmetic";
import modules from "./simd.wat";

const PAGE = 65_536; // bytes that WebAssembly counts memory in

/** x (rows, n), w (outputs, n), b (outputs), y (rows, outputs): rows and n multiples of 4, outputs of 2; addresses of 16. */
type Multiply = (x: number, w: number, b: number, y: number, rows: number, n: number, outputs: number) => void;

/** Rows of numbers: where they begin, at a multiple of 16, and how many they are, a multiple of 4. */
export interface Product {
  memory: ArrayBuffer;
  multiply: Multiply;
  /** Scores become weights, e^((x − most) scale) ÷ their sum, 0 where a score is MASKED; gives ln Σ e^(x scale). */
  softmax(at: number, count: number, scale: number): number;
  /** ½ x (1 + erf(x / √2)), in place. */
  gelu(at: number, count: number): void;
  /** −Σ p ln p, nats. */
  entropy(at: number, count: number): number;
  fast: boolean; // by WebAssembly
}

/** A score of what is not seen. */
export const MASKED = -1e30;

/** What the module of simd.wat exports. */
interface Compiled {
  multiply: Multiply;
  largest(at: number, count: number): number;
  exponentials(at: number, count: number, scale: number, most: number): number;
  divided(at: number, count: number, by: number): void;
  gelu(at: number, count: number): void;
  entropy(at: number, count: number): number;
}

const sums = new Float64Array(8); // of a tile: four rows of x by two of w

function tile(floats: Float32Array, x0: number, x1: number, x2: number, x3: number, v0: number, v1: number, n: number) {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  for (let i = 0; i < n; i++) {
    const p = floats[v0 + i]!;
    const q = floats[v1 + i]!;
    a += floats[x0 + i]! * p;
    b += floats[x0 + i]! * q;
    c += floats[x1 + i]! * p;
    d += floats[x1 + i]! * q;
    e += floats[x2 + i]! * p;
    f += floats[x2 + i]! * q;
    g += floats[x3 + i]! * p;
    h += floats[x3 + i]! * q;
  }
  sums.set([a, b, c, d, e, f, g, h]);
}

export function plainProduct(bytes: number): Product {
  const memory = new ArrayBuffer(bytes);
  const floats = new Float32Array(memory);
  const multiply: Multiply = (...given) => {
    const [x, w, b, y] = given.map((address) => address / 4) as [number, number, number, number];
    const [rows, n, outputs] = given.slice(4) as [number, number, number];
    for (let o = 0; o < outputs; o += 2) {
      const v0 = w + o * n;
      const v1 = v0 + n;
      for (let row = 0; row < rows; row += 4) {
        const x0 = x + row * n;
        tile(floats, x0, x0 + n, x0 + 2 * n, x0 + 3 * n, v0, v1, n);
        for (let cell = 0; cell < sums.length; cell++)
          floats[y + (row + (cell >> 1)) * outputs + o + (cell & 1)] = sums[cell]! + floats[b + o + (cell & 1)]!;
      }
    }
  };
  const row = (at: number, count: number) => floats.subarray(at / 4, at / 4 + count);
  return {
    ...{ memory, multiply, fast: false },
    softmax(at, count, scale) {
      const values = row(at, count);
      let [peak, sum] = [MASKED, 0];
      for (let n = 0; n < count; n++) peak = Math.max(peak, values[n]!);
      for (let n = 0; n < count; n++) sum += values[n] = Math.exp((values[n]! - peak) * scale);
      for (let n = 0; n < count; n++) values[n]! /= sum;
      return peak * scale + Math.log(sum);
    },
    gelu: (at, count) => activate("gelu", row(at, count)),
    entropy(at, count) {
      let sum = 0;
      for (const p of row(at, count)) if (p > 0) sum -= p * Math.log(p);
      return sum;
    },
  };
}

/** With a memory of so many bytes. */
export async function createProduct(bytes: number): Promise<Product> {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
    const codes = modules.map((text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    const code = codes.find((bytes) => WebAssembly.validate(bytes))!;
    const { instance } = await WebAssembly.instantiate(code, { m: { m: memory } });
    const { largest, exponentials, divided, ...same } = instance.exports as unknown as Compiled;
    const softmax = (at: number, count: number, scale: number) => {
      const peak = largest(at, count);
      const sum = exponentials(at, count, scale, peak);
      divided(at, count, sum);
      return peak * scale + Math.log(sum);
    };
    return { memory: memory.buffer, ...same, softmax, fast: true };
  } catch {
    return plainProduct(bytes);
  }
}
