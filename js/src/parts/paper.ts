// Whether something is drawn for a file: then it is all SVG, with its texts in full, on the sheet that was asked for.
import { type ComponentChildren, type ComponentType, createContext, createElement } from "preact";
import { useContext } from "preact/hooks";

export interface LegendProps {
  low: string;
  high: string;
  label: string;
  colours: Uint8Array;
}

/** How a file is to look. */
export interface Sheet {
  mm: number; // its width, 0 for as wide as the view draws it
  points: number; // of its letters, where it has a width
  dark: boolean;
  caption: boolean; // where it comes from, below it
  selection: boolean; // what is selected in it is marked
}

export interface PaperSheet extends Sheet {
  inner: number; // units between its margins, 0 for as wide as it comes
  Legend: ComponentType<LegendProps>;
}

/** On paper, the sheet. */
export const Paper = createContext<PaperSheet | null>(null);

const BETWEEN = 16; // units between charts

/** Charts that a file has side by side, where its sheet is so wide: those of each child one below the other. */
export function Beside({ columns, ...rest }: { columns: number; class: string; children: ComponentChildren }) {
  const paper = useContext(Paper);
  const inner = paper && (paper.inner - BETWEEN * (columns - 1)) / columns;
  const charts = createElement("div", { ...rest, "data-beside": columns });
  return paper?.inner ? createElement(Paper.Provider, { value: { ...paper, inner: inner! } }, charts) : charts;
}
