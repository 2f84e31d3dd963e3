// Whether there is a kernel behind a view: some hosts say so on another model of the view, the one of its layout.
import type { AnyModel } from "@anywidget/types";

export interface Comm {
  /** The host says that no kernel is there. Hosts that say nothing have one, or answer nothing. */
  isGone(): boolean;
  /** Tell when it has changed, until the view is closed. */
  follow(changed: () => void, until: AbortSignal): void;
}

export function commOf(model: AnyModel): Comm {
  const layout = model.get("layout") as Partial<Pick<AnyModel, "on" | "off"> & { comm_live: boolean }> | null;
  return {
    isGone: () => layout?.comm_live === false,
    follow(changed, until) {
      layout?.on?.("comm_live_update", changed);
      until.addEventListener("abort", () => layout?.off?.("comm_live_update", changed));
    },
  };
}
