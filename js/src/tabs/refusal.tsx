// A tab with nothing to show: why not; where the run shown is a changed one, the way back.

import { Button } from "../parts/controls";
import type { Tab } from "../state/overview";
import { useView } from "../state/view";
import { reset, undo } from "../whatif/doing";

export const Refused = ({ tab }: { tab: Tab }) =>
  useView().overview.changes.length > 0 ? <OwnRun tab={tab} /> : <p class="bl-empty">{tab.why_not}</p>;

/** Of a tab that is of the model's own run alone. */
function OwnRun({ tab }: { tab: Tab }) {
  const view = useView();
  const live = view.link.kernel.value;
  const button = (label: string, about: string, act: () => void) => (
    <Button class="bl-button" disabled={!live} title={live ? about : view.link.needs.value} onClick={act}>
      {label}
    </Button>
  );
  return (
    <section class="bl-own-run" data-testid="own-run">
      <p>{tab.why_not}</p>
      <p class="bl-controls">
        {button("Undo the change", "The changes as they were before the last one", () => undo(view))}
        {button("Reset", "The unchanged model", () => reset(view))}
      </p>
    </section>
  );
}
