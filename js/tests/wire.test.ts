// The page's half of the codec against the vectors that tests/wire/test_wire.py reads too.
import { describe, expect, it } from "vitest";
import text from "../../tests/wire/vectors.json?raw";
import { unpack } from "../src/kernel/wire";

type Entry = { name: string; dtype: string; shape: number[]; offset: number };
type Case = { name: string; index: Entry[]; blob: string; values: Record<string, (number | string)[]> };
const vectors: { cases: Case[]; malformed: { name: string; index: unknown }[]; malformed_bytes: number } =
  JSON.parse(text);

const shifted = (blob: Uint8Array, shift: number) => {
  const memory = new Uint8Array(blob.length + shift + 3);
  memory.set(blob, shift);
  return new DataView(memory.buffer, shift, blob.length);
};

describe("unpack", () => {
  for (const { name, index, blob, values } of vectors.cases) {
    const bytes = Uint8Array.from(atob(blob), (character) => character.charCodeAt(0));
    const inputs: [string, DataView | ArrayBuffer | Uint8Array][] = [
      ["ArrayBuffer", bytes.buffer],
      ["Uint8Array", bytes],
      ...[0, 1, 3, 4, 8].map((shift): [string, DataView] => [`DataView at ${shift}`, shifted(bytes, shift)]),
    ];
    it.each(inputs)(`${name}: %s`, (_, input) => {
      const arrays = unpack(index, input);
      expect(Object.keys(arrays)).toEqual(index.map((entry) => entry.name));
      for (const entry of index) {
        const array = arrays[entry.name];
        expect(array?.dtype).toBe(entry.dtype);
        expect(array?.data.constructor.name.toLowerCase()).toBe(`${entry.dtype}array`);
        expect(array?.shape).toEqual(entry.shape);
        // Object.is, so that -0 is not 0
        expect(Array.from(array?.data ?? [])).toEqual((values[entry.name] ?? []).map(Number));
      }
    });
  }

  it.each(vectors.malformed.map(({ name, index }): [string, unknown] => [name, index]))("refuses: %s", (_, index) => {
    expect(() => unpack(index, new Uint8Array(vectors.malformed_bytes))).toThrow(/^malformed index: /);
  });
});
