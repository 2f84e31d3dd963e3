// Whether something is drawn for a file: then it is all SVG, with its texts in full, on the sheet that was asked for.
import { type ComponentType, createContext } from "preact";

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
