// What is said of gates beside their labels: the length they hold at, and what it does to the threshold.
import { describe, expect, it } from "vitest";
import { atLength, lengthNote, relabelled, USUAL } from "../src/atlas/gatemarks";

it("a label carries the number of tokens that were counted", () => {
  expect(atLength(1234)).toBe("at 1,234 tokens");
});

describe("the note on length", () => {
  it("says that there are no labels under 8 content tokens", () => {
    const note = lengthNote({ threshold: 0.35, content_tokens: 6, least: null });
    expect(note).toBe("With 6 content tokens no head has a label: under 8 noise alone looks like a gate.");
  });
  it("names the higher threshold of short texts", () => {
    const note = lengthNote({ threshold: 0.35, content_tokens: 9, least: 0.35 + 6 * (1 / 9 - 1 / 12) });
    expect(note).toContain("With 9 content tokens the threshold is 0.52 instead of 0.35");
    expect(note).toContain("Labels hold at this length");
  });
  it("says no more than that labels are of this length where the threshold is the chosen one", () => {
    const note = lengthNote({ threshold: 0.4, content_tokens: 40, least: 0.4 });
    expect(note).toMatch(/^Labels hold at this length/);
  });
});

describe("labels under other thresholds", () => {
  const names = ["open", "closed", "self"];
  const made = (scores: number[], least: number | null = USUAL.threshold) => ({
    ...{ names, content_tokens: 12, least, threshold: USUAL.threshold, margin: USUAL.margin },
    labels: { full: [["asked before"]], content: [["asked before"]] },
    full: Float32Array.from(scores),
    content: Float32Array.from(scores),
  });
  it("are the highest score's name if it reaches the threshold and leads by the margin, else mixed", () => {
    const label = (threshold: number, margin: number, scores = [0.5, 0.75, 0.25]) =>
      relabelled(made(scores), threshold, margin).labels.full[0]![0];
    expect(label(0.75, 0.25)).toBe("closed");
    expect(label(0.76, 0.25)).toBe("mixed");
    expect(label(0.75, 0.26)).toBe("mixed");
    expect(label(0.05, 0, [Number.NaN, 0.75, 0.25])).toBe("undefined");
  });
  it("keep what short texts need beyond the threshold, and give none where no score can", () => {
    const short = relabelled(made([0.5, 0.75, 0.25], USUAL.threshold + 0.25), 0.55, 0);
    expect([short.least, short.labels.full[0]![0]]).toEqual([0.8, "mixed"]);
    expect(relabelled(made([0.5, 0.75, 0.25], null), 0.05, 0).labels.content[0]![0]).toBe("undefined");
  });
});
