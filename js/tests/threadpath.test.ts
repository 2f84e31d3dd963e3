// The line from a token to the answer's bars.
import { expect, it } from "vitest";
import { columnWidth, type Ends, threadPath } from "../src/front/threadpath";

const ENDS: Ends = { x: 700, y: 100, zero: 600, top: 120, bottom: 300 };
const text = (left: number, right: number, top: number, bottom: number) => ({ left, right, top, bottom });

/** Where a path ends, by its moves alone. */
function end(path: string): [number, number] {
  let [x, y] = [0, 0];
  for (const [, letter, list] of path.matchAll(/([MVHq])([^MVHq]+)/g)) {
    const numbers = list!.trim().split(/[ ,]+/).map(Number);
    if (letter === "M") [x, y] = [numbers[0]!, numbers[1]!];
    else if (letter === "H") x = numbers[0]!;
    else if (letter === "V") y = numbers[0]!;
    else [x, y] = [x + numbers[2]!, y + numbers[3]!];
  }
  return [x, y];
}

it("leads from under the token to the foot of the bars", () => {
  for (const x of [600, 600.4, 602, 560, 10, 1200]) {
    const path = threadPath({ ...ENDS, x }, [])!;
    expect(end(path)).toEqual([600, 300]);
    expect(path.includes("H")).toBe(Math.abs(x - 600) >= 1);
  }
});
it("is not there where it would cross text", () => {
  expect(threadPath(ENDS, [text(0, 400, 110, 125), text(720, 800, 60, 98)])).not.toBeNull();
  expect(threadPath(ENDS, [text(0, 650, 96, 112)])).toBeNull(); // aside
  expect(threadPath(ENDS, [text(590, 650, 200, 212)])).toBeNull(); // along the bars
  expect(threadPath({ ...ENDS, x: 600 }, [text(590, 650, 130, 150)])).toBeNull(); // a line of text below the token
  expect(threadPath({ ...ENDS, y: 118 }, [])).toBeNull(); // no room to turn
});
it("begins the bars below the token, within a third and 45 % of the row", () => {
  expect(columnWidth(900, 650, 96)).toBe(346); // 650 + 346 − 96 is the row
  expect(columnWidth(900, 890, 96)).toBe(297);
  expect(columnWidth(900, 20, 96)).toBe(405);
});
