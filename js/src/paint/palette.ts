// Which colours a view uses in which theme: tables of colours, and those that the vocabulary names.
import { HEADS, INKS, SERIES, SERIF, type Theme, VECTORS } from "../generated/vocabulary";
import { cssColor, type Table, table } from "./colormap";

export const themeOf = (dark: boolean): Theme => (dark ? "dark" : "light");

/** The theme's colours as the style sheet reads them, and the letters of the text's words. */
export const themeVariables = (dark: boolean) =>
  Object.fromEntries([
    ["--serif", SERIF],
    ...Object.entries(INKS[themeOf(dark)]).map(([name, colour]) => [`--${name}`, colour]),
  ]);

export const weightColours = (dark: boolean): Table => table("weight", themeOf(dark));
export const signedColours = (dark: boolean): Table => table("signed", themeOf(dark));
export const coloursOf = (signed: boolean, dark: boolean): Table => table(signed ? "signed" : "weight", themeOf(dark));

export const inks = (dark: boolean) => INKS[themeOf(dark)];
export const seriesColour = (n: number, dark: boolean): string => SERIES[themeOf(dark)][n % SERIES.light.length]!;

/** Query, key, value, context and attention have the same colour and marker wherever they are drawn. */
export const vectorColour = (name: string, dark: boolean): string => seriesColour(VECTORS[name]!, dark);

const DASHES: number[][] = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 5], [6, 2, 2, 2]];

/** Overlaid heads differ in colour and in dash, so that neither alone has to carry the difference; one alone is the accent. */
export const headColour = (n: number, dark: boolean, heads = HEADS.light.length): string =>
  heads === 1 ? inks(dark).select : HEADS[themeOf(dark)][n % HEADS.light.length]!;
export const headDash = (n: number): number[] => DASHES[(n + Math.floor(n / HEADS.light.length)) % DASHES.length]!;

/** A layer's marker: with `headColour` no two of 64 layers look alike, and of 8 no two share either. */
export const layerMarker = (layer: number): number => layer + Math.floor(layer / HEADS.light.length);

/** The colour of a positive or negative value where a line carries the sign. */
export const signColour = (value: number, dark: boolean): string =>
  cssColor(value < 0 ? -0.8 : 0.8, -1, 1, signedColours(dark));

/** The same of a number in words, which is read on the ground of what is chosen too. */
export const signText = (value: number, dark: boolean): string =>
  inks(dark)[value < 0 ? "negative-text" : "select-text"];
