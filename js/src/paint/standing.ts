// Where what opens stands: a menu at its button or at the pointer, a tooltip beside what it speaks of.
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { px } from "./format";

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const [GAP, MARGIN] = [4, 8]; // px to what it belongs to, to the edge of the frame

const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));

/** Below `at`, above it where more room is, from its left edge as far as the frame allows; `height`: what it can have. */
export function standing(at: Box, size: { width: number; height: number }, frame: Box) {
  const [above, below] = [at.top - GAP - frame.top - MARGIN, frame.bottom - MARGIN - at.bottom - GAP];
  const isBelow = size.height <= below || below >= above;
  const height = Math.max(0, Math.min(size.height, isBelow ? below : above));
  return {
    left: clamp(at.left, frame.left + MARGIN, Math.max(frame.left + MARGIN, frame.right - MARGIN - size.width)),
    top: isBelow ? at.bottom + GAP : at.top - GAP - height,
    height,
  };
}

const NEAR = 110; // px: further from an element no tooltip stands

const isApart = (a: Box, b: Box) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;

/**
 * Beside what a tooltip speaks of: off its grid where that is near or the pointer is on the grid, else beside the
 * element; within the frame, and on none of the `answers`.
 */
export function besides(
  { at, grid, isPointer }: { at: Box; grid: Box; isPointer: boolean },
  { width, height }: { width: number; height: number },
  frame: Box,
  answers: Box[],
) {
  const within = (left: number) => clamp(left, frame.left + MARGIN, Math.max(MARGIN, frame.right - MARGIN - width));
  const [x, y] = [within((at.left + at.right - width) / 2), (at.top + at.bottom - height) / 2];
  const across = (box: Box) => [box.right + 2 * GAP, box.left - 2 * GAP - width].map((left) => ({ left, top: y }));
  const along = (box: Box) => [box.bottom + GAP, box.top - GAP - height].map((top) => ({ left: x, top }));
  const isNear = ({ top }: { top: number }) => isPointer || (top - at.bottom <= NEAR && at.top - top - height <= NEAR);
  const spots = [...along(grid).filter(isNear), ...(isPointer ? across(grid) : []), ...across(at), ...along(at)];
  const isFree = ({ left, top }: { left: number; top: number }) => {
    const box = { left, top, right: left + width, bottom: top + height };
    const isIn = left >= frame.left && box.right <= frame.right && top >= frame.top && box.bottom <= frame.bottom;
    return isIn && answers.every((answer) => isApart(box, answer));
  };
  return spots.find(isFree) ?? { left: within(at.right + 2 * GAP), top: y };
}

/** What is in sight of a view. */
export function inSight(root: Element): Box {
  const { left, right } = root.getBoundingClientRect();
  return { left: Math.max(0, left), top: 0, right: Math.min(innerWidth, right), bottom: innerHeight };
}

function stand(list: HTMLElement, at: Box): void {
  Object.assign(list.style, { left: "0", top: "0", maxHeight: "" });
  const { left, top, width, height } = list.getBoundingClientRect(); // left and top: where its coordinates begin
  const spot = standing(at, { width, height }, inSight(list.closest(".bertlens") ?? list));
  Object.assign(list.style, {
    left: px(spot.left - left),
    top: px(spot.top - top),
    maxHeight: spot.height < height ? px(spot.height) : "",
  });
}

/** While it is open, a list stands at a box above all that would cut it off: a notebook's cell, a panel that scrolls. */
export function useStanding(isOpen: unknown, list: RefObject<HTMLElement | null>, at: () => Box): void {
  useLayoutEffect(() => {
    const box = list.current;
    if (!isOpen || !box) return;
    box.showPopover?.();
    const life = new AbortController();
    const follow = ({ target }: Pick<Event, "target">) => {
      if (!(target instanceof Node && box.contains(target))) stand(box, at()); // a window that is resized is no node
    };
    const size = new ResizeObserver(() => stand(box, at()));
    size.observe(box);
    stand(box, at());
    addEventListener("scroll", follow, { capture: true, passive: true, signal: life.signal });
    addEventListener("resize", follow, { signal: life.signal });
    return () => {
      life.abort();
      size.disconnect();
      box.hidePopover?.();
    };
  }, [isOpen]);
}
