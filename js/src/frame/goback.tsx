// Back and forward: two buttons, which keep the focus where there is nothing more to go to.

import { Button } from "../parts/controls";
import { useView } from "../state/view";

export function GoBack() {
  const { history } = useView();
  const button = (sign: string, label: string, keys: string, can: boolean, go: () => void) => (
    <Button class="bl-button" aria-disabled={!can} aria-label={label} title={`${label} (${keys})`} onClick={go}>
      {sign}
    </Button>
  );
  const [canUndo, canRedo] = [history.canUndo.value, history.canRedo.value];
  return (
    <span class="bl-group bl-goback">
      {(canUndo || canRedo) && (
        <>
          {button("←", "Back to the selection before", "Alt+←", canUndo, history.undo)}
          {button("→", "Forward again", "Alt+→", canRedo, history.redo)}
        </>
      )}
    </span>
  );
}
