// What is drawn a frame after the head.
import { computed, effect, signal } from "@preact/signals";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { aFrameLater } from "../src/state/nextframe";

let frames: (() => void)[] = [];
const frame = () => {
  const now = frames;
  frames = [];
  for (const one of now) one();
};
beforeEach(() => {
  frames = [];
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (done: () => void) => frames.push(done));
  vi.stubGlobal("cancelAnimationFrame", (n: number) => void frames.splice(n - 1, 1));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const make = () => {
  const [head, subject] = [signal(0), signal("one")];
  const twice = computed(() => 2 * head.value);
  const late = aFrameLater({ head, twice }, subject);
  const seen: number[][] = [];
  effect(() => void seen.push([late.head.value, late.twice.value]));
  return { head, subject, seen };
};

it("follows in the frame after the next, all of it together", () => {
  const { head, seen } = make();
  head.value = 1;
  frame();
  expect(seen).toEqual([[0, 0]]);
  frame();
  expect(seen.at(-1)).toEqual([1, 2]);
  expect(seen).toHaveLength(2);
});
it("shows the last of several changes, and nothing twice", () => {
  const { head, seen } = make();
  head.value = 1;
  frame();
  head.value = 2;
  frame();
  frame();
  frame();
  vi.runAllTimers();
  expect(seen).toEqual([
    [0, 0],
    [2, 4],
  ]);
});
it("does not wait where the subject is another", () => {
  const { head, subject, seen } = make();
  head.value = 3;
  subject.value = "two";
  expect(seen.at(-1)).toEqual([3, 6]);
});
it("follows in a page that draws no frames", () => {
  const { head, seen } = make();
  head.value = 4;
  vi.advanceTimersByTime(250);
  expect(seen.at(-1)).toEqual([4, 8]);
});
