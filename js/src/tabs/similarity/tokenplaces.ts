// Where the words of the two lines stand.
import { sorted } from "../../compute/sorted";
import { upTo } from "../../paint/format";

/** Those that matter most are written out, the others are dots where there is no room. */
export function placesOf(
  wide: number[],
  weights: number[],
  width: number,
  dot = 12,
): { x: number; written: boolean }[] {
  let room = width - dot * wide.length;
  const labels = new Set<number>();
  for (const n of sorted(upTo(wide.length), (n) => weights[n]!, true)) {
    if (wide[n]! - dot > room) continue;
    room -= wide[n]! - dot;
    labels.add(n);
  }
  const gap = Math.max(0, room) / Math.max(1, wide.length);
  let x = 0;
  return wide.map((own, n) => {
    const slot = (labels.has(n) ? own : dot) + gap;
    x += slot;
    return { x: x - slot / 2, written: labels.has(n) };
  });
}
