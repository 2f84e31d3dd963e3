// The line that falls from the token whose answer is shown to the answer's bars, which begin below it where they can.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useWidth } from "../parts/width";
import { useFront } from "../state/frontanswers";
import { useView } from "../state/view";
import { MASK, wordsOf } from "./sentence/wordrow";
import { columnWidth, threadPath } from "./threadpath";
import { isBrief, leafOf } from "./unfolded";

const LEAST = 860; // px of the row: narrower, words and bars have no room beside the line

export function Thread() {
  const view = useView();
  const { overview, page } = view;
  const front = useFront();
  const frame = useRef<HTMLDivElement>(null);
  const [path, setPath] = useState<string | null>(null);
  const width = useWidth(frame);
  const boxes = page.front.boxes.value;
  const isOfToken = !front || ["words", "tags"].includes(front.answers.kind);
  const mask = overview.queries.tokens.findIndex((token) => MASK.test(token));
  const position = front ? front.lead.position : mask;
  const word = wordsOf(overview).units.findIndex(({ pieces }) => pieces.includes(position));
  const isWide = width >= LEAST && !isBrief(view) && !leafOf(view);
  useLayoutEffect(() => {
    const row = frame.current!.parentElement!;
    const root = row.parentElement!;
    const stage = root.querySelector(".bl-stage")?.getBoundingClientRect();
    const box = boxes[word];
    const answer = row.querySelector(".bl-front-answer")!;
    const isPlaced = isWide && isOfToken && stage && box;
    const { left, top } = row.getBoundingClientRect();
    const x = isPlaced ? stage.left - left + (box.left + box.right) / 2 : 0;
    const names = 12 + Number.parseFloat(getComputedStyle(answer).getPropertyValue("--name-width"));
    const isMask = isPlaced && MASK.test(overview.queries.tokens[position]!);
    row.style.setProperty("--bars-width", isMask ? `${columnWidth(width, x, names)}px` : "");
    const bars = answer.querySelectorAll(".bl-answer-track");
    if (!isPlaced || !front || bars.length === 0) {
      setPath(null);
      return;
    }
    const boxOf = (element: Element) => {
      const one = element.getBoundingClientRect();
      return { left: one.left - left, right: one.right - left, top: one.top - top, bottom: one.bottom - top };
    };
    const [dx, dy] = [stage.left - left, stage.top - top];
    const words = boxes.flatMap((one, n) =>
      one && n !== word
        ? [{ left: one.left + dx, right: one.right + dx, top: one.top + dy, bottom: one.bottom + dy }]
        : [],
    );
    const texts = [...root.querySelectorAll(".bl-under > :not(.bl-spacer)")].map(boxOf);
    const zero = boxOf(bars[0]!).left;
    const ends = {
      x,
      y: box.bottom + dy,
      zero,
      top: boxOf(answer).top,
      bottom: boxOf(bars[bars.length - 1]!).bottom + 6,
    };
    setPath(threadPath(ends, [...words, ...texts]));
  });
  return (
    <div ref={frame} class="bl-thread">
      {path && (
        <svg aria-hidden="true">
          <path d={path} />
        </svg>
      )}
    </div>
  );
}
