// Rows of numbers that are kept as they travel, in 16 bits or in 8, and taken out one by one.
import type { Arrays } from "../kernel/wire";
import { halves } from "./numbers";

/** (rows, width) numbers. `row` writes one into `into`, which it gives. */
export interface Table {
  rows: number;
  width: number;
  row(n: number, into: Float32Array): Float32Array;
}

const ZERO = 128; // as which 0 is kept in 8 bits

const bits = halves();

/** Numbers of 16 bits as floats, others as they are. */
export const floats = ({ data }: Arrays[string]): Float32Array =>
  data instanceof Uint16Array ? Float32Array.from(data, (one) => bits[one]!) : (data as Float32Array);

/** A copy of what `arrays` has by that name: what it came with is large. 8 bits are multiples of `name.factors`. */
export function tableOf(arrays: Arrays, name: string, width = arrays[name]!.shape.at(-1)!): Table {
  const data = arrays[name]!.data.slice();
  const rows = data.length / width;
  if (data instanceof Uint8Array) {
    const factors = floats(arrays[`${name}.factors`]!).slice();
    const group = data.length / factors.length;
    return {
      ...{ rows, width },
      row(n, into) {
        for (let i = 0, at = n * width; i < width; i++, at++)
          into[i] = (data[at]! - ZERO) * factors[Math.floor(at / group)]!;
        return into;
      },
    };
  }
  const isShort = data instanceof Uint16Array;
  return {
    ...{ rows, width },
    row(n, into) {
      for (let i = 0, at = n * width; i < width; i++, at++) into[i] = isShort ? bits[data[at]!]! : data[at]!;
      return into;
    },
  };
}
