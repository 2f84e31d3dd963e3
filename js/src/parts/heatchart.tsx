// A heat map as a chart: names along its sides, and cells as one embedded image, so that it can leave the page.
import { useContext, useMemo } from "preact/hooks";
import { dataUri, png } from "../paint/bitmap";
import { hex } from "../paint/colormap";
import { inks } from "../paint/palette";
import { widest } from "../paint/textwidth";
import type { Cell } from "../state/page";
import { Drawing } from "./chart";
import { Paper } from "./paper";
import { mapTable } from "./picturetable";
import { tokenText } from "./token";

const TILT = 55; // degrees
const LEAST_READABLE = 7; // pixels of a cell whose name can be read
const AXIS = 16; // units of an axis title
const MOST_CHARACTERS = 24; // characters of a name that are written out on the screen
const MOST_RECTS = 2500; // cells that a file has one by one, sharp at every size

interface Coloured {
  rows: number;
  cols: number;
  entries: Uint8Array; // (rows·cols) of the palette
  palette: Uint8Array; // 256 RGB triples
  width: number; // of the cells together
  height: number;
  x?: number;
  y?: number;
}

/** Entries of a palette as an image with crisp pixels. */
export function Embedded({ rows, cols, entries, palette, ...box }: Coloured) {
  const href = useMemo(() => dataUri(png(entries, cols, rows, palette)), [entries, cols, rows, palette]);
  return <image {...box} href={href} preserveAspectRatio="none" style="image-rendering: pixelated" />;
}

/** The cells alone: an image, in a file rectangles while they are few. */
export function Cells(props: Coloured) {
  const { rows, cols, entries, palette, width, height, x = 0, y = 0 } = props;
  const paper = useContext(Paper);
  if (!paper || rows * cols > MOST_RECTS) return <Embedded {...props} />;
  const [wide, tall] = [width / cols, height / rows];
  const cell = (entry: number, n: number) => {
    const fill = `#${hex(palette.subarray(3 * entry, 3 * entry + 3))}`;
    const box = { x: x + (n % cols) * wide, y: y + Math.floor(n / cols) * tall, width: wide, height: tall };
    return fill !== inks(paper.dark).panel && <rect key={n} {...rounded(box)} fill={fill} />;
  };
  return <g shape-rendering="crispEdges">{Array.from(entries, cell)}</g>;
}

const round = (value: number) => Math.round(100 * value) / 100;
const rounded = (box: Record<string, number>) =>
  Object.fromEntries(Object.entries(box).map(([name, value]) => [name, round(value)]));

const short = (name: string): string =>
  Array.from(name).length > MOST_CHARACTERS
    ? `${Array.from(name)
        .slice(0, MOST_CHARACTERS - 1)
        .join("")}…`
    : name;

export type Run = [from: number, count: number];

interface HeatChartProps extends Omit<Coloured, "rows" | "cols"> {
  label: string; // for who cannot see it
  rows: string[];
  cols: string[];
  values: ArrayLike<number>; // (rows·cols), what the entries are of
  dark: boolean;
  axes?: [row: string, col: string]; // their titles in a file
  edges?: { rows: number[]; cols: number[] }; // lines before these, where sentences begin
  pinned?: { row: number | null; col: number | null };
  gaps?: { rows: Run[]; cols: Run[] }; // that are not there at all: hatched
  onHover?: (cell: Cell | null, event: PointerEvent) => void;
  onPick?: (cell: Cell) => void;
}

/** A cell's side with which a map fills a width: its names take the more of it the larger they are. */
export function cellWithin(inner: number, rows: string[], cols: string[]): number {
  let cell = 0;
  for (let n = 0, size = 11; n < 8; n++) {
    const names =
      size < LEAST_READABLE ? 0 : widest(rows, size) + 8 + widest(cols, size) * Math.cos((TILT * Math.PI) / 180);
    cell = Math.max(1, (inner - AXIS - 4 - names) / Math.max(cols.length, 1));
    size = Math.min(11, 0.95 * cell);
  }
  return Math.min(cell, 40);
}

