// Rows of numbers that are kept as they travel, in 16 bits or in 8, and taken out one by one: whole multiples of a factor.
import type { Arrays } from "../kernel/wire";
import { halves } from "./arithmetic";

/** (rows, width) numbers. `row` writes one into `into`, which it gives. */
export interface Table {
  rows: number;
  width: number;
  row(n: number, into: Float32Array): Float32Array;
  isEmpty(n: number): boolean; // zeros, as of a row that a page does not carry
}

/** All numbers of an array by its name. */
export function floatsOf(arrays: Arrays, name: string): Float32Array {
  const { data } = arrays[name]!;
  if (data instanceof Float32Array) return data;
  const { rows, width, row } = tableOf(arrays, name);
  const floats = new Float32Array(rows * width);
  for (let n = 0; n < rows; n++) row(n, floats.subarray(n * width, (n + 1) * width));
  return floats;
}

/** A copy of what `arrays` has by that name: what it came with is large. */
export function tableOf(arrays: Arrays, name: string, width = arrays[name]!.shape.at(-1)!): Table {
  const data = arrays[name]!.data.slice();
  const rows = data.length / width;
  if (data instanceof Float32Array)
    return { rows, width, row: (n, into) => copied(data, n * width, width, into), isEmpty: () => false };
  const zero = data instanceof Uint8Array ? 128 : 32_768;
  const factors = factorsOf(arrays[`${name}.factors`]!.data);
  const group = data.length / factors.length;
  return {
    ...{ rows, width },
    row(n, into) {
      for (let i = 0, at = n * width; i < width; ) {
        const factor = factors[Math.floor(at / group)]!;
        for (const end = Math.min(width, i + group); i < end; i++, at++) into[i] = (data[at]! - zero) * factor;
      }
      return into;
    },
    isEmpty: (n) =>
      factors.subarray(Math.floor((n * width) / group), Math.ceil(((n + 1) * width) / group)).every((one) => one === 0),
  };
}

const factorsOf = (data: Arrays[string]["data"]): Float32Array => {
  if (!(data instanceof Uint16Array)) return data.slice() as Float32Array;
  const bits = halves();
  return Float32Array.from(data, (one) => bits[one]!);
};

function copied(data: Float32Array, from: number, width: number, into: Float32Array): Float32Array {
  for (let i = 0; i < width; i++) into[i] = data[from + i]!;
  return into;
}
