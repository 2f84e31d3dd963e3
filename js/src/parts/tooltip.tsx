// The one tooltip of a view. It repeats what can also be had by focus or click; nothing lives in it alone.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { px } from "../paint/format";
import { useView } from "../state/view";

export function Tooltip() {
  const { tip, root } = useView();
  const box = useRef<HTMLDivElement>(null);
  const [shift, setShift] = useState(0);
  const shown = tip.value;
  useLayoutEffect(() => {
    const width = box.current?.offsetWidth ?? 0;
    const room = root.current?.clientWidth ?? 0;
    if (shown) setShift(Math.max(8 + width / 2, Math.min(room - 8 - width / 2, shown.x)));
  }, [shown]);
  if (!shown) return null;
  return (
    <div ref={box} class="bl-tip" role="tooltip" style={{ left: px(shift || shown.x), top: px(shown.y + 6) }}>
      {shown.content}
    </div>
  );
}
