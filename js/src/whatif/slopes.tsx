// Answers before and after a change: one line each, its slope and its numbers.

import { signed } from "../paint/format";
import { inks } from "../paint/palette";
import { isolate } from "../paint/quotes";
import { ranked } from "../paint/ranked";
import { Drawing, scale } from "../parts/chart";
import { shortText } from "../parts/token";
import type { AnswerRow } from "../state/effects";
import { useView } from "../state/view";

const [WIDTH, LINE, TOP] = [330, 17, 26]; // px; of a line of text; above the lines
const [FROM, TO] = [140, 206];

/** Places from top to bottom, none nearer than a line to the one before. */
export function spread(wanted: number[], low: number): number[] {
  const order = wanted.map((_, n) => n).sort((a, b) => wanted[a]! - wanted[b]!);
  const places = [...wanted];
  let bound = low;
  for (const n of order) {
    places[n] = Math.max(bound, wanted[n]!);
    bound = places[n]! + LINE;
  }
  return places;
}

/** A name that fits beside its line. */
const short = (name: string) => shortText(name, 14);

/** The number as an answer has it; a cosine is told apart from 1. */
const amount = (value: number, unit: string) =>
  unit === "logit" ? signed(value) : unit === "cosine" ? ranked([1, value])[1]! : signed(value, 3);

/** The numbers of an answer, the best first. */
export const amounts = (values: number[], unit: string) =>
  unit === "cosine" ? values.map((value) => amount(value, unit)) : ranked(values, unit === "logit" ? 2 : 3);

export function Slopes({ rows, unit, label }: { rows: AnswerRow[]; unit: string; label: string }) {
  const { dark } = useView();
  const { ink, muted, select, border } = inks(dark);
  const values = rows.flatMap(({ before, after }) => [before, after]);
  const [lo, hi] = [Math.min(...values), Math.max(...values)];
  const height = Math.max(1, rows.length - 1) * (LINE + 4);
  const y = hi - lo < 1e-9 ? () => TOP + height / 2 : scale(lo, hi, TOP + height, TOP, 0);
  const ends = (["before", "after"] as const).map((side) =>
    spread(
      rows.map((row) => y(row[side])),
      TOP,
    ),
  );
  const bottom = Math.max(...ends.flat(), TOP + height) + 10;
  const spoken = rows.map((row) => `${isolate(row.name)} ${amount(row.before, unit)} → ${amount(row.after, unit)}`);
  return (
    <Drawing width={WIDTH} height={bottom} label={`${label}: ${spoken.join("; ")}`} table={null}>
      <g font-size="11" fill={muted}>
        <text x={FROM} y={11} text-anchor="middle">
          before
        </text>
        <text x={TO} y={11} text-anchor="middle">
          after
        </text>
      </g>
      {[FROM, TO].map((x) => (
        <line key={x} x1={x} x2={x} y1={TOP - 8} y2={bottom - 2} stroke={border} />
      ))}
      {rows.map(({ name, before, after }, n) => (
        <g key={n} font-size="12">
          <title>{`${isolate(name)}: ${before.toFixed(4)} → ${after.toFixed(4)} (${unit})`}</title>
          <line x1={FROM} y1={y(before)} x2={TO} y2={y(after)} stroke={muted} stroke-width="1.5" />
          <circle cx={FROM} cy={y(before)} r="3.5" fill={ink} />
          <circle cx={TO} cy={y(after)} r="3.5" fill={select} />
          <text x={FROM - 9} y={ends[0]![n]! + 4} text-anchor="end" fill={ink}>
            {short(name)} {amount(before, unit)}
          </text>
          <text x={TO + 9} y={ends[1]![n]! + 4} fill={ink}>
            {amount(after, unit)}
            {rows.length > 1 && <tspan fill={muted}> {short(name)}</tspan>}
          </text>
        </g>
      ))}
    </Drawing>
  );
}
