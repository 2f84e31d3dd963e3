// Both texts as two lines of words, and lines between the pairs with the largest parts.

import { useSignal } from "@preact/signals";
import { useContext } from "preact/hooks";
import { inks } from "../../paint/palette";
import { directionOf } from "../../paint/quotes";
import { textWidth } from "../../paint/textwidth";
import { Drawing } from "../../parts/chart";
import { Paper } from "../../parts/paper";
import { shortText, tokenText } from "../../parts/token";
import { tipped } from "../../parts/tooltip";
import { useView } from "../../state/view";
import type { ChosenPair } from "./chosenpair";
import type { Split } from "./splits";
import { placesOf } from "./tokenplaces";

const [SIZE, TOP, HEIGHT] = [13, 14, 112]; // px
const LINES = 12; // that are drawn
const LEAST = 0.06; // of the largest part: less is not drawn
const CHARACTERS = 16;

interface LinksProps {
  split: Split;
  rows: number[]; // units of a that are written
  cols: number[];
  choice: ChosenPair;
  width: number;
  all?: boolean; // lines of whatever size are drawn
}

/** The pairs that are drawn, the largest first; of the unit that the pointer is on all of its own. */
function drawn({ split: { b, cells }, rows, cols, all: whole }: LinksProps, on: { side: number; unit: number } | null) {
  const partOf = (i: number, j: number) => cells![i * b.length + j]!;
  const pairs = rows.flatMap((i) => cols.map((j) => ({ a: i, b: j, part: partOf(i, j) })));
  const sizes = pairs.map((one) => Math.abs(one.part));
  const peak = sizes.length > 0 ? Math.max(...sizes) : 0;
  const candidates = on ? pairs.filter((one) => (on.side ? one.b : one.a) === on.unit) : pairs;
  const order = candidates.sort((x, y) => Math.abs(y.part) - Math.abs(x.part));
  const [count, bound] = whole ? [order.length, 0] : [LINES, LEAST];
  return {
    peak,
    lines: order.slice(0, count).filter(({ part }) => Math.abs(part) >= bound * peak && part !== 0),
  };
}

export function Links(props: LinksProps) {
  const { split, rows, cols, choice, width } = props;
  const view = useView();
  const paper = useContext(Paper);
  const ink = inks(view.dark);
  const on = useSignal<{ side: number; unit: number } | null>(null);
  const { peak, lines } = drawn(props, on.value);
  const sides = [rows, cols].map((units, side) => {
    const textUnits = side ? split.b : split.a;
    const weight = (n: number) =>
      Math.max(
        ...(side ? rows : cols).map((m) =>
          Math.abs(split.cells![side ? m * split.b.length + n : n * split.b.length + m]!),
        ),
      );
    const words = units.map((n) => shortText(textUnits[n]!.label, CHARACTERS));
    const wide = words.map((word) => textWidth(word, SIZE) + 10);
    const weights = units.map((n) =>
      n === (side ? choice.pair?.b : choice.pair?.a) ? Number.POSITIVE_INFINITY : weight(n),
    );
    const isTurned = directionOf(textUnits.map(({ label, own }) => (own ? label : "")).join("")) === "rtl";
    return placesOf(wide, weights, width).map(({ x, written }, n) => ({
      ...{ x: isTurned ? width - x : x, written, unit: units[n]!, word: words[n]! },
    }));
  });
  const xOf = (side: number, unit: number) => sides[side]!.find((one) => one.unit === unit)!.x;
  const isChosen = (a: number, b: number) => paper?.selection !== false && choice.pair?.a === a && choice.pair.b === b;
  const pick = (side: number, unit: number) => {
    const link = drawn(props, { side, unit }).lines[0];
    if (link) choice.choose(link);
  };
  return (
    <Drawing
      width={width}
      height={HEIGHT}
      label={`Words of both texts and lines between the pairs with the largest parts, the largest ${choice.words(lines[0] ?? null)}`}
      table={null}
    >
      <g fill="none">
        {[...lines].reverse().map(({ a, b, part }) => {
          const [x, y] = [xOf(0, a), xOf(1, b)];
          const path = `M${x} ${TOP + 6}C${x} ${HEIGHT / 2 + 10} ${y} ${HEIGHT / 2 - 10} ${y} ${HEIGHT - TOP - 8}`;
          const share = Math.abs(part) / peak;
          return (
            <g key={`${a}-${b}`} data-link={`${a}-${b}`}>
              <path
                d={path}
                stroke={part < 0 ? ink.negative : ink.positive}
                stroke-width={1 + 6 * share}
                stroke-opacity={isChosen(a, b) ? 1 : 0.25 + 0.6 * share}
                stroke-dasharray={part < 0 ? "5 3" : undefined}
              />
              {!paper && (
                // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys choose the same pairs
                <path
                  d={path}
                  stroke="#000000"
                  stroke-opacity="0"
                  stroke-width="14"
                  style="cursor: pointer"
                  onClick={() => choice.choose({ a, b })}
                  {...tipped(view, () => choice.words({ a, b }))}
                />
              )}
            </g>
          );
        })}
      </g>
      {sides.map((units, side) =>
        units.map(({ x, unit, word, written }) => {
          const isOn = paper?.selection !== false && (side ? choice.pair?.b : choice.pair?.a) === unit;
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys choose the same pairs
            <text
              key={`${side}-${unit}`}
              x={x}
              y={side ? HEIGHT - 4 : TOP}
              font-size={SIZE}
              text-anchor="middle"
              fill={isOn ? ink["select-text"] : written ? ink.ink : ink.muted}
              font-weight={isOn ? 600 : undefined}
              style="cursor: pointer"
              data-word={`${"ab"[side]}-${unit}`}
              onClick={() => pick(side, unit)}
              onPointerEnter={() => {
                on.value = { side, unit };
              }}
              onPointerLeave={() => {
                on.value = null;
              }}
            >
              {written ? word : "·"}
              <title>{tokenText((side ? split.b : split.a)[unit]!.label)}</title>
            </text>
          );
        }),
      )}
    </Drawing>
  );
}
