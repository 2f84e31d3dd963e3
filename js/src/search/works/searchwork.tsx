// Work of minutes that Python does for a search.
import type { ComponentChildren } from "preact";
import type { SizeFields, TurnsFields } from "../../generated/answers";
import type { Answer } from "../../kernel/answers";
import { LongWork } from "../../parts/work/work";
import { type Search, useSearch } from "../state";

export interface Works {
  turns: TurnsFields;
  layers: SizeFields;
  dimensions: SizeFields;
}
export type WorkName = keyof Works;

/** What it found: false where it was stopped; undefined where it was not begun. */
function workOf<W extends WorkName>({ get, overview, starts }: Search, work: W): Answer<Works[W] | false> | undefined {
  const times = starts.value[work] ?? 0;
  if (!times && !overview.held.includes(work)) return undefined;
  const repeat = times > 1 ? { again: times } : {}; // another question: what was stopped is no answer to it
  const answer = get("search_work", { work, ...repeat });
  const isStopped = answer.state === "answered" && "stopped" in answer.value;
  return (isStopped ? { ...answer, value: false } : answer) as Answer<Works[W] | false>;
}

export function begin({ starts }: Search, work: WorkName): void {
  starts.value = { ...starts.value, [work]: (starts.value[work] ?? 0) + 1 };
}

interface Props<W extends WorkName> {
  work: W;
  question: string;
  label: string;
  title?: string;
  of?: string;
  about: string;
  children: (result: Works[W]) => ComponentChildren;
}

export function Work<W extends WorkName>({ work, ...props }: Props<W>) {
  const search = useSearch();
  const stop = () => {
    search.ask("search_stop", { work }).catch(() => undefined);
  };
  return (
    <LongWork<Works[W]>
      {...props}
      {...{ name: work, answer: workOf(search, work), stop }}
      begin={() => begin(search, work)}
      needs={search.kernel.value ? "" : search.needs.value}
    />
  );
}
