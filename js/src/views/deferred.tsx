// What need not be drawn in the same frame as the head.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { afterFrame } from "../state/lagging";
import { useView, ViewContext } from "./context";

/** Drawn a frame later than the head, each time that the selection changes. */
export const Afterwards = ({ children }: { children: ComponentChildren }) => (
  <ViewContext.Provider value={useView().after}>{children}</ViewContext.Provider>
);

/** Put in once the first picture is on the screen; at once where there is none. */
export function Deferred({ picture, children }: { picture: boolean; children: ComponentChildren }) {
  const [painted, setPainted] = useState(!picture);
  useEffect(() => afterFrame(() => setPainted(true)), []);
  return <>{painted && children}</>;
}
