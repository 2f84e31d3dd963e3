// The matrix that sums to the number: a cell for each pair of words, what is left out together, sums at both sides.
import { useContext } from "preact/hooks";
import { cssColor, inkOn } from "../../paint/colormap";
import { signed } from "../../paint/format";
import { inks, signedColours } from "../../paint/palette";
import { widest } from "../../paint/textwidth";
import { Drawing } from "../../parts/chart";
import { Paper } from "../../parts/paper";
import { shortText, tokenWord } from "../../parts/token";
import { useView } from "../../state/view";
import type { ChosenPair } from "./chosenpair";
import { Cell } from "./paircell";
import type { Folded, Line } from "./splits";

const [SIZE, SMALL] = [11, 10]; // px of letters
const SUM = 46; // px of a column of sums
const [LEAST, READABLE] = [9, 31]; // px of a cell, of one with its number
const UPRIGHT = 16; // px of a column whose name stands upright
const CHARACTERS = 14;
const HIGHEST = 240; // px of all rows together
const LARGE = 0.2; // of the largest cell: its number is written

export function SumMatrix({
  folded,
  choice,
  width,
  digits,
}: {
  folded: Folded;
  choice: ChosenPair;
  width: number;
  digits: number;
}) {
  const view = useView();
  const paper = useContext(Paper);
  const ink = inks(view.dark);
  const { rows, cols, cells, rowSums, colSums } = folded;
  const units = cols.filter(({ kind }) => kind === "unit").length;
  const label = ({ label }: Line) => shortText(label, CHARACTERS);
  const [gutter, sums] = [Math.ceil(widest(rows.map(label), SIZE)) + 8, (cols.length - units) * SUM];
  const wide = Math.max(LEAST, Math.min(64, (width - gutter - sums - SUM - 12) / Math.max(1, units)));
  const tall = Math.max(LEAST, Math.min(22, HIGHEST / rows.length));
  const names = cols.map(label);
  const degrees = wide < UPRIGHT ? 90 : 45;
  const angle = (degrees * Math.PI) / 180;
  const isTilted = names.some((name, n) => widest([name], SIZE) > (n < units ? wide : SUM) - 4);
  const head = isTilted ? Math.ceil(widest(names, SIZE) * Math.sin(angle)) + SIZE + 10 : 18;
  const xOf = (n: number) => gutter + (n < units ? n * wide : units * wide + 6 + (n - units) * SUM);
  const wideOf = (n: number) => (n < units ? wide : SUM);
  const unitRows = rows.filter(({ kind }) => kind === "unit").length;
  const yOf = (n: number) => head + n * tall + (n >= unitRows ? 4 : 0);
  const [right, foot] = [xOf(cols.length) + 6, yOf(rows.length) + 4];
  const peak = Math.max(0, ...cells.slice(0, unitRows).flatMap((row) => row.slice(0, units).map(Math.abs)));
  const scale = peak || 1;
  const small = Math.min(SMALL, 0.9 * tall);
  const text = (value: number) => signed(value, digits);
  const slanted = wide < READABLE;
  const total = rowSums.reduce((sum, value) => sum + value, 0);
  const overhang = isTilted ? Math.ceil(widest(names.slice(-1), SIZE) * Math.cos(angle)) : 0;
  return (
    <Drawing
      width={Math.max(right + SUM, xOf(cols.length) - SUM / 2 + overhang)}
      height={foot + (slanted ? 40 : 16)}
      label={`Parts of ${text(total)}: rows are words of text a, columns words of text b`}
      table={() => ({
        columns: ["a", ...cols.map((line) => line.label), "sum"],
        rows: [...rows.map((line, r) => [line.label, ...cells[r]!, rowSums[r]!]), ["sum", ...colSums, total]],
      })}
    >
      <g font-size={SIZE} fill={ink.ink}>
        {rows.map((line, r) => (
          <text
            key={r}
            x={gutter - 6}
            y={yOf(r) + 0.5 * tall + 0.35 * Math.min(SIZE, tall)}
            font-size={Math.min(SIZE, tall)}
            text-anchor="end"
            {...look(line, choice.pair?.a)}
          >
            {label(line)}
          </text>
        ))}
        {cols.map((line, c) => (
          <text
            key={c}
            font-size={Math.min(SIZE, Math.max(8, wideOf(c)))}
            {...(isTilted
              ? { transform: `translate(${xOf(c) + wideOf(c) / 2 + 3} ${head - 5}) rotate(-${degrees})` }
              : { x: xOf(c) + wideOf(c) / 2, y: head - 6, "text-anchor": "middle" })}
            {...look(line, choice.pair?.b)}
          >
            {label(line)}
          </text>
        ))}
      </g>
      {rows.map((row, r) =>
        cols.map((col, c) => {
          const value = cells[r]![c]!;
          const isCell = row.kind === "unit" && col.kind === "unit";
          const fill = isCell ? cssColor(value, -scale, scale, signedColours(view.dark)) : ink.soft;
          const [a, b] = [row.units[0]!, col.units[0]!];
          const isChosen = isCell && choice.pair?.a === a && choice.pair.b === b && paper?.selection !== false;
          const isWritten = wideOf(c) >= READABLE && (!isCell || Math.abs(value) >= LARGE * scale || isChosen);
          const about = () =>
            isCell
              ? choice.words({ a, b })
              : `${tokenWord(row.label)} – ${tokenWord(col.label)}: ${text(value)} of ${text(total)}`;
          return (
            <Cell
              key={`${r}-${c}`}
              name={`${r}-${c}`}
              at={[xOf(c), yOf(r)]}
              size={[wideOf(c), tall]}
              {...{ fill, isChosen, about }}
              choose={() => isCell && choice.choose({ a, b })}
            >
              {isWritten && (
                <text
                  x={xOf(c) + wideOf(c) / 2}
                  y={yOf(r) + 0.5 * tall + 0.35 * small}
                  font-size={small}
                  text-anchor="middle"
                  fill={isCell ? inkOn(fill) : ink.muted}
                >
                  {text(value)}
                </text>
              )}
            </Cell>
          );
        }),
      )}
      <g font-size={SMALL} fill={ink.muted} data-sums>
        {rowSums.map((value, r) => (
          <text key={r} x={right + SUM - 6} y={yOf(r) + 0.5 * tall + 0.35 * small} font-size={small} text-anchor="end">
            {text(value)}
          </text>
        ))}
        {colSums.map((value, c) => {
          const [x, y] = [xOf(c) + wideOf(c) / 2, foot + 8];
          return c < units && slanted ? (
            <text
              key={c}
              transform={`translate(${x + 3} ${foot + 2}) rotate(-90)`}
              font-size={Math.min(SMALL, Math.max(8, wide))}
              text-anchor="end"
            >
              {text(value)}
            </text>
          ) : (
            <text key={c} x={x} y={y} text-anchor="middle">
              {text(value)}
            </text>
          );
        })}
        <text x={right + SUM - 6} y={foot + 8} text-anchor="end" font-weight="600" fill={ink.ink}>
          {text(total)}
        </text>
        <text x={right + SUM - 6} y={head - 6} text-anchor="end">
          sum
        </text>
        <text x={gutter - 6} y={foot + 8} text-anchor="end">
          sum
        </text>
      </g>
    </Drawing>
  );

  function look({ units: own, kind }: Line, unit: number | undefined) {
    if (kind !== "unit") return { fill: ink.muted };
    return own[0] === unit && paper?.selection !== false ? { fill: ink["select-text"], "font-weight": 600 } : {};
  }
}
