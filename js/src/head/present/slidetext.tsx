// A text as large as its box allows; one that is too long for a slide in parts.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { edges, type TokenSide, type Unit } from "../../compute/grid";
import { textWidth } from "../../paint/textwidth";
import { useView } from "../../state/view";
import { type Shades, Strip, written } from "../running";
import { fill } from "./fill";
import { Turn } from "./turn";

const BLANK = 0.7; // ems beside a word: a blank, and the room around its shade
const TIGHTEST = 3;

/** Width and height of an element in its own ems, followed as they change. */
function useBox() {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 30, height: 10 });
  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      const em = Number.parseFloat(getComputedStyle(element).fontSize);
      const next = { width: element.clientWidth / em, height: element.clientHeight / em };
      setSize((now) => (now.width === next.width && now.height === next.height ? now : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { box, size };
}

interface WordsProps {
  side: TokenSide;
  units: Unit[];
  shades: Shades | null;
  looks: number; // the word that looks, −1 where it is of another text
  chosen: number | null;
  pick?: (n: number) => void;
}

export function Words({ side, units, shades, looks, chosen, pick }: WordsProps) {
  const { overview } = useView();
  const { box, size } = useBox();
  const [tight, setTight] = useState(1); // how much wider letters are than they were taken for
  const widths = useMemo(() => units.map((unit) => textWidth(written(side, unit).text, 1) + BLANK), [side, units]);
  const breaks = useMemo(() => new Set(edges(overview.spans, units)), [overview, units]);
  const room = { width: size.width / tight, height: size.height };
  const { size: letters, starts } = useMemo(
    () => fill(widths, breaks, room),
    [widths, breaks, room.width, room.height],
  );
  const [turned, setTurned] = useState({ units, looks, part: -1 });
  const isTurned = turned.units === units && turned.looks === looks && turned.part >= 0 && turned.part < starts.length;
  const screen = isTurned
    ? turned.part
    : Math.max(
        0,
        starts.findLastIndex((start) => start <= looks),
      );
  const [from, to] = [starts[screen]!, starts[screen + 1] ?? units.length];
  useLayoutEffect(() => {
    const { scrollHeight, clientHeight } = box.current!;
    if (scrollHeight > clientHeight + 1 && tight < TIGHTEST) setTight(1.1 * tight);
  });
  const turn = (by: number) => setTurned({ units, looks, part: (screen + by + starts.length) % starts.length });
  return (
    <div class="bl-slide-words">
      <div ref={box}>
        <div style={{ fontSize: `${letters}em` }}>
          <Strip
            label="the words"
            side={side}
            units={units.slice(from, to)}
            shades={shades && { ...shades, values: shades.values.subarray(from, to) }}
            marked={(n) => from + n === looks}
            chosen={(n) => from + n === chosen}
            {...(pick ? { pick: (n: number) => pick(from + n) } : {})}
          />
        </div>
      </div>
      {starts.length > 1 && (
        <Turn what="part of the text" go={turn}>
          part {screen + 1} of {starts.length}
        </Turn>
      )}
    </div>
  );
}
