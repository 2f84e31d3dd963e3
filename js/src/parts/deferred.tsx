// Parts that need not be drawn in the same frame as the head.
import type { ComponentChildren } from "preact";
import { useView, ViewContext } from "../state/view";

/** Drawn a frame later than the head, each time that the selection changes. */
export const NextFrame = ({ children }: { children: ComponentChildren }) => (
  <ViewContext.Provider value={useView().nextFrame}>{children}</ViewContext.Provider>
);

/** Put in once the first picture is on the screen; `instead` keeps its place until then. */
export const Deferred = ({ children, instead }: { children: ComponentChildren; instead?: ComponentChildren }) => (
  <>{useView().painted.value ? children : instead}</>
);
