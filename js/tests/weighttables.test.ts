// Rows that a page does not carry are told from others, in each form in which they travel.
import { expect, test } from "vitest";
import { tableOf } from "../src/engine/weighttables";

test("a row whose factors are all nothing is empty", () => {
  const data = new Uint8Array(4 * 64).fill(128);
  const half = 0x3c00; // 1
  const factors = new Uint16Array([half, half, 0, 0, half, 0, 0, half]); // of 32 numbers each
  const arrays = { words: { data, shape: [4, 64] }, "words.factors": { data: factors, shape: [4, 2] } };
  const table = tableOf(arrays as never, "words");
  expect([0, 1, 2, 3].map(table.isEmpty)).toEqual([false, true, false, false]);
});

test("of rows with one factor each, and of plain numbers", () => {
  const shape = [2, 2];
  const rows = { data: new Uint16Array([1, 2, 3, 4]), shape };
  const factors = { data: new Float32Array([0, 1]), shape: [2] };
  const table = tableOf({ words: rows, "words.factors": factors } as never, "words");
  expect([0, 1].map(table.isEmpty)).toEqual([true, false]);
  expect(tableOf({ words: { data: new Float32Array(4), shape } } as never, "words").isEmpty(0)).toBe(false);
});
