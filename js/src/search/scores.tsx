// Both scores on one line each, before and after what was taken out or rewritten.
import { signed } from "../paint/format";
import { inks } from "../paint/palette";
import { textWidth } from "../paint/textwidth";
import { Drawing, scale } from "../parts/chart";
import type { Pair } from "./shapes";

const [LINE, TOP, AXIS] = [30, 16, 20]; // px
const DIGITS = 3;

interface Props {
  names: [wrong: string, right: string];
  before: Pair;
  after: Pair | null;
  width: number;
  dark: boolean;
}

/** Numbers with so many decimals that the two scores differ in print. */
export function digitsOf(...pairs: (Pair | null)[]): number {
  const isBlurred = (digits: number) =>
    pairs.some((pair) => pair && pair[0] !== pair[1] && pair[0].toFixed(digits) === pair[1].toFixed(digits));
  let digits = DIGITS;
  while (digits < 6 && isBlurred(digits)) digits++;
  return digits;
}

export function Scores({ names, before, after, width, dark }: Props) {
  const ink = inks(dark);
  const now = after ?? before;
  const numbers = [...before, ...now];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const digits = digitsOf(before, after);
  const margin = Math.max(1e-3, 0.15 * (high - low));
  const gutter = Math.max(...names.map((name) => textWidth(name, 12))) + 14;
  const right = width - textWidth(signed(now[0], digits), 15) - 18;
  const x = scale(low - margin, high + margin, gutter, right, 4);
  const height = TOP + 2 * LINE + AXIS;
  const step = Math.abs((x.ticks[1] ?? 1) - (x.ticks[0] ?? 0));
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return (
    <Drawing
      width={width}
      height={height}
      label={`Scores: ${names.map((name, n) => `${name} ${signed(before[n]!, digits)}${after ? `, then ${signed(after[n]!, digits)}` : ""}`).join("; ")}`}
      table={null}
    >
      {x.ticks.map((tick) => (
        <g key={tick}>
          <line x1={x(tick)} x2={x(tick)} y1={TOP - 8} y2={TOP + 2 * LINE - 10} stroke={ink.border} />
          <text x={x(tick)} y={height - 6} font-size="12" text-anchor="middle" fill={ink.muted}>
            {signed(tick, decimals)}
          </text>
        </g>
      ))}
      {names.map((name, n) => {
        const y = TOP + n * LINE;
        const [from, to] = [x(before[n]!), x(now[n]!)];
        const colour = n === 0 ? ink.positive : ink.negative;
        const hasMoved = Math.abs(to - from) > 0.5;
        return (
          <g key={n} data-score={n}>
            <text x={gutter - 10} y={y + 4} font-size="12" text-anchor="end" fill={ink.ink}>
              {name}
            </text>
            <line x1={gutter} x2={right} y1={y} y2={y} stroke={ink.border} />
            {hasMoved && (
              <>
                <line x1={from} x2={to} y1={y} y2={y} stroke={colour} stroke-width="3" />
                <circle cx={from} cy={y} r="5" fill={ink.bg} stroke={colour} stroke-width="2" stroke-dasharray="2 2" />
              </>
            )}
            <circle cx={to} cy={y} r="6" fill={colour} />
            <text x={width - 4} y={y + 5} font-size="16" font-weight="600" text-anchor="end" fill={ink.ink}>
              {signed(now[n]!, digits)}
            </text>
          </g>
        );
      })}
    </Drawing>
  );
}
