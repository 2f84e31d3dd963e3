// Where a newcomer begins. The line goes after two clicks and does not come back in this document.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { POSITIVE } from "../generated/vocabulary";
import { nounOf } from "../parts/nouns";
import { useView, type View } from "../state/view";
import { openTab } from "../tabs/opentab";

const ENOUGH = 2; // clicks on heads, words or questions
const clicks = signal(0); // of all views of the document

/** What a shade in a small picture means, in this theme and by the measure shown. */
function shadeWords({ dark, shownHead: { measure } }: View): string {
  if (measure === "difference") return `: ${POSITIVE} = it looks more than it takes`;
  return `: ${dark ? "bright" : "dark"} = it ${measure === "norm" ? "takes from" : "looks"} there`;
}

export function StartHere() {
  const view = useView();
  const { root, synced } = view;
  const isFamiliar = clicks.value >= ENOUGH;
  useEffect(() => {
    if (isFamiliar) return;
    const count = (event: Event) => {
      const [at] = event.composedPath() as Element[];
      if (at?.closest(".bl-main, .bl-asking")) clicks.value++;
    };
    root.current!.addEventListener("click", count);
    return () => root.current?.removeEventListener("click", count);
  }, [isFamiliar]);
  const panes = synced.parts.value;
  if (isFamiliar || openTab(view) || !panes.includes("atlas") || !panes.includes("head")) return null;
  return (
    <p class="bl-start" data-testid="start">
      <b>Start here.</b> Each picture is a head{shadeWords(view)}. Click one, then click a {nounOf(view.overview)}.
    </p>
  );
}
