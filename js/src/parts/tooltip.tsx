// The one tooltip of a view. It only repeats what focus or a click shows too.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { px } from "../paint/format";
import { besides, inSight } from "../paint/standing";
import { useView, type View } from "../state/view";
import { useWidth } from "./width";

const STILL = 6; // px that a pointer moves while it clicks
const NOWHERE = { x: Number.NaN, y: Number.NaN };

/** Where a click answers: no tooltip covers it. */
const ANSWERS = '.bl-words, .bl-asks, [role="tabpanel"], [data-testid="claim"], [data-testid="sentence"]';

let clicked = NOWHERE; // until the pointer goes elsewhere

const isStill = ({ clientX, clientY }: PointerEvent) => Math.hypot(clientX - clicked.x, clientY - clicked.y) < STILL;

export function Tooltip() {
  const view = useView();
  const { tip, root, overview } = view;
  const box = useRef<HTMLDivElement>(null);
  const balloon = tip.value;
  useLayoutEffect(() => {
    if (!balloon || !box.current || !root.current) return;
    const { style, offsetWidth: width, offsetHeight: height } = box.current;
    const { at, grid, isPointer, element } = balloon;
    const answers = [...root.current.querySelectorAll(ANSWERS)].filter((one) => !one.contains(element));
    const boxes = answers.map((one) => one.getBoundingClientRect());
    const spot = besides({ at, grid, isPointer }, { width, height }, inSight(root.current), boxes);
    const frame = root.current.getBoundingClientRect();
    Object.assign(style, { left: px(spot.left - frame.left), top: px(spot.top - frame.top) });
  }, [balloon]);
  const width = useWidth(root);
  useEffect(() => hideTip(view), [overview, width]); // what it stood at may have moved
  useEffect(() => {
    const answered = ({ clientX, clientY }: MouseEvent) => {
      clicked = { x: clientX, y: clientY };
      hideTip(view);
    };
    const moved = (event: PointerEvent) => {
      if (!isStill(event)) clicked = NOWHERE;
    };
    root.current?.addEventListener("click", answered, true);
    root.current?.addEventListener("pointermove", moved, true);
    return () => {
      root.current?.removeEventListener("click", answered, true);
      root.current?.removeEventListener("pointermove", moved, true);
    };
  }, []);
  if (!balloon) return null;
  return (
    <div ref={box} class="bl-tip" role="tooltip">
      {balloon.content}
    </div>
  );
}

/** Show the tooltip of an element or of the pointer; without content it goes. After a click it waits for the next move. */
export function showTip({ tip }: View, at: Element | PointerEvent, content: ComponentChildren): void {
  const isPointer = !(at instanceof Element);
  if (isPointer && isStill(at)) return;
  const element = isPointer ? (at.currentTarget as Element) : at;
  const grid = (element.closest(".bl-scroll, svg") ?? element).getBoundingClientRect();
  const box = isPointer ? new DOMRect(at.clientX - 12, at.clientY - 12, 24, 24) : element.getBoundingClientRect();
  tip.value = content ? { at: box, grid, isPointer, element, content } : null;
}

export function hideTip({ tip }: View): void {
  tip.value = null;
}

/** The handlers of an element with a tooltip, at the pointer or beside the element. */
export const tipped = (view: View, content: () => ComponentChildren, beside = false) => ({
  onPointerEnter: (event: PointerEvent) => showTip(view, beside ? (event.currentTarget as Element) : event, content()),
  onPointerLeave: () => hideTip(view),
});
