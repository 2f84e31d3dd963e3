// The pictures of the Why tab as charts, on the screen and on paper: bars from 0 to the net, the largest parts, the
// earlier layers, and the kinds of both sides.

import { useMemo } from "preact/hooks";
import { largestSize } from "../../compute/largest";
import { SOURCES } from "../../generated/vocabulary";
import { cssColor, indexed, inkOn } from "../../paint/colormap";
import { signed, upTo } from "../../paint/format";
import { inks, signedColours } from "../../paint/palette";
import { textWidth, widest } from "../../paint/textwidth";
import { Drawing } from "../../parts/chart";
import { HeatChart } from "../../parts/heatchart";
import { Legend, signedEnds } from "../../parts/legend";
import { tokenQuote } from "../../parts/token";
import { showTip } from "../../parts/tooltip";
import { useView } from "../../state/view";
import type { Part, Split } from "../../state/whystate";
import { difference, isTerm, nats, type Pairs, partName } from "./scoresplit";

const [STEP, BAR, WIDTH] = [24, 16, 240]; // px of a row, of its bar, from the lowest to the highest value

interface Row {
  name: string;
  from: number;
  to: number;
  net?: boolean;
}

/** Rows of bars on one scale, each with its number; in a chain each begins where the one above ended. */
function Bars({ rows, label, chain, foot = "" }: { rows: Row[]; label: string; chain?: boolean; foot?: string }) {
  const { ink, muted, border, positive, negative } = inks(useView().dark);
  const ends = rows.flatMap(({ from, to }) => [from, to]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const gutter = Math.ceil(
    widest(
      rows.map(({ name }) => name),
      12,
    ),
  );
  const x = (value: number) => gutter + 10 + ((value - low) / (high - low || 1)) * WIDTH;
  const height = rows.length * STEP;
  const table = () => ({
    columns: chain ? ["part", "nats", "sum so far"] : ["part", "nats"],
    rows: rows.map(({ name, from, to }) => [name, to - from, ...(chain ? [to] : [])]),
  });
  const width = Math.max(gutter + 10 + WIDTH + 76, textWidth(foot, 11));
  return (
    <Drawing width={width} height={height + (foot ? 24 : 4)} label={label} table={table}>
      <line x1={x(0)} x2={x(0)} y1="0" y2={height} stroke={border} stroke-dasharray="3 3" />
      <g font-size="12" fill={ink}>
        {rows.map(({ name, from, to, net }, n) => (
          <g key={n} transform={`translate(0 ${n * STEP})`} font-weight={net ? 700 : 400}>
            <title>{`${name}: ${nats(to - from)}`}</title>
            <text x={gutter} y="16" text-anchor="end">
              {name}
            </text>
            <rect
              x={x(Math.min(from, to))}
              y={(STEP - BAR) / 2}
              width={Math.max(1, Math.abs(x(to) - x(from)))}
              height={BAR}
              fill={net ? ink : to < from ? negative : positive}
            />
            {chain && n + 1 < rows.length && (
              <line x1={x(to)} x2={x(to)} y1={(STEP + BAR) / 2} y2={STEP + (STEP - BAR) / 2} stroke={muted} />
            )}
            <text x={x(Math.max(from, to)) + 6} y="16" data-net={net ? "" : undefined}>
              {signed(to - from)}
              {net && " nats"}
            </text>
          </g>
        ))}
        {foot && (
          <text x="0" y={height + 18} font-size="11" fill={muted}>
            {foot}
          </text>
        )}
      </g>
    </Drawing>
  );
}

/** From 0 to the net, kind by kind. */
export function Waterfall({ split, label }: { split: Split; label: string }) {
  let at = 0;
  const rows = split.kinds.map(([kind, value]) => {
    const from = at;
    at += value;
    return { name: SOURCES[kind]!.label, from, to: at };
  });
  return <Bars rows={[...rows, { name: "net", from: 0, to: split.total, net: true }]} label={label} chain />;
}

/** The token that an earlier head's part came from. */
export const fromToken = ({ token }: Part, tokens: string[]): string =>
  token === null ? "" : `from ${tokenQuote(tokens[token]!)}`;

export const othersName = ({ others }: Split): string => `${others.count} small part${others.count === 1 ? "" : "s"}`;

/** What stands below every picture of a sum. */
export const footWords = ({ total, model, gap }: Pick<Split, "total" | "model" | "gap">): string =>
  `sum ${signed(total, 4)} · the model’s own ${signed(model, 4)} · difference ${difference(gap)}`;

/** Σ|parts|, and how much of it cancels. */
export const spreadWords = ({ absolute, spread }: Split): string =>
  spread === null
    ? `Σ|parts| = ${signed(absolute)} nats; the net is under 0.1 nats, so no ratio to it is shown`
    : `Σ|parts| ÷ |net| = ${spread.toFixed(1)}`;

/** The largest parts on paper; on the screen they are a list whose heads can be followed. */
export function LargestChart({ split }: { split: Split }) {
  const { tokens } = useView().overview.keyside;
  const rows = split.largest.map((part) => ({
    name: `${partName(part)} ${fromToken(part, tokens)}`.trim(),
    from: 0,
    to: part.value,
  }));
  if (split.others.count > 0) rows.push({ name: othersName(split), from: 0, to: split.others.value });
  return <Bars rows={rows} label="Largest parts" foot={spreadWords(split)} />;
}

/** What every head and MLP of the earlier layers put in, on one scale. */
export function EarlierLayers({ split }: { split: Split }) {
  const view = useView();
  const { dark } = view;
  const { heads, mlps, layer } = split;
  const { cells, peak } = useMemo(() => earlierCells(split), [split]);
  if (!heads || !layer) return null;
  const H = heads.length / layer;
  const cols = [...upTo(H).map(String), ...(mlps ? ["MLP"] : [])];
  const colours = signedColours(dark);
  const { entries, palette } = indexed(cells, -peak, peak, colours);
  const cell = Math.min(20, 300 / Math.max(cols.length, layer));
  const name = (row: number, col: number) =>
    partName({ kind: col < H ? "head" : "mlp", layer: row, head: col < H ? col : null });
  return (
    <>
      <HeatChart
        label={`What the ${layer === 1 ? "earlier layer" : `${layer} earlier layers`} put in: heads${mlps ? " and MLPs" : ""}`}
        rows={upTo(layer).map((row) => `L${row}`)}
        {...{ cols, values: cells, entries, palette, dark }}
        width={cell * cols.length}
        height={cell * layer}
        onHover={(at, event) =>
          showTip(view, event, at && `${name(at.row, at.col)}: ${nats(cells[at.row * cols.length + at.col]!)}`)
        }
      />
      <Legend {...signedEnds(peak)} label="nats" colours={colours} />
    </>
  );
}

/** Heads of a layer beside one another, its MLP last; and the largest size. */
function earlierCells({ heads, mlps, layer }: Split): { cells: Float32Array; peak: number } {
  const H = heads ? heads.length / layer : 0;
  const cells = Float32Array.from(
    upTo(layer).flatMap((l) => [...(heads?.subarray(l * H, (l + 1) * H) ?? []), ...(mlps ? [mlps[l]!] : [])]),
  );
  return { cells, peak: largestSize(cells) || 1 };
}

const [WIDE, TALL] = [68, 24]; // px of a cell

/**
 * A raw score by the kinds of both sides, each cell with its number, and the sums of rows and columns. What is beside q·k
 * belongs to both sides at once: a row with its sum alone.
 */
export function PairsChart({ pairs, label, foot = "" }: { pairs: Pairs; label: string; foot?: string }) {
  const { dark } = useView();
  const { ink, muted } = inks(dark);
  const { kinds, values, total } = pairs;
  const at = (r: number, c: number) => values[r * kinds.length + c]!;
  const names = kinds.map((kind) => SOURCES[kind]!.label);
  const C = kinds.filter((kind) => !isTerm(kind)).length;
  const R = kinds.length;
  const gutter = Math.ceil(widest(names, 12)) + 10;
  const top = 42;
  const cells = upTo(C).flatMap((r) => upTo(C).map((c) => at(r, c)));
  const peak = largestSize(cells) || 1;
  const colours = signedColours(dark);
  const x = (c: number) => gutter + c * WIDE;
  const y = (r: number) => top + r * TALL;
  const sum = (numbers: number[]) => numbers.reduce((all, value) => all + value, 0);
  const down = upTo(R).map((r) => sum(upTo(R).map((c) => at(r, c))));
  const across = upTo(C).map((c) => sum(upTo(C).map((r) => at(r, c))));
  const table = () => ({
    columns: ["of the query, down; of the key, across", ...names.slice(0, C), "sum"],
    rows: [
      ...upTo(R).map((r) => [names[r]!, ...upTo(C).map((c) => (r < C ? at(r, c) : "")), down[r]!]),
      ["sum", ...across, total],
    ],
  });
  const text = (r: number, c: number, value: number, fill: string) => (
    <text x={x(c) + WIDE / 2} y={y(r) + 16} text-anchor="middle" fill={fill}>
      {signed(value)}
    </text>
  );
  return (
    <Drawing
      width={Math.max(x(C + 1), textWidth(foot, 12))}
      height={y(R + 1) + (foot ? 28 : 4)}
      label={label}
      table={table}
      wide
    >
      <g font-size="12" fill={ink}>
        <text x={gutter} y="12" fill={muted}>
          sources of the key
        </text>
        <text x="0" y="32" fill={muted}>
          of the query
        </text>
        {foot && (
          <text x="0" y={y(R + 1) + 20}>
            {foot}
          </text>
        )}
        {names.map((name, n) => (
          <g key={name}>
            {n < C && (
              <text x={x(n) + WIDE / 2} y="32" text-anchor="middle">
                {name.split(" ")[name.startsWith("earlier") ? 1 : 0]}
              </text>
            )}
            <text x={gutter - 8} y={y(n) + 16} text-anchor="end">
              {name}
            </text>
          </g>
        ))}
        <text x={x(C) + WIDE / 2} y="32" text-anchor="middle" font-weight="700">
          sum
        </text>
        <text x={gutter - 8} y={y(R) + 16} text-anchor="end" font-weight="700">
          sum
        </text>
        {cells.map((value, n) => {
          const [r, c] = [Math.floor(n / C), n % C];
          const fill = cssColor(value, -peak, peak, colours);
          return (
            <g key={n}>
              <title>{`${names[r]} of the query, ${names[c]} of the key: ${nats(value)}`}</title>
              <rect x={x(c)} y={y(r)} width={WIDE - 1} height={TALL - 1} fill={fill} />
              {text(r, c, value, inkOn(fill))}
            </g>
          );
        })}
        <g font-weight="700">
          {names.map((name, n) => (
            <g key={name}>
              {text(n, C, down[n]!, ink)}
              {n < C && text(R, n, across[n]!, ink)}
            </g>
          ))}
          {text(R, C, total, ink)}
        </g>
      </g>
    </Drawing>
  );
}
