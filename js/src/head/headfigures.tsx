// The head view on paper: as the view shows it, but as a chart.

import { useContext } from "preact/hooks";
import { edges } from "../compute/grid";
import { chooseLines } from "../compute/linechoice";
import { isLong } from "../compute/windows";
import { MISSING } from "../generated/vocabulary";
import { indexed } from "../paint/colormap";
import { share } from "../paint/format";
import { headColour, headDash, inks } from "../paint/palette";
import { widest } from "../paint/textwidth";
import { Drawing } from "../parts/chart";
import { cellWithin, HeatChart } from "../parts/heatchart";
import { Paper } from "../parts/paper";
import { tokenText } from "../parts/token";
import { useView } from "../state/view";
import { lineColour, linesChart } from "./lines";
import { linesPart } from "./long/linespart";
import { lookingAt, pixelWords, scaleAt, seenPart } from "./long/zoompart";
import { MapLegend } from "./matrix";
import { currentScale } from "./scale";

/** Heat map with tokens on both sides. */
export function MapFigure() {
  const view = useView();
  const { row, col, dark, overview } = view;
  const sheet = useContext(Paper);
  const isPart = isLong(view.grid.rows.length, view.grid.cols.length);
  const { level, region } = lookingAt(view);
  const grid = isPart ? seenPart(view) : view.grid;
  const scale = isPart ? scaleAt(view, level) : currentScale(view);
  const [top, left] = isPart ? [region.row, region.col] : [0, 0];
  const inPart = (n: number | null, from: number) => (n === null || (isPart && level.edge > 1) ? null : n - from);
  const [rows, cols] = [grid.rows, grid.cols].map((units) => units.map(({ label }) => label));
  const cell = sheet?.inner
    ? cellWithin(sheet.inner, rows!.map(tokenText), cols!.map(tokenText))
    : Math.max(6, Math.min(18, Math.floor(720 / Math.max(rows!.length, cols!.length, 1))));
  const { entries, palette, hasNaN } = indexed(grid.values.matrix!, scale.lo, scale.hi, scale.colours);
  return (
    <>
      <HeatChart
        label={scale.name}
        rows={rows!}
        cols={cols!}
        values={grid.values.matrix!}
        {...{ entries, palette, dark }}
        axes={["query", "key"]}
        edges={{ rows: edges(overview.spans, grid.rows), cols: edges(overview.spans, grid.cols) }}
        pinned={sheet?.selection === false ? undefined : { row: inPart(row, top), col: inPart(col, left) }}
        width={cols!.length * cell}
        height={rows!.length * cell}
      />
      <MapLegend
        scale={scale}
        note={(isPart ? pixelWords(view, level) : "") + (hasNaN ? `, ${MISSING}: not a number` : "")}
      />
    </>
  );
}

const [STEP, MIDDLE] = [18, 260]; // px of a token, between the tokens

/** Tokens left (queries) and right (keys), joined by lines whose opacity is the weight. */
export function LinesFigure() {
  const view = linesPart(useView());
  const chart = linesChart(view);
  const { series, scale, full, minimum } = chart;
  const { dark } = view;
  const sheet = useContext(Paper);
  const { muted, ink, "select-text": select } = inks(dark);
  const [rows, cols] = [view.grid.rows, view.grid.cols].map((units) => units.map(({ label }) => tokenText(label)));
  const gutter = Math.ceil(widest([...rows!, "query"], 11)) + 8;
  const room = (sheet?.inner ?? 0) - gutter - widest([...cols!, "key"], 11) - 8;
  const right = gutter + (sheet?.inner ? Math.max(60, room) : MIDDLE);
  const bend = 0.4 * (right - gutter);
  const top = 16 * series.length + 26;
  const height = top + STEP * Math.max(rows!.length, cols!.length) + 20;
  const legend = `opacity and width: ${scale.signed ? "size of " : ""}${scale.symbol}, from ${share(minimum)} to ${share(full)}`;
  const y = (n: number) => top + (n + 0.5) * STEP;
  const column = (texts: string[], x: number, pinned: number | null) =>
    texts.map((text, n) => (
      <text
        key={n}
        x={x}
        y={y(n) + 4}
        {...(n === pinned && sheet?.selection !== false ? { fill: select, "font-weight": 600 } : {})}
      >
        {text}
      </text>
    ));
  const dash = (n: number) => headDash(n).join(" ") || undefined;
  return (
    <Drawing
      width={Math.max(right + widest([...cols!, "key"], 11) + 8, gutter + widest([legend], 11))}
      height={height}
      label={scale.name}
      table={null}
    >
      <g font-size="11" fill={ink}>
        {series.map(({ name }, n) => (
          <g key={n} transform={`translate(${gutter} ${16 * n + 6})`}>
            <path d="M0 0H26" stroke={headColour(n, dark, series.length)} stroke-width="3" stroke-dasharray={dash(n)} />
            <text x="34" y="4">
              {name}
            </text>
          </g>
        ))}
        <g fill={muted}>
          <text x={gutter - 4} y={top - 8} text-anchor="end">
            query
          </text>
          <text x={right + 4} y={top - 8}>
            key
          </text>
          <text x={gutter} y={height - 4}>
            {legend}
          </text>
        </g>
        <g fill="none">
          {chooseLines(series, minimum, null, null).lines.map((line, n) => (
            <path
              key={n}
              d={`M${gutter + 4} ${y(line.row)}C${gutter + bend} ${y(line.row)} ${right - bend} ${y(line.col)} ${right - 4} ${y(line.col)}`}
              stroke={lineColour(chart, line.series, line.weight, dark)}
              stroke-opacity={Math.max(0.03, Math.min(1, Math.abs(line.weight) / full)).toFixed(3)}
              stroke-width={(0.75 + 2.25 * Math.min(1, Math.abs(line.weight) / full)).toFixed(2)}
              stroke-dasharray={dash(line.series)}
            />
          ))}
        </g>
        <g stroke={muted} data-edges>
          {edges(view.overview.spans, view.grid.rows).map((n) => (
            <path key={n} d={`M0 ${y(n - 0.5)}H${gutter}`} />
          ))}
          {edges(view.overview.spans, view.grid.cols).map((n) => (
            <path key={n} d={`M${right} ${y(n - 0.5)}h${widest(cols!, 11) + 4}`} />
          ))}
        </g>
        <g text-anchor="end">{column(rows!, gutter - 4, view.row)}</g>
        <g>{column(cols!, right + 4, view.col)}</g>
      </g>
    </Drawing>
  );
}
