// A tab with nothing to show: why not; where the run shown is a changed one, what was tried there and the way back.
import { useEffect, useRef } from "preact/hooks";
import type { Tab } from "../state/overview";
import { useView } from "../state/view";
import type { Tried } from "../state/whatif";
import { reset, undo } from "../whatif/doing";
import { TriedOut, triedNow } from "./why/tried";
import { SplitParts } from "./why/why";

const seen = new WeakSet<Tried>(); // have been brought into sight

export const Refused = ({ tab }: { tab: Tab }) =>
  useView().overview.changes.length > 0 ? <OwnRun key={tab.name} tab={tab} /> : <p class="bl-empty">{tab.why_not}</p>;

/** Of a tab that is of the model's own run alone. */
function OwnRun({ tab }: { tab: Tab }) {
  const view = useView();
  const box = useRef<HTMLElement>(null);
  const tried = tab.name === "why" ? triedNow(view) : null;
  useEffect(() => {
    if (!tried || seen.has(tried)) return;
    seen.add(tried);
    box.current!.querySelector("button")!.focus({ preventScroll: true }); // what was clicked is not there any more
    box.current!.firstElementChild!.scrollIntoView({ block: "nearest" });
  }, [tried]);
  const live = view.link.kernel.value;
  const button = (label: string, about: string, act: () => void) => (
    <button type="button" class="bl-button" disabled={!live} title={live ? about : view.link.needs.value} onClick={act}>
      {label}
    </button>
  );
  return (
    <section ref={box} class="bl-why" data-testid="own-run">
      <div class="bl-own-run">
        {tried ? (
          <TriedOut {...tried} />
        ) : (
          <p>{tab.name === "why" ? "Why works on the unchanged model." : tab.why_not}</p>
        )}
        <p class="bl-controls">
          {button("Undo the change", "The changes as they were before the last one", () => undo(view))}
          {button("Reset", "The unchanged model", () => reset(view))}
        </p>
      </div>
      {tried && (
        <SplitParts split={tried.split} go={null}>
          the split of the unchanged model
        </SplitParts>
      )}
    </section>
  );
}
