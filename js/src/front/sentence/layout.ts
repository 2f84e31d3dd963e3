// Where the words of the sentence stand, and how large they are set: measured as they are drawn.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Box } from "../../state/frontstate";
import { fittedType, type Lettering } from "./lettering";
import type { Words } from "./wordrow";

/** Where the words stand, in the stage's own pixels. */
function boxesOf(stage: HTMLElement, count: number, size: number): (Box | null)[] {
  const frame = stage.getBoundingClientRect();
  const scale = frame.width / (stage.offsetWidth || 1) || 1;
  const boxes: (Box | null)[] = Array.from({ length: count }, () => null);
  for (const word of stage.querySelectorAll<HTMLElement>("[data-n]")) {
    const rects = [...word.getClientRects()].sort((a, b) => b.width - a.width);
    if (!rects[0]) continue;
    const [left, right] = [rects[0].left, rects[0].right].map((x) => (x - frame.left) / scale) as [number, number];
    const middle = ((rects[0].top + rects[0].bottom) / 2 - frame.top) / scale;
    const isMark = word.classList.contains("bl-chipmark");
    const [up, down] = isMark
      ? [10, 10]
      : word.classList.contains("bl-mask")
        ? [0.52 * size, rects[0].height / scale / 2 - 0.02 * size] // of its frame
        : [0.4 * size, 0.44 * size];
    boxes[Number(word.dataset.n)] = { left, right, top: middle - up, bottom: middle + down };
  }
  return boxes;
}

/** The word at a point of the stage, -1 for none. */
export const wordAt = (boxes: (Box | null)[], x: number, y: number) =>
  boxes.findIndex((box) => box && x >= box.left - 2 && x <= box.right + 2 && y >= box.top - 6 && y <= box.bottom + 6);

const WIDEST = 1.5;

/** Boxes and type of the words, measured after each change of text or width. */
export function useLayout(
  stage: RefObject<HTMLElement | null>,
  words: Words,
  texts: string[],
  width: number,
  isSmall: boolean,
  beside: string | null,
) {
  const [type, setType] = useState<Lettering>({ size: 27, one: true, dense: false, room: 118, gap: 0 });
  const fitted = useRef(type); // what is drawn once it is the type
  const [boxes, setBoxes] = useState<(Box | null)[]>([]);
  const [fonts, setFonts] = useState(0);
  const of = [width, beside ?? "", ...texts].join("\n");
  const [spread, setSpread] = useState({ of, ratio: 1 });
  const ratio = spread.of === of ? spread.ratio : 1; // how much wider than reckoned the letters are here
  useEffect(() => {
    let isHere = true;
    document.fonts?.ready.then(() => isHere && setFonts(1));
    return () => {
      isHere = false;
    };
  }, []);
  useLayoutEffect(() => {
    const now = fittedType(stage.current!, texts, width / ratio, isSmall, beside);
    fitted.current = JSON.stringify(now) === JSON.stringify(type) ? type : now;
    setType(fitted.current);
  }, [width, ratio, fonts, isSmall, beside, ...texts]);
  useLayoutEffect(() => {
    for (const line of stage.current!.querySelectorAll<HTMLElement>(".bl-textline")) {
      const marks = [...line.querySelectorAll<HTMLElement>(".bl-mirror > .bl-chipmark")];
      const text = line.querySelector<HTMLElement>("[data-start]");
      const chips = marks.filter(
        (mark) => text && mark.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING,
      );
      const widthOf = (list: HTMLElement[]) => list.reduce((sum, mark) => sum + mark.offsetWidth + 10, 0);
      const room = Number.parseFloat(getComputedStyle(stage.current!.closest(".bl-sentence")!).paddingRight) || 0;
      const tail = widthOf([...line.querySelectorAll<HTMLElement>(".bl-after > .bl-chipmark")]);
      line.style.setProperty("--indent", `${widthOf(chips)}px`);
      line.style.setProperty("--outdent", `${Math.max(0, tail - room + 4)}px`);
    }
    const mirrors = [...stage.current!.querySelectorAll(".bl-mirror")];
    const excess = Math.max(...mirrors.map(({ scrollWidth, clientWidth }) => scrollWidth / (clientWidth || 1)));
    if (type === fitted.current && type.one && excess > 1.004 && ratio < WIDEST)
      setSpread({ of, ratio: ratio * excess });
    const now = boxesOf(stage.current!, words.units.length, type.size);
    setBoxes((previous) => (JSON.stringify(previous) === JSON.stringify(now) ? previous : now));
  });
  return { type, boxes };
}
