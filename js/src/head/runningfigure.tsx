// Running text on paper: the words in lines, each on its shade, the token that they are shaded by framed.

import { useContext } from "preact/hooks";
import { edges } from "../compute/grid";
import { cssColor, inkOn } from "../paint/colormap";
import { inks } from "../paint/palette";
import { textWidth } from "../paint/textwidth";
import { Drawing } from "../parts/chart";
import { Legend } from "../parts/legend";
import { Paper } from "../parts/paper";
import { tokenText } from "../parts/token";
import { useView } from "../state/view";
import { laid, legendOf, shadesOf, written } from "./running";

const [LETTER, LINE, BLANK, WIDE] = [11, 20, 4, 560];

export function RunningFigure() {
  const view = useView();
  const inner = useContext(Paper)?.inner || WIDE;
  const shades = shadesOf(view);
  if (!shades) return null;
  const { overview, dark } = view;
  const { to, unit: source, units, values, scale } = shades;
  const starts = edges(overview.spans, units);
  const isTurned = laid(units) === "rtl";
  let [x, y] = [0, 0];
  const words = units.map((unit, n) => {
    const { text, hasBlank } = written(to ? overview.queries : overview.keyside, unit);
    const label = tokenText(text);
    const width = textWidth(label, LETTER) + 2;
    if (n > 0 && hasBlank) x += BLANK;
    if (starts.includes(n) || (x > 0 && x + width > inner)) [x, y] = [0, y + LINE];
    const fill = cssColor(values[n]!, scale.lo, scale.hi, scale.colours);
    const word = (
      <g key={n} transform={`translate(${(isTurned ? inner - x - width : x).toFixed(1)} ${y})`}>
        <rect
          width={width.toFixed(1)}
          height={LINE - 3}
          fill={fill}
          stroke={overview.square && unit.pieces[0] === source.pieces[0] ? inks(dark).select : "none"}
          stroke-width="2"
        />
        <text x={(width / 2).toFixed(1)} y="12" text-anchor="middle" fill={inkOn(fill)}>
          {label}
        </text>
      </g>
    );
    x += width;
    return word;
  });
  return (
    <>
      <Drawing width={inner} height={y + LINE} label={scale.name} table={null}>
        <g font-size={LETTER} transform="translate(1 1)">
          {words}
        </g>
      </Drawing>
      <Legend {...legendOf(shades)} />
    </>
  );
}
