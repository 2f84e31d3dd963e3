// Where a newcomer begins. The line goes after two clicks and does not come back in this document.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useView } from "../state/view";

const ENOUGH = 2; // clicks on heads or words
const clicks = signal(0); // of all views of the document

export function StartHere() {
  const { root, synced } = useView();
  const known = clicks.value >= ENOUGH;
  useEffect(() => {
    if (known) return;
    const count = (event: Event) => {
      const [at] = event.composedPath() as Element[];
      if (at?.closest(".bl-main")) clicks.value++;
    };
    root.current!.addEventListener("click", count);
    return () => root.current?.removeEventListener("click", count);
  }, [known]);
  const parts = synced.parts.value;
  if (known || !parts.includes("atlas") || !parts.includes("head")) return null;
  return (
    <p class="bl-start" data-testid="start">
      <b>Start here.</b> Each small picture is a head: dark = it looks there. Click one, then click a word.
    </p>
  );
}