export function HeatChart(props: HeatChartProps) {
  const { width, height, dark, pinned, label, entries, palette } = props;
  const { ink, muted, select, "select-text": chosenText } = inks(dark);
  const paper = useContext(Paper);
  const axes = paper && props.axes;
  const table = () => mapTable(props.rows, props.cols, props.values);
  const named = (list: string[]) => list.map(tokenText).map(paper ? String : short);
  const [wide, tall] = [width / props.cols.length, height / props.rows.length];
  // names that cannot be read are left out
  const [rows, cols] = [
    tall >= LEAST_READABLE ? named(props.rows) : [],
    wide >= LEAST_READABLE ? named(props.cols) : [],
  ];
  const [rowSize, colSize] = [Math.min(11, 0.95 * tall), Math.min(11, 0.95 * wide)];
  const [slanted, angle] = [widest(cols, colSize), (TILT * Math.PI) / 180];
  const title = axes ? AXIS : 0;
  const x = title + (rows.length > 0 ? Math.ceil(widest(rows, rowSize)) + 8 : 0);
  const y = title + (cols.length > 0 ? Math.ceil(slanted * Math.sin(angle)) + 10 : 0);
  const look = (chosen: boolean) => (chosen ? { fill: chosenText, "font-weight": 600 } : {});
  const size = { rows: props.rows.length, cols: props.cols.length };
  return (
    <Drawing
      width={x + width + Math.ceil(slanted * Math.cos(angle)) + 2}
      height={y + height + 2}
      label={label}
      table={table}
    >
      <g fill={paper ? ink : muted} font-size={rowSize} text-anchor="end">
        {rows.map((text, n) => (
          <text key={n} x={x - 6} y={y + (n + 0.5) * tall + 0.35 * rowSize} {...look(n === pinned?.row)}>
            {text}
          </text>
        ))}
      </g>
      <g fill={paper ? ink : muted} font-size={colSize}>
        {cols.map((text, n) => (
          <text
            key={n}
            transform={`translate(${x + (n + 0.5) * wide + 3} ${y - 5}) rotate(-${TILT})`}
            {...look(n === pinned?.col)}
          >
            {text}
          </text>
        ))}
      </g>
      <Cells {...{ ...size, entries, palette, width, height, x, y }} />
      {props.gaps && (
        <g fill="none" stroke={muted} stroke-width="0.8">
          {props.gaps.rows.map(([n, count]) => (
            <Gap key={n} box={[x, y + n * tall, width, count * tall]} dark={dark} />
          ))}
          {props.gaps.cols.map(([n, count]) => (
            <Gap key={n} box={[x + n * wide, y, count * wide, height]} dark={dark} />
          ))}
        </g>
      )}
      <Surface {...props} x={x} y={y} />
      {props.edges && (
        <g fill="none" stroke={muted} data-edges>
          {props.edges.rows.map((n) => (
            <path key={n} d={`M${x} ${y + n * tall}h${width}`} />
          ))}
          {props.edges.cols.map((n) => (
            <path key={n} d={`M${x + n * wide} ${y}v${height}`} />
          ))}
        </g>
      )}
      {axes && (
        <g fill={ink} font-size="11" text-anchor="middle" data-axes>
          <text transform={`translate(9 ${y + height / 2}) rotate(-90)`}>{axes[0]}</text>
          <text x={x + width / 2} y="9">
            {axes[1]}
          </text>
        </g>
      )}
      {pinned && pinned.row !== null && (
        <g fill="none" stroke={select}>
          <rect x={x} y={y + pinned.row * tall} width={width} height={tall} />
          {pinned.col !== null && (
            <rect x={x + pinned.col * wide} y={y + pinned.row * tall} width={wide} height={tall} stroke-width="2" />
          )}
        </g>
      )}
    </Drawing>
  );
}

const HATCH = 6; // pixels between two lines

/** What is not there: slanted lines instead of cells. */
function Gap({ box: [x, y, width, height], dark }: { box: [number, number, number, number]; dark: boolean }) {
  let path = "";
  for (let t = HATCH / 2; t < width + height; t += HATCH) {
    const [right, low] = [Math.min(t, width), Math.min(t, height)];
    path += `M${round(x + right)} ${round(y + t - right)}L${round(x + t - low)} ${round(y + low)}`;
  }
  return (
    <>
      <rect {...rounded({ x, y, width, height })} fill={inks(dark).panel} stroke="none" />
      <path d={path} />
    </>
  );
}

/** What the pointer touches. */
function Surface({ rows, cols, x, y, width, height, dark, onHover, onPick }: HeatChartProps) {
  const cellOf = (event: MouseEvent & { currentTarget: Element }): Cell => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = (part: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
    return {
      row: at((event.clientY - box.top) / box.height, rows.length),
      col: at((event.clientX - box.left) / box.width, cols.length),
    };
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the matrix pins the same cells by keyboard
    <rect
      {...{ x, y, width, height }}
      fill="#000000"
      fill-opacity="0"
      stroke={inks(dark).border}
      onPointerMove={(event) => onHover?.(cellOf(event), event)}
      onPointerLeave={(event) => onHover?.(null, event)}
      onClick={(event) => onPick?.(cellOf(event))}
    />
  );
}
