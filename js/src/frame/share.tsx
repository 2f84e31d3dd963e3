// For somebody else: the state of a view as lines of Python, or as a link where the page has an address; what to cite.

import { Button } from "../parts/controls";
import { useCopy } from "../parts/copy";
import { fragmentOf } from "../state/snapshot";
import { useView, type View } from "../state/view";
import { citations } from "./cite";
import { pythonLines } from "./python";

/** The address of this state, "" where the page has none of its own. */
export const linkTo = (view: View): string => {
  const base = view.address?.href.split("#")[0] ?? "";
  return /^(https?|file):/.test(base) ? base + fragmentOf(view) : "";
};

export function Share() {
  const view = useView();
  const [message, copyText] = useCopy();
  // the menu stays open, to say what came of it
  const button = (label: string, text: () => string) => (
    <Button data-stays onClick={() => copyText(text())}>
      {label}
    </Button>
  );
  return (
    <>
      {button("Copy as Python", () => pythonLines(view))}
      {button("Cite (BibTeX)", () => citations(view))}
      {linkTo(view) && button("Copy a link to this state", () => linkTo(view))}
      <p role="status">{message}</p>
    </>
  );
}
