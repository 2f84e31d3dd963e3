// Arrays as the kernel sends them: the other half of kernel/wire.ts, as `pack` of bertlens/base/wire.py.
import type { Arrays, TypedArray } from "../kernel/wire";

const ALIGNMENT = 8;
const NAMES = new Map<unknown, string>([
  [Uint8Array, "uint8"],
  [Uint16Array, "uint16"],
  [Int32Array, "int32"],
  [Float32Array, "float32"],
  [Float64Array, "float64"],
]);

export type Packed = { index: Omit<Arrays[string] & { name: string; offset: number }, "data">[]; data: DataView };

/** Numbers and their shape; null where an array has one dimension. */
export type Shaped<T = TypedArray> = readonly [T, readonly number[] | null];

export function pack(arrays: Record<string, Shaped>): Packed {
  let size = 0;
  const index = Object.entries(arrays).map(([name, [data, shape]]) => {
    const offset = size;
    size += Math.ceil(data.byteLength / ALIGNMENT) * ALIGNMENT;
    return { name, dtype: NAMES.get(data.constructor)!, shape: [...(shape ?? [data.length])], offset };
  });
  const bytes = new Uint8Array(size);
  for (const [n, [data]] of Object.values(arrays).entries())
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), index[n]!.offset);
  return { index, data: new DataView(bytes.buffer) };
}
