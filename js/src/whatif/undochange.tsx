// The way back from a changed run, where something is said of it.

import { Button } from "../parts/controls";
import type { Overview } from "../state/overview";
import { useView } from "../state/view";
import { undo } from "./doing";

export function UndoChange() {
  const view = useView();
  const { link, overview } = view;
  const isLive = link.kernel.value;
  return (
    <Button
      class="bl-link"
      disabled={!isLive}
      title={isLive ? "The changes as they were before the last one" : link.needs.value}
      onClick={() => undo(view)}
    >
      Undo the {overview.changes.length > 1 ? "last change" : "change"}
    </Button>
  );
}

/** The changes of the run shown, by their names. */
export const changeNames = ({ changes }: Overview): string => changes.map(({ label }) => label).join("; ");
