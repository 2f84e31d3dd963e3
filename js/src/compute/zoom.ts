// Where one looks in a long map: from all of it in blocks of cells down to single cells. All of it fills the picture; the
// steps after it are whole pixels.
import { type Blocks, blockEdge, blocksOf } from "./sweep";
import type { Cells } from "./windows";

export const ENLARGED = [1, 2, 4, 8, 16, 24]; // px of a single cell
const [LEAST, NEXT] = [0.85, 1.4]; // px of a block of all of the map; how much closer the level after it is, at least

export interface Level {
  edge: number; // cells along a side of a block
  px: number; // that a block is drawn with
}

interface Size {
  rows: number;
  cols: number;
}

/** From the whole map on `side` pixels to single cells. */
export function levelsOf(size: Size, side: number): Level[] {
  const base = blockEdge(size); // whose blocks the sweep makes
  const widestEdge = base * blockEdge({ rows: size.rows / base, cols: size.cols / base }, side / LEAST);
  const coarsest = { edge: widestEdge, px: side / blockEdge(size, widestEdge) };
  const finer: Level[] = ENLARGED.map((px) => ({ edge: 1, px }));
  for (let edge = 2; edge < widestEdge; edge *= 2) finer.unshift({ edge, px: 1 });
  return [coarsest, ...finer.filter(({ edge, px }) => NEXT * edge * coarsest.px < widestEdge * px)];
}

/** A window of blocks: first row and column, and how many rows and columns of cells. */
export interface Region {
  row: number;
  col: number;
  rows: number;
  cols: number;
}

/** The part of a map that is seen from a row and a column on, moved so that it is full of cells and begins with a block. */
export function partAt({ rows, cols }: Size, { edge, px }: Level, side: number, row: number, col: number): Region {
  const span = Math.max(1, Math.floor(side / px + 1e-6)) * edge;
  const from = (at: number, count: number) =>
    edge * Math.ceil(Math.max(0, Math.min(Math.round(at / edge) * edge, count - span)) / edge);
  const [top, left] = [from(row, rows), from(col, cols)];
  return { row: top, col: left, rows: Math.min(span, rows - top), cols: Math.min(span, cols - left) };
}

/** First row and column at another level, so that the cell at a pixel of the picture stays there. */
export function around(part: Region, before: Level, after: Level, x: number, y: number): { row: number; col: number } {
  const to = (from: number, at: number) => from + (at / before.px) * before.edge - (at / after.px) * after.edge;
  return { row: to(part.row, y), col: to(part.col, x) };
}

const TILE = 128; // cells along a side
const [TILE_ROWS, MOST_KEPT] = [8, 3e6]; // rows a step; numbers that are kept

/** Parts of a map as blocks, those that were looked at last; a map is computed in tiles of 128 × 128 cells. */
export class Tiles {
  private kept = new Map<string, Blocks>(); // what was used longest ago first
  private size = 0;

  constructor(private cells: Cells) {}

  get(edge: number, row: number, col: number): Blocks | undefined {
    const name = `${edge}/${row}/${col}`;
    const blocks = this.kept.get(name);
    if (blocks) {
      this.kept.delete(name);
      this.kept.set(name, blocks);
    }
    return blocks;
  }

  /** Compute the tiles of a part that are not here, in steps; `came` after each. */
  *fill({ edge }: Level, part: Region, came?: () => void): Generator<void> {
    const { rows, cols, window } = this.cells;
    if (edge % blockEdge(this.cells) === 0) return; // the sweep makes these
    for (const [r, c] of tilesOf(part)) {
      if (this.get(edge, r, c)) continue;
      const [top, left] = [r * TILE, c * TILE];
      const [bottom, right] = [Math.min(rows, top + TILE), Math.min(cols, left + TILE)];
      const values = new Float32Array((bottom - top) * (right - left));
      for (let row = top; row < bottom; row += TILE_ROWS) {
        values.set(window(row, Math.min(bottom, row + TILE_ROWS), left, right), (row - top) * (right - left));
        yield;
      }
      const blocks = blocksOf(values, right - left, edge);
      this.kept.set(`${edge}/${r}/${c}`, blocks);
      this.size += 2 * blocks.max.length;
      for (const [name, old] of this.kept) {
        if (this.size <= MOST_KEPT) break;
        this.kept.delete(name);
        this.size -= 2 * old.max.length;
      }
      came?.();
    }
  }
}

/** The tiles that a part touches, as rows and columns of tiles. */
function tilesOf({ row, col, rows, cols }: Region): [row: number, col: number][] {
  const list: [number, number][] = [];
  for (let r = Math.floor(row / TILE); r * TILE < row + rows; r++)
    for (let c = Math.floor(col / TILE); c * TILE < col + cols; c++) list.push([r, c]);
  return list;
}

/** What the pixels of a part are: of blocks, or, where they are still to come, of the overview's larger ones. */
export function picture(
  size: Size,
  base: Blocks,
  tiles: Tiles,
  { edge }: Level,
  part: Region,
  by: "max" | "mean",
): { values: Float32Array; rows: number; cols: number } {
  const [rows, cols] = [Math.ceil(part.rows / edge), Math.ceil(part.cols / edge)];
  const [top, left] = [part.row / edge, part.col / edge];
  const values = new Float32Array(rows * cols);
  const mean = ({ sum }: Blocks, n: number, i: number, j: number, side: number) =>
    sum[n]! / Math.min(side, size.rows - i * side) / Math.min(side, size.cols - j * side);
  /** The blocks of a part of the map that begins `firstRow` and `firstCol` blocks from its start. */
  const put = (blocks: Blocks, firstRow: number, firstCol: number) => {
    const [from, end] = [Math.max(left, firstCol), Math.min(left + cols, firstCol + blocks.cols)];
    for (let i = Math.max(top, firstRow); i < Math.min(top + rows, firstRow + blocks.rows); i++) {
      const n = (i - firstRow) * blocks.cols + from - firstCol;
      const at = (i - top) * cols + from - left;
      if (by === "max") values.set(blocks.max.subarray(n, n + end - from), at);
      else for (let j = from; j < end; j++) values[at + j - from] = mean(blocks, n + j - from, i, j, edge);
    }
  };
  /** What the overview has for the blocks of a tile. */
  const putCoarse = (firstRow: number, firstCol: number, step: number) => {
    for (let i = Math.max(top, firstRow); i < Math.min(top + rows, firstRow + step); i++)
      for (let j = Math.max(left, firstCol); j < Math.min(left + cols, firstCol + step); j++) {
        const [y, x] = [Math.floor((i * edge) / base.edge), Math.floor((j * edge) / base.edge)];
        const n = y * base.cols + x;
        values[(i - top) * cols + j - left] = by === "max" ? base.max[n]! : mean(base, n, y, x, base.edge);
      }
  };
  const step = TILE / edge;
  if (edge % base.edge === 0) put(pooled(base, edge / base.edge), 0, 0);
  else
    for (const [r, c] of tilesOf(part)) {
      const blocks = tiles.get(edge, r, c);
      if (blocks) put(blocks, r * step, c * step);
      else putCoarse(r * step, c * step, step);
    }
  return { values, rows, cols };
}

/** Blocks of blocks. */
function pooled({ edge, cols, max, sum }: Blocks, times: number): Blocks {
  if (times === 1) return { edge, rows: max.length / cols, cols, max, sum };
  const [large, sums] = [blocksOf(max, cols, times), blocksOf(sum, cols, times)];
  return { ...large, edge: edge * times, sum: sums.sum };
}
