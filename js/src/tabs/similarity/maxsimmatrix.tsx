// All products of the tokens that are scored: a ring where a row is highest, what it puts in beside it.
import { useContext } from "preact/hooks";
import { cssColor, inkOn } from "../../paint/colormap";
import { signed } from "../../paint/format";
import { inks, signedColours } from "../../paint/palette";
import { widest } from "../../paint/textwidth";
import { Drawing } from "../../parts/chart";
import { Paper } from "../../parts/paper";
import { shortText } from "../../parts/token";
import { useView } from "../../state/view";
import type { ChosenPair } from "./chosenpair";
import { Cell } from "./paircell";
import type { Split } from "./splits";
import type { Late, Similar } from "./twotexts";

const [SIZE, SMALL] = [11, 10]; // px of letters
const SUM = 50; // px of the column of parts
const [LEAST, READABLE] = [7, 31]; // px of a cell, of one with its number
const UPRIGHT = 16; // px of a column whose name stands upright
const CHARACTERS = 14;
const HIGHEST = 260; // px of all rows together
const DIGITS = 3;

interface Props {
  data: Similar;
  late: Late;
  split: Split;
  rows: number[];
  cols: number[];
  choice: ChosenPair;
  width: number;
}

export function LateMatrix({ data, late, split: { a, b }, rows, cols, choice, width }: Props) {
  const view = useView();
  const paper = useContext(Paper);
  const ink = inks(view.dark);
  const product = (i: number, j: number) => data.pairs!.data[i * b.length + j]!;
  const scale = Math.max(1e-12, ...rows.flatMap((i) => cols.map((j) => Math.abs(product(i, j)))));
  const names = [
    rows.map((i) => shortText(a[i]!.label, CHARACTERS)),
    cols.map((j) => shortText(b[j]!.label, CHARACTERS)),
  ];
  const gutter = Math.ceil(widest(names[0]!, SIZE)) + 8;
  const wide = Math.max(LEAST, Math.min(48, (width - gutter - SUM - 8) / cols.length));
  const tall = Math.max(LEAST, Math.min(22, HIGHEST / rows.length));
  const isTilted = names[1]!.some((name) => widest([name], SIZE) > wide - 4);
  const degrees = wide < UPRIGHT ? 90 : 45;
  const angle = (degrees * Math.PI) / 180;
  const head = isTilted ? Math.ceil(widest(names[1]!, SIZE) * Math.sin(angle)) + 10 : 18;
  const small = Math.min(SMALL, 0.9 * tall);
  const [right, foot] = [gutter + cols.length * wide, head + rows.length * tall];
  const overhang = isTilted ? Math.ceil(widest(names[1]!.slice(-1), SIZE) * Math.cos(angle)) : 0;
  const look = (own: boolean, isOn: boolean) =>
    isOn && paper?.selection !== false
      ? { fill: ink["select-text"], "font-weight": 600 }
      : { fill: own ? ink.ink : ink.muted };
  return (
    <Drawing
      width={Math.max(right + SUM, right + overhang - wide / 2)}
      height={foot + 4}
      label={`${late.normal ? "Cosines" : "Products"} of all tokens: rows are of the query, columns of the passage, a ring at the highest of each row`}
      table={() => ({
        columns: ["query", ...cols.map((j) => b[j]!.label), "part"],
        rows: rows.map((i) => [a[i]!.label, ...cols.map((j) => product(i, j)), late.parts[i]!]),
      })}
    >
      {rows.map((i, r) => (
        <text
          key={i}
          x={gutter - 6}
          y={head + (r + 0.5) * tall + 0.35 * Math.min(SIZE, tall)}
          font-size={Math.min(SIZE, tall)}
          text-anchor="end"
          {...look(a[i]!.own, choice.pair?.a === i)}
        >
          {names[0]![r]}
        </text>
      ))}
      {cols.map((j, c) => (
        <text
          key={j}
          font-size={Math.min(SIZE, Math.max(7, wide))}
          {...(isTilted
            ? { transform: `translate(${gutter + (c + 0.5) * wide + 3} ${head - 5}) rotate(-${degrees})` }
            : { x: gutter + (c + 0.5) * wide, y: head - 6, "text-anchor": "middle" })}
          {...look(b[j]!.own, choice.pair?.b === j)}
        >
          {names[1]![c]}
        </text>
      ))}
      {rows.map((i, r) =>
        cols.map((j, c) => {
          const value = product(i, j);
          const fill = cssColor(value, -scale, scale, signedColours(view.dark));
          const isBest = late.best[i] === j;
          const isChosen = choice.pair?.a === i && choice.pair.b === j && paper?.selection !== false;
          const [x, y] = [gutter + c * wide, head + r * tall];
          return (
            <Cell
              key={`${i}-${j}`}
              name={`${i}-${j}`}
              at={[x, y]}
              size={[wide, tall]}
              {...{ fill, isChosen }}
              about={() => choice.words({ a: i, b: j })}
              choose={() => choice.choose({ a: i, b: j })}
            >
              {isBest && (
                <rect
                  data-best
                  x={x + 2}
                  y={y + 2}
                  width={wide - 4}
                  height={tall - 4}
                  rx={Math.min(wide, tall) / 2 - 2}
                  fill="none"
                  stroke={inkOn(fill)}
                  stroke-width="1.5"
                />
              )}
              {wide >= READABLE && (isBest || isChosen) && (
                <text
                  x={x + wide / 2}
                  y={y + 0.5 * tall + 0.35 * small}
                  font-size={small}
                  text-anchor="middle"
                  fill={inkOn(fill)}
                >
                  {signed(value, 2)}
                </text>
              )}
            </Cell>
          );
        }),
      )}
      <g font-size={SMALL} fill={ink.muted} text-anchor="end" data-parts>
        <text x={right + SUM - 6} y={head - 6}>
          {isTilted ? "" : "part"}
        </text>
        {rows.map((i, r) => (
          <text key={i} x={right + SUM - 6} y={head + (r + 0.5) * tall + 0.35 * small} font-size={small}>
            {signed(late.parts[i]!, DIGITS)}
          </text>
        ))}
      </g>
    </Drawing>
  );
}
