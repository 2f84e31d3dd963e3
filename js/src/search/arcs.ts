// Which arcs stand between the question and either passage, and how they run.
import type { SearchCase } from "../generated/answers";
import type { Arc } from "./shapes";
import type { Spot } from "./state";

const AT_REST = 3; // to either passage
const GAP = 15; // px between numbers
const CAP = 5; // px from a word, or from its number, to the round end of an arc

export interface Link {
  side: "wrong" | "right";
  row: number; // of the question
  at: number; // of the passage
  part: number; // of that passage's score, wherever the word stands in it
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const bySize = (a: Link, b: Link) => Math.abs(b.part) - Math.abs(a.part);

/** The arcs that are drawn: of the word that is looked at all that there are, else the largest to either passage. */
export function linksOf({ arcs, texts }: Pick<SearchCase, "arcs" | "texts">, spot: Spot | null): Link[] {
  const sides = (["wrong", "right"] as const).map((side) =>
    (arcs[side] ?? []).map(([row, at, part]: Arc): Link => ({ side, row, at, part })),
  );
  if (!spot) return sides.flatMap((links) => links.sort(bySize).slice(0, AT_REST));
  if (spot.side === "query") return sides.flat().filter(({ row }) => row === spot.row);
  const { keys } = texts[spot.side];
  return sides
    .flat()
    .filter(({ side, at }) => side === spot.side && keys[at] === keys[spot.row])
    .map((link) => ({ ...link, at: spot.row })); // to the place that is looked at
}

/** The largest part of any arc. */
export const largestArc = ({ arcs }: Pick<SearchCase, "arcs">): number =>
  Math.max(1e-9, ...Object.values(arcs).flatMap((list) => list.map(([, , part]) => Math.abs(part))));

const middle = ({ top, bottom }: Box) => (top + bottom) / 2;
const centre = ({ left, right }: Box) => (left + right) / 2;

/** From a word of the question to one of a passage beside it, or above and below it; where its number stands. */
export function pathOf(from: Box, to: Box): { path: string; x: number; y: number } {
  const isBeside = to.right <= from.left || to.left >= from.right;
  if (isBeside) {
    const isLeft = to.right <= from.left;
    const [x0, x1] = isLeft ? [from.left - CAP, to.right] : [from.right + CAP, to.left];
    const [y0, y1] = [middle(from), middle(to)];
    const pull = (x1 - x0) * 0.55;
    return {
      path: `M${x0} ${y0}C${x0 + pull} ${y0} ${x1 - pull} ${y1} ${x1} ${y1}`,
      x: isLeft ? from.left - 28 : from.right + 28,
      y: y0,
    };
  }
  const isAbove = middle(to) < middle(from);
  const [y0, y1] = isAbove ? [from.top, to.bottom] : [from.bottom, to.top];
  const [x0, x1] = [centre(from), centre(to)];
  const pull = (y1 - y0) * 0.5;
  return {
    path: `M${x0} ${y0}C${x0} ${y0 + pull} ${x1} ${y1 - pull} ${x1} ${y1}`,
    x: x1,
    y: y1 + (isAbove ? 10 : -10),
  };
}

/** A word that is scrolled out of its box ends at the box's edge. */
export const within = (box: Box, frame: Box): Box => {
  const clamp = (y: number) => Math.min(frame.bottom, Math.max(frame.top, y));
  return { ...box, top: clamp(box.top), bottom: clamp(box.bottom) };
};

/** Numbers in a column that none stands on another: each keeps its order and moves down as far as need be. */
export function spread(places: number[]): number[] {
  const order = places.map((_, n) => n).sort((a, b) => places[a]! - places[b]!);
  const moved = [...places];
  order.forEach((n, k) => {
    if (k > 0) moved[n] = Math.max(places[n]!, moved[order[k - 1]!]! + GAP);
  });
  return moved;
}
