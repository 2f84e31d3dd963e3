// The verb at the end of the row: a second sentence below this one.
import { Button } from "../../parts/controls";
import { useView } from "../../state/view";
import { mayCompare, openTwin } from "./opentwin";

export function CompareVerb() {
  const view = useView();
  if (!mayCompare(view) || view.page.front.secondText.value) return null;
  return (
    <Button
      class="bl-link bl-compare-verb"
      title="A second sentence below this one: what does one word change?"
      onClick={() => openTwin(view)}
    >
      ⇄ compare
    </Button>
  );
}
