// The item of the Export menu for a page with the model in it: what it will take is said before it is made.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LiveCost } from "../generated/answers";
import type { Kind } from "../kernel/answers";
import { Button } from "../parts/controls";
import { useAnswer } from "../state/useanswer";

const LIVE_COST: Kind<LiveCost, "live_cost"> = { op: "live_cost", read: ({ fields }) => fields };

/** Asked once the menu is open: finding it out takes a moment. `save` makes the file. */
export function LiveFile({ save }: { save(): void }) {
  const line = useRef<HTMLDivElement>(null);
  const opened = useSignal(false);
  useEffect(() => {
    const menu = line.current!.closest("details")!;
    const look = () => {
      opened.value ||= menu.open;
    };
    look();
    menu.addEventListener("toggle", look);
    return () => menu.removeEventListener("toggle", look);
  }, []);
  const answer = useAnswer(LIVE_COST, {}, { wait: !opened.value });
  const cost = answer.state === "answered" ? answer.value : null;
  const reason = answer.state === "refused" ? answer.reason : (cost?.why_not ?? "");
  const takes =
    cost && !reason ? `, about ${Math.ceil(cost.size / 1e6)} MB, ${Math.ceil(cost.seconds)} s to write` : "";
  return (
    <div ref={line}>
      <Button disabled={!cost || Boolean(reason)} title="What is typed in it is run in it" onClick={save}>
        Live page with this state (HTML{takes})
      </Button>
      {reason && <p data-stays>{reason}</p>}
    </div>
  );
}
