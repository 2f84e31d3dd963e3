// The one tooltip of a view. It only repeats what focus or a click shows too.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { px } from "../paint/format";
import { useView, type View } from "../state/view";

const HIGHEST = 60; // px of a tooltip

export function Tooltip() {
  const view = useView();
  const { tip, root, overview } = view;
  const box = useRef<HTMLDivElement>(null);
  const [shift, setShift] = useState(0);
  const balloon = tip.value;
  useLayoutEffect(() => {
    const width = box.current?.offsetWidth ?? 0;
    const room = root.current?.clientWidth ?? 0;
    if (balloon) setShift(Math.max(8 + width / 2, Math.min(room - 8 - width / 2, balloon.x)));
  }, [balloon]);
  useEffect(() => hideTip(view), [overview]); // what it stood at may have moved
  if (!balloon) return null;
  return (
    <div ref={box} class="bl-tip" role="tooltip" style={{ left: px(shift || balloon.x), top: px(balloon.y + 6) }}>
      {balloon.content}
    </div>
  );
}

/**
 * Show the tooltip of an element or of the pointer; without content it goes. It stands below the grid or the chart that
 * it speaks of, and at the pointer where that is out of sight.
 */
export function showTip({ tip, root }: View, at: Element | PointerEvent, content: ComponentChildren): void {
  const frame = root.current!.getBoundingClientRect();
  const element = at instanceof Element ? at : (at.currentTarget as Element);
  const box = element.getBoundingClientRect();
  const around = (element.closest(".bl-scroll, svg") ?? element).getBoundingClientRect();
  const x = at instanceof Element ? box.left + box.width / 2 : at.clientX;
  const foot = at instanceof Element ? box.bottom : at.clientY + 12;
  const y = around.bottom + HIGHEST < innerHeight ? around.bottom : foot;
  tip.value = content ? { x: x - frame.left, y: y - frame.top, content } : null;
}

export function hideTip({ tip }: View): void {
  tip.value = null;
}

/** The handlers of an element with a tooltip, at the pointer or beside the element. */
export const tipped = (view: View, content: () => ComponentChildren, beside = false) => ({
  onPointerEnter: (event: PointerEvent) => showTip(view, beside ? (event.currentTarget as Element) : event, content()),
  onPointerLeave: () => hideTip(view),
});
