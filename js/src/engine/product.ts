// y = x wᵀ + b, which is nearly all of a pass: by WebAssembly, or in plain JavaScript where a browser or a page's policy
// refuses it. Both work on one block of memory, whose parts are named by their first byte.
import { moduleBytes } from "./simd";

const PAGE = 65_536; // bytes that WebAssembly counts memory in

/** x (rows, n), w (outputs, n), b (outputs), y (rows, outputs): rows and n multiples of 4, outputs of 2; addresses of 16. */
type Multiply = (x: number, w: number, b: number, y: number, rows: number, n: number, outputs: number) => void;

export interface Product {
  memory: ArrayBuffer;
  multiply: Multiply;
  fast: boolean; // by WebAssembly
}

const sums = new Float64Array(8); // of a tile: four rows of x by two of w

function tile(all: Float32Array, x0: number, x1: number, x2: number, x3: number, v0: number, v1: number, n: number) {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  for (let i = 0; i < n; i++) {
    const p = all[v0 + i]!;
    const q = all[v1 + i]!;
    a += all[x0 + i]! * p;
    b += all[x0 + i]! * q;
    c += all[x1 + i]! * p;
    d += all[x1 + i]! * q;
    e += all[x2 + i]! * p;
    f += all[x2 + i]! * q;
    g += all[x3 + i]! * p;
    h += all[x3 + i]! * q;
  }
  sums.set([a, b, c, d, e, f, g, h]);
}

export function plainProduct(bytes: number): Product {
  const memory = new ArrayBuffer(bytes);
  const all = new Float32Array(memory);
  const multiply: Multiply = (...given) => {
    const [x, w, b, y] = given.map((address) => address / 4) as [number, number, number, number];
    const [rows, n, outputs] = given.slice(4) as [number, number, number];
    for (let o = 0; o < outputs; o += 2) {
      const v0 = w + o * n;
      const v1 = v0 + n;
      for (let row = 0; row < rows; row += 4) {
        const x0 = x + row * n;
        tile(all, x0, x0 + n, x0 + 2 * n, x0 + 3 * n, v0, v1, n);
        for (let part = 0; part < sums.length; part++)
          all[y + (row + (part >> 1)) * outputs + o + (part & 1)] = sums[part]! + all[b + o + (part & 1)]!;
      }
    }
  };
  return { memory, multiply, fast: false };
}

/** With a memory of so many bytes. */
export async function createProduct(bytes: number): Promise<Product> {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
    const { instance } = await WebAssembly.instantiate(moduleBytes(), { m: { m: memory } });
    return { memory: memory.buffer, multiply: instance.exports.f as Multiply, fast: true };
  } catch {
    return plainProduct(bytes);
  }
}
