// What of a long map is looked at: its part, what a pixel of it is, and the numbers.
import { strongestKey } from "../../compute/attention";
import { colourEnd, type Grid, largestOf, type Unit } from "../../compute/grid";
import { type Cells, heldCells } from "../../compute/windows";
import { type Level, levelsOf, partAt, picture, type Region, Tiles } from "../../compute/zoom";
import { counted } from "../../paint/format";
import { tokenWord } from "../../parts/token";
import type { Cell } from "../../state/page";
import type { View } from "../../state/view";
import { cellText, currentScale, type Scale } from "../scale";
import { sweepOf } from "../swept";

const tileSets = new WeakMap<Cells, Tiles>();
export function tilesFor(cells: Cells): Tiles {
  if (!tileSets.has(cells)) tileSets.set(cells, new Tiles(cells));
  return tileSets.get(cells)!;
}

export interface At {
  levels: Level[];
  level: Level;
  n: number; // of the level
  region: Region;
}

/** What of a long map is looked at. */
export function lookingAt({ grid, page }: View): At {
  const { level: index, row, col, side } = page.zoom.value;
  const size = { rows: grid.rows.length, cols: grid.cols.length };
  const levels = levelsOf(size, side);
  const n = Math.min(index, levels.length - 1);
  const level = levels[n]!;
  return { levels, level, n, region: partAt(size, level, side, row, col) };
}

/** What a pixel is, in words; "" where it is a cell. */
export const pixelWords = ({ page }: View, { edge }: Level): string =>
  edge === 1 ? "" : `; a pixel is the ${page.zoom.value.by === "max" ? "largest" : "mean"} of ${edge} × ${edge} cells`;

/** The scale of what is drawn: means have a scale of their own, since most cells are near 0. */
export function scaleAt(view: View, { edge }: Level): Scale {
  const scale = currentScale(view);
  if (edge === 1 || view.page.zoom.value.by === "max") return scale;
  const { blocks } = sweepOf(view.grid.values);
  const means = blocks.sum.map((sum) => Math.abs(sum) / blocks.edge ** 2 || 0);
  const hi = colourEnd(largestOf(means, blocks.rows)) || scale.hi;
  return { ...scale, lo: scale.signed ? -hi : 0, hi, beyond: ", larger ones alike" };
}

/** What part is seen, in words. */
export function partWords({ grid }: View, { region }: Pick<At, "region">): string {
  const of = (from: number, count: number) => `${counted(from)} – ${counted(from + count - 1)}`;
  if (region.rows === grid.rows.length && region.cols === grid.cols.length)
    return `all ${counted(region.rows)} queries and ${counted(region.cols)} keys`;
  return `queries ${of(region.row, region.rows)}, keys ${of(region.col, region.cols)}`;
}

export const place = (units: Unit[], from: number, count: number) =>
  count === 1
    ? tokenWord(units[from]!.label)
    : `${counted(from)} – ${counted(Math.min(from + count, units.length) - 1)}`;

/** The numbers of the pixels, as far as they are here. */
export const pixelsOf = ({ grid, page }: View, { level, region }: Pick<At, "level" | "region">) =>
  picture(sizeOf(grid), sweepOf(grid.values).blocks, tilesFor(grid.values), level, region, page.zoom.value.by);

/** What is seen as a map of its own, of cells or of blocks: for files. An error while it is not all here. */
export function seenPart(view: View): Grid {
  const { grid } = view;
  const { level, region } = lookingAt(view);
  const { edge } = level;
  if (edge > 1 && !grid.values.swept.peek()) throw new Error("rows are still being computed: export again in a moment");
  for (const job = tilesFor(grid.values).fill(level, region); !job.next().done; );
  const { values, rows, cols } = pixelsOf(view, { level, region });
  const units = (all: Unit[], from: number, count: number) =>
    Array.from({ length: count }, (_, n) => {
      const at = from + n * edge;
      return edge === 1 ? all[at]! : { ...all[at]!, label: place(all, at, edge) };
    });
  const { hi } = scaleAt(view, level);
  return {
    rows: units(grid.rows, region.row, rows),
    cols: units(grid.cols, region.col, cols),
    values: heldCells(values, cols),
    ...{ peak: hi, top: hi },
  };
}

export const sizeOf = ({ rows, cols }: Grid) => ({ rows: rows.length, cols: cols.length });

/** The cell or block under the pointer and the keyboard's cursor, in words. */
export function blockText(view: View, { edge }: Level, { row, col }: Cell): string {
  if (edge === 1) return cellText(view, row, col);
  const { grid } = view;
  const { value, at } = blockAt(view, edge, row, col);
  const scale = currentScale(view);
  return `queries ${place(grid.rows, row, edge)}, keys ${place(grid.cols, col, edge)}: the largest ${scale.text(value)}, query ${counted(at.row)}, key ${counted(at.col)}, ${scale.name}`;
}

/** The largest cell of a block. */
export function blockAt(
  { grid: { values } }: View,
  edge: number,
  row: number,
  col: number,
): { value: number; at: Cell } {
  const right = Math.min(values.cols, col + edge);
  const cells = values.window(row, Math.min(values.rows, row + edge), col, right);
  const n = strongestKey(cells.map(Math.abs));
  const width = right - col;
  return { value: cells[n]!, at: { row: row + Math.floor(n / width), col: col + (n % width) } };
}

/** The first cell of the block that a cell is in. */
export const snapped = ({ row, col }: Cell, { rows, cols }: Grid, edge: number): Cell => ({
  row: edge * Math.floor(Math.max(0, Math.min(row, rows.length - 1)) / edge),
  col: edge * Math.floor(Math.max(0, Math.min(col, cols.length - 1)) / edge),
});
