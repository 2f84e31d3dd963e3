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
  if (!history.canUndo.value && !history.canRedo.value) return null;
  return (
    <span class="bl-group bl-goback">
      {button("←", "Back to the selection before", "Alt+←", history.canUndo.value, history.undo)}
      {button("→", "Forward again", "Alt+→", history.canRedo.value, history.redo)}
    </span>
  );
}
