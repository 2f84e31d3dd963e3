import type { ComponentChildren } from "preact";
import { useView, ViewContext } from "./context";

/** What need not be drawn in the same frame as the head. */
export const Afterwards = ({ children }: { children: ComponentChildren }) => (
  <ViewContext.Provider value={useView().after}>{children}</ViewContext.Provider>
);
