// A text that is typed anew: both scores follow, half a second after the last key.
import { useEffect, useRef } from "preact/hooks";
import type { SearchCase } from "../generated/answers";
import { textProps } from "../paint/textprops";
import type { Side } from "./shapes";
import { textOf, useSearch } from "./state";

const PAUSE = 500; // ms

export function Rewrite({ of, side, name, end }: { of: SearchCase; side: Side; name: string; end: () => void }) {
  const search = useSearch();
  const area = useRef<HTMLTextAreaElement>(null);
  const timer = useRef(0);
  const original = useRef(search.texts.peek()[side] ?? textOf(of, side));
  useEffect(() => {
    area.current?.focus();
    return () => clearTimeout(timer.current);
  }, []);
  const run = () => {
    clearTimeout(timer.current);
    const text = area.current!.value;
    if (!text.trim() || text === (search.texts.peek()[side] ?? original.current)) return;
    search.experiment.value = null;
    search.spot.value = null;
    search.texts.value = { ...search.texts.peek(), [side]: text };
  };
  return (
    <textarea
      ref={area}
      class="bl-rewrite"
      aria-label={`${name}, rewritten`}
      {...textProps(original.current)}
      rows={side === "query" ? 6 : 14}
      defaultValue={original.current}
      onInput={() => {
        clearTimeout(timer.current);
        timer.current = window.setTimeout(run, PAUSE);
      }}
      onBlur={run}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape" || (event.key === "Enter" && (event.ctrlKey || event.metaKey))) {
          run();
          end();
        }
      }}
    />
  );
}
