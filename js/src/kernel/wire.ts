// Arrays between kernel and page: the page's half of bertlens/base/wire.py. tests/wire/vectors.json binds the two.
// Little-endian, C order, each array at a multiple of 8 bytes; a DataView from the kernel may itself start anywhere,
// so an array is copied when its place in memory is not aligned for its type.

import type { AnyArray as TypedArray } from "../generated/answers";

export type { TypedArray };
export type WireArray<T = TypedArray> = { dtype: string; shape: number[]; data: T };
export type Arrays = Record<string, WireArray>;

const TYPES = new Map<
  string,
  { BYTES_PER_ELEMENT: number; new (buffer: ArrayBufferLike, offset: number, n: number): TypedArray }
>([
  ["uint8", Uint8Array],
  ["uint16", Uint16Array],
  ["int32", Int32Array],
  ["float32", Float32Array],
  ["float64", Float64Array],
]);
const ALIGNMENT = 8;

const natural = (n: unknown): n is number => Number.isSafeInteger(n) && (n as number) >= 0;

/** The bytes of a buffer as hosts give it: a view, which may start anywhere, or in Shiny the buffer itself. */
export const bytesOf = (blob: ArrayBufferView | ArrayBufferLike): Uint8Array =>
  ArrayBuffer.isView(blob) ? new Uint8Array(blob.buffer, blob.byteOffset, blob.byteLength) : new Uint8Array(blob);

/** The named arrays that `index` finds in `blob`. Throws a short Error if the index does not fit the bytes. */
export function unpack(index: unknown, blob: DataView | ArrayBuffer | Uint8Array): Arrays {
  if (!Array.isArray(index)) throw new Error("malformed index: not a list");
  const bytes = bytesOf(blob);
  const arrays: Arrays = Object.create(null); // a name is data: "__proto__" is a name like any other
  for (const entry of index) {
    if (typeof entry?.name !== "string") throw new Error("malformed index: an entry without a name");
    const { name, dtype, shape, offset } = entry;
    const Type = TYPES.get(dtype);
    if (!Type) throw new Error(`malformed index: array "${name}" has an unknown dtype`);
    if (!Array.isArray(shape) || !shape.every(natural))
      throw new Error(`malformed index: array "${name}" has no valid shape`);
    if (!natural(offset) || offset % ALIGNMENT) throw new Error(`malformed index: array "${name}" has no valid offset`);
    if (name in arrays) throw new Error(`malformed index: two arrays named "${name}"`);
    const count = shape.reduce((product: number, n: number) => product * n, 1);
    const size = count * Type.BYTES_PER_ELEMENT;
    if (offset + size > bytes.length)
      throw new Error(`malformed index: array "${name}" ends past the ${bytes.length} bytes`);
    const start = count ? bytes.byteOffset + offset : 0;
    const data =
      start % Type.BYTES_PER_ELEMENT === 0
        ? new Type(bytes.buffer, start, count)
        : new Type(bytes.slice(offset, offset + size).buffer, 0, count);
    arrays[name] = { dtype, shape: [...shape], data };
  }
  return arrays;
}

/** Bytes that travel as text. */
export const fromBase64 = (text: string): DataView<ArrayBuffer> =>
  new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
