// How large a sentence is set: as large as fits on one line, else smaller, on several.
import { textWidth } from "../../paint/textwidth";

export interface Lettering {
  size: number; // px
  one: boolean; // each text on one line
  dense: boolean; // small type, washes on the words
  room: number; // px above the first line
  gap: number; // between two lines
}

const ONE = { least: 23, most: 36, pair: 34 }; // px
const SMALL = { most: 28, room: 92, pair: { room: 36, gap: 42 } }; // above all heads
const TWIN = { most: 31, room: { least: 60, most: 92 } }; // two sentences; above the upper and below the lower
const LINES = { least: 22, most: 27 };
export const DENSE = { size: 18.5, gap: 21, room: 16 };
const LONG_LINES = 8; // of small type; a longer text is shown in part
const PART_LINES = 3;
const FEW = 3.4; // lines of the larger type
const TRACKING = -0.012; // em, as in sentence.css
const MARGIN = 10; // of a chip

/** The width of a text set 1 px high. */
export function widthOf(text: string, family: string): number {
  const canvas = document.createElement("canvas").getContext("2d");
  if (!canvas) return textWidth(text, 0.8);
  canvas.font = `100px ${family}`;
  return canvas.measureText(text).width / 100 + TRACKING * text.length;
}

/** Characters of a text that are in sight, about; infinite where all are. */
export function charactersInSight(text: string, width: number): number {
  const size = textWidth(text.slice(0, 2000), 0.8 * DENSE.size) / Math.min(2000, text.length || 1); // of one
  return size * text.length > LONG_LINES * width
    ? Math.floor((0.84 * PART_LINES * width) / size) - 8
    : Number.POSITIVE_INFINITY;
}

/** The type of some texts in a stage of a width, with the chips that stand beside them; isSmall: all heads stand below;
 * beside: a sentence with a stage of its own that is set as large. */
export function fittedType(
  stage: HTMLElement,
  texts: string[],
  width: number,
  isSmall: boolean,
  beside: string | null = null,
): Lettering {
  const family = getComputedStyle(stage).fontFamily;
  const chips = [...stage.querySelectorAll(".bl-mirror")].map((mirror) =>
    [...mirror.querySelectorAll<HTMLElement>(".bl-chipmark")].reduce((sum, mark) => sum + mark.offsetWidth + MARGIN, 0),
  );
  const lines = beside === null ? texts : [...texts, beside];
  const widths = lines.map((text) => Math.max(1, ...text.split("\n").map((line) => widthOf(line, family))));
  const margin = (n: number) => chips[n] ?? (beside === null ? 0 : (chips[0] ?? 0));
  const fit = Math.min(...widths.map((one, n) => (0.995 * (width - margin(n) - 2)) / one));
  const isPair = texts.length > 1;
  if (fit >= ONE.least && !lines.some((text) => text.includes("\n"))) {
    const room = isSmall
      ? SMALL.room
      : beside === null
        ? Math.max(118, Math.min(162, 0.14 * width))
        : Math.max(TWIN.room.least, Math.min(TWIN.room.most, 0.07 * width));
    const size = Math.min(isSmall ? SMALL.most : beside !== null ? TWIN.most : isPair ? ONE.pair : ONE.most, fit);
    return {
      size: Number(size.toFixed(2)),
      one: true,
      dense: false,
      room: isPair ? (isSmall ? SMALL.pair.room : 0.5 * room) : room,
      gap: isPair ? (isSmall ? SMALL.pair.gap : 56) : 0,
    };
  }
  const total = beside === null ? widths.reduce((sum, one) => sum + one, 0) : Math.max(...widths);
  if ((total * LINES.least) / width > FEW) return { ...DENSE, one: false, dense: true };
  const size = Number(Math.max(LINES.least, Math.min(LINES.most, (1.85 * width) / total)).toFixed(2));
  return { size, one: false, dense: false, room: 26, gap: 1.45 * size };
}
