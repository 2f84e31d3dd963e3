// When typed text runs.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTyping, QUIET } from "../src/front/sentence/typing";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function bench({ quick = true, overtakes = false } = {}) {
  const ends: (() => void)[] = [];
  const run = vi.fn(() => new Promise<void>((done) => ends.push(done)));
  return { run, ends, typing: createTyping({ run, runsAlone: () => quick, overtakes: () => overtakes }) };
}

it("it runs after some quiet, once for keys in a row", () => {
  const { run, typing } = bench();
  for (let n = 0; n < 4; n++) {
    typing.typed();
    vi.advanceTimersByTime(QUIET - 1);
  }
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(1);
});

it("where runs are slow it waits for Enter", () => {
  const { run, typing } = bench({ quick: false });
  typing.typed();
  vi.advanceTimersByTime(10 * QUIET);
  expect(run).not.toHaveBeenCalled();
  typing.enter();
  expect(run).toHaveBeenCalledTimes(1);
});

it("text under composition does not run, not by Enter either; after it does", () => {
  const { run, typing } = bench();
  typing.typed();
  typing.compose(true);
  typing.typed();
  typing.enter();
  vi.advanceTimersByTime(10 * QUIET);
  expect(run).not.toHaveBeenCalled();
  typing.compose(false);
  vi.advanceTimersByTime(QUIET);
  expect(run).toHaveBeenCalledTimes(1);
});

it("what is typed while a run computes runs once that has ended, and only the last of it", async () => {
  const { run, ends, typing } = bench();
  typing.enter();
  for (let n = 0; n < 3; n++) {
    typing.typed();
    vi.advanceTimersByTime(QUIET);
  }
  expect(run).toHaveBeenCalledTimes(1);
  ends[0]!();
  await vi.advanceTimersByTimeAsync(0);
  expect(run).toHaveBeenCalledTimes(2);
  ends[1]!();
  await vi.advanceTimersByTimeAsync(10 * QUIET);
  expect(run).toHaveBeenCalledTimes(2);
});

it("where the last run counts none waits, and one that fails lets the next go", async () => {
  const { run, typing } = bench({ overtakes: true });
  typing.enter();
  typing.enter();
  expect(run).toHaveBeenCalledTimes(2);
  const failing = vi.fn(() => Promise.reject(new Error("too long")));
  const other = createTyping({ run: failing, runsAlone: () => true, overtakes: () => false });
  other.enter();
  await vi.advanceTimersByTimeAsync(0);
  other.enter();
  expect(failing).toHaveBeenCalledTimes(2);
});
