// The colour scale of what is displayed, with the symbol and the numbers of its measure: one for map and legend.
import type { Grid } from "../compute/grid";
import { isLong } from "../compute/windows";
import { MEASURES } from "../generated/vocabulary";
import { headLabel, scaleEnd, share, signed } from "../paint/format";
import { coloursOf } from "../paint/palette";
import { tokenWord } from "../parts/token";
import type { ShownHead } from "../state/shownhead";
import type { View } from "../state/view";

export interface Scale {
  name: string; // "L1·H8", "L1 AttnRes-N"
  column: string; // in a table of numbers: "attention", "norm", "attnres_n"
  symbol: string; // of the measure, for the legend
  title: string; // in words
  signed: boolean;
  lo: number;
  hi: number;
  digits: number; // of its numbers
  beyond: string; // what the legend says where values lie beyond hi
  colours: Uint8Array;
  text(value: number): string;
}

/** Decimals of weights: an even part of 4,096 is 0.0002. */
export const digitsOf = ({ S, K, decimals }: ShownHead["slice"]): number => decimals ?? (isLong(S, K) ? 4 : 3);

function scaleOf({ layer, head, layerMap, measure, slice }: ShownHead, { top, peak }: Grid, dark: boolean): Scale {
  const word = layerMap?.word;
  const isSigned = !word && MEASURES[measure].signed;
  const digits = digitsOf(slice);
  const end = scaleEnd(top, digits);
  const text = (value: number) =>
    isSigned ? (value >= 10 ** -digits / 2 ? "+" : "") + signed(value, digits) : share(value, digits);
  return {
    name: word ? `L${layer} ${word.label}` : headLabel(layer, head),
    column: word ? word.name.replaceAll("-", "_") : measure === "weight" ? "attention" : measure,
    symbol: word?.symbol ?? MEASURES[measure].symbol,
    title: word?.about.replace(/\.$/, "") ?? MEASURES[measure].title,
    signed: isSigned,
    lo: isSigned ? -end : 0,
    hi: end,
    digits,
    beyond: top < peak ? `, larger ones alike${peak < Number.POSITIVE_INFINITY ? ` (up to ${text(peak)})` : ""}` : "",
    colours: coloursOf(isSigned, dark),
    text,
  };
}

export const currentScale = ({ shownHead, grid, dark }: View): Scale => scaleOf(shownHead, grid, dark);

/** A cell of the displayed grid in words. */
export const cellText = ({ shownHead, grid }: View, row: number, col: number): string => {
  const scale = scaleOf(shownHead, grid, false);
  const [query, key] = [grid.rows[row]!.label, grid.cols[col]!.label];
  const value = scale.text(grid.values.at(row, col));
  return `query ${tokenWord(query)} → key ${tokenWord(key)}: ${value}, ${scale.name}`;
};

/** Pin a row and a column of the displayed grid; a second time on the same cell unpins it. */
export function pinCell(view: View, row: number | null, col: number | null): void {
  const { synced, grid, page } = view;
  const isPinned = view.row === row && view.col === col;
  const query = isPinned || row === null ? null : (grid.rows[row]?.pieces[0] ?? null);
  const key = isPinned || col === null ? null : (grid.cols[col]?.pieces[0] ?? null);
  synced.put({ query, key });
  if (query !== null && key !== null) page.announcement.value = cellText(view, row!, col!);
}

/** Pin a query (`isRow`) or a key of the displayed grid; a second time unpins it. */
export function pinToken(view: View, isRow: boolean, n: number): void {
  const { row, col } = view;
  if (isRow) pinCell(view, n === row ? null : n, col);
  else pinCell(view, row, n === col ? null : n);
}
