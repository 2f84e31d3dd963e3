// A heat map as a chart: names along its sides and one embedded picture for its cells, so that it can leave the page.
import { useMemo } from "preact/hooks";
import { textWidth } from "../export/svg";
import { dataUri, png } from "../paint/bitmap";
import { Drawing, inks } from "./chart";
import { visibleText } from "./token";

const TILT = 55;
const LEAST = 7; // pixels of a cell whose name can be read
const LONGEST = 24; // characters of a name that are written out

function short(name: string): string {
  const characters = Array.from(visibleText(name));
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST - 1).join("")}…` : characters.join("");
}

export interface Cell {
  row: number;
  col: number;
}

export function HeatChart(props: {
  label: string; // for who cannot see it
  rows: string[];
  cols: string[];
  entries: Uint8Array; // (rows·cols) of the palette
  palette: Uint8Array; // 256 RGB triples
  width: number; // of the cells together
  height: number;
  dark: boolean;
  onHover: (cell: Cell | null, event: PointerEvent) => void;
  onPick?: (cell: Cell) => void;
}) {
  const { width, height, dark } = props;
  const [rows, cols] = [props.rows.map(short), props.cols.map(short)];
  const { muted, grid } = inks(dark);
  const href = useMemo(
    () => dataUri(png(props.entries, cols.length, rows.length, props.palette)),
    [props.entries, props.palette, cols.length, rows.length],
  );
  const [cellWidth, cellHeight] = [width / cols.length, height / rows.length];
  const named = { rows: cellHeight >= LEAST, cols: cellWidth >= LEAST };
  const size = (cell: number) => Math.min(11, 0.95 * cell);
  const longest = (texts: string[], cell: number) => Math.max(0, ...texts.map((text) => textWidth(text, size(cell))));
  const left = named.rows ? Math.ceil(longest(rows, cellHeight)) + 8 : 0;
  const slanted = named.cols ? longest(cols, cellWidth) : 0;
  const top = named.cols ? Math.ceil(slanted * Math.sin((TILT * Math.PI) / 180)) + 10 : 0;
  const right = Math.ceil(slanted * Math.cos((TILT * Math.PI) / 180)) + 2;
  const cellOf = (event: MouseEvent & { currentTarget: Element }): Cell => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = (part: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
    return {
      row: at((event.clientY - box.top) / box.height, rows.length),
      col: at((event.clientX - box.left) / box.width, cols.length),
    };
  };
  return (
    <Drawing width={left + width + right} height={top + height + 2} label={props.label}>
      <g fill={muted}>
        {named.rows &&
          rows.map((text, n) => (
            <text
              key={n}
              x={left - 6}
              y={top + (n + 0.5) * cellHeight + 0.35 * size(cellHeight)}
              font-size={size(cellHeight)}
              text-anchor="end"
            >
              {text}
            </text>
          ))}
        {named.cols &&
          cols.map((text, n) => (
            <text
              key={n}
              transform={`translate(${left + (n + 0.5) * cellWidth + 3} ${top - 5}) rotate(-${TILT})`}
              font-size={size(cellWidth)}
            >
              {text}
            </text>
          ))}
      </g>
      <image
        x={left}
        y={top}
        width={width}
        height={height}
        preserveAspectRatio="none"
        style="image-rendering: pixelated"
        href={href}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the matrix pins the same cells by keyboard */}
      <rect
        x={left}
        y={top}
        width={width}
        height={height}
        fill="#000000"
        fill-opacity="0"
        stroke={grid}
        onPointerMove={(event) => props.onHover(cellOf(event), event)}
        onPointerLeave={(event) => props.onHover(null, event)}
        onClick={(event) => props.onPick?.(cellOf(event))}
      />
    </Drawing>
  );
}
