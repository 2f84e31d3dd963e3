// What a component gets of a question while it draws.
import { useRef } from "preact/hooks";
import type { Answer, Arguments, Kind } from "../kernel/answers";
import type { Overview } from "./overview";
import { useView } from "./view";

/**
 * What is known of a question about the maps shown. While a new answer is on its way, the last one of them stays.
 * `known`: the answer where none has to be asked for. `wait`: it is not asked yet.
 */
export function useAnswer<T, Op extends string>(
  kind: Kind<T, Op>,
  args: Arguments<Op>,
  { known, wait = false }: { known?: () => T; wait?: boolean } = {},
): Answer<T> {
  const { answers, overview } = useView();
  const reason = kind.needs && overview.offers[kind.needs];
  const answer: Answer<T> = reason
    ? { state: "refused", reason }
    : wait
      ? { state: "asking" }
      : answers.get(kind, overview, args, known);
  const memo = useRef<{ overview: Overview; answer: Answer<T> } | null>(null);
  if (answer.state === "answered") memo.current = { overview, answer };
  const previous = memo.current?.overview;
  const stays = previous === overview || (kind.ofOriginal && previous?.subject === overview.subject);
  return answer.state === "asking" && memo.current && stays ? memo.current.answer : answer;
}
