import { expect, it } from "vitest";
import { curvePath } from "../src/parts/curve";

it("a curve is broken where there is no number, and empty where there is none at all", () => {
  const none = Number.NaN;
  expect(
    curvePath([
      [0, 1],
      [1, 2],
      [2, none],
      [3, 4],
      [4, 5],
    ]),
  ).toBe("M0 1L1 2M3 4L4 5");
  expect(
    curvePath([
      [0, none],
      [1, Number.POSITIVE_INFINITY],
      [2, 3],
    ]),
  ).toBe("M2 3");
  expect(
    curvePath([
      [0, none],
      [1, none],
    ]),
  ).toBe("");
});
