// Whether something is drawn for a file: then it is all SVG, in light colours, with its texts in full.
import { type ComponentType, createContext } from "preact";

export interface LegendProps {
  low: string;
  high: string;
  label: string;
  colours: Uint8Array;
}

/** On paper, what draws a legend there. */
export const Paper = createContext<ComponentType<LegendProps> | null>(null);
