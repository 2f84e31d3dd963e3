// Which table or colour a view uses in which theme.
import { cssColor, type Table, table } from "./colormap";
import { HEADS } from "./tables";

const theme = (dark: boolean) => (dark ? "dark" : "light");

export const weightTable = (dark: boolean): Table => table("weight", theme(dark));
export const signedTable = (dark: boolean): Table => table("signed", theme(dark));

const DASHES: number[][] = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 5], [6, 2, 2, 2]];

/** Overlaid heads differ in colour and in dash, so that neither alone has to carry the difference. */
export const headColor = (n: number, dark: boolean): string => HEADS[theme(dark)][n % HEADS.light.length]!;
export const headDash = (n: number): number[] => DASHES[(n + Math.floor(n / HEADS.light.length)) % DASHES.length]!;

/** The colour of a positive or negative value where a line or a number carries the sign. */
export const signColor = (value: number, dark: boolean): string =>
  cssColor(value < 0 ? -0.8 : 0.8, -1, 1, signedTable(dark));
