// The list of questions: the rank of the first right document beside each; ten thousand scroll as ten do.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { amount, counted, px, signed } from "../paint/format";
import { directionOf } from "../paint/quotes";
import { useElementId } from "../parts/controls";
import { type Filter, inSight, isJudged, listed, RANKS, type RankChoice } from "./listfilter";
import { open, useSearch } from "./state";
import { TypedBox } from "./typed";

const ROW = 66; // px

export function List({ filter, put }: { filter: Filter; put: (change: Partial<Filter>) => void }) {
  const search = useSearch();
  const { questions, rules } = search.overview;
  const { query, text, rank, gap, failed, kinds } = questions;
  const id = useElementId();
  const box = useRef<HTMLDivElement>(null);
  const window = useSignal({ top: 0, height: 600 });
  const places = listed(questions, filter);
  const openAt = places.findIndex((at) => query[at] === search.query.value);
  const measure = () => {
    const { scrollTop: top, clientHeight: height } = box.current!;
    if (top !== window.peek().top || height !== window.peek().height) window.value = { top, height };
  };
  const reveal = (n: number) => {
    const { scrollTop, clientHeight } = box.current!;
    if (n * ROW < scrollTop) box.current!.scrollTop = n * ROW;
    else if ((n + 1) * ROW > scrollTop + clientHeight) box.current!.scrollTop = (n + 1) * ROW - clientHeight;
  };
  useLayoutEffect(() => {
    measure();
    if (openAt >= 0) reveal(openAt);
  }, [openAt, filter]);
  const go = (n: number) => {
    const at = places[Math.max(0, Math.min(places.length - 1, n))];
    if (at !== undefined) open(search, query[at]!);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(window.value.height / ROW) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const to = { Home: 0, End: places.length - 1 }[event.key] ?? (steps[event.key] && openAt + steps[event.key]!);
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  const [from, to] = inSight(places.length, window.value.top, window.value.height, ROW);
  const count = (kind: number) => kinds.filter((of) => of.includes(kind)).length;
  const failures = failed.filter(Boolean).length;
  const isRanked = isJudged(questions);
  return (
    <section class="bl-questions-list" aria-label="Questions">
      <TypedBox />
      <div class="bl-filter">
        <input
          type="search"
          placeholder="a word of the question"
          aria-label="Questions with these words"
          value={filter.words}
          onInput={({ currentTarget }) => put({ words: currentTarget.value })}
        />
        {isRanked && (
          <>
            <select
              aria-label="Which questions"
              value={filter.kind}
              onChange={({ currentTarget }) => put({ kind: currentTarget.value })}
            >
              <option value="failures">failures, {counted(failures)}</option>
              <option value="all">all, {counted(query.length)}</option>
              {rules.map(([name, label], kind) => (
                <option key={name} value={String(kind)}>
                  {label}, {counted(count(kind))}
                </option>
              ))}
            </select>
            <select
              aria-label="Rank of the first right document"
              value={filter.rank}
              onChange={({ currentTarget }) => put({ rank: currentTarget.value as RankChoice })}
            >
              {Object.entries(RANKS).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </>
        )}
      </div>
      <p class="bl-muted bl-listed" role="status">
        {amount(places.length, "question")}
        {isRanked ? "; before each the rank of its first right document" : ""}
      </p>
      <div
        ref={box}
        class="bl-rows bl-scroll"
        role="listbox"
        aria-label="Questions, arrow keys open"
        tabIndex={0}
        aria-activedescendant={openAt < 0 ? undefined : `${id}-${openAt}`}
        onScroll={measure}
        onKeyDown={onKeyDown}
      >
        <div style={{ height: px(ROW * places.length), position: "relative" }}>
          {places.slice(from, to).map((at, n) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
            <div
              key={query[at]}
              id={`${id}-${from + n}`}
              role="option"
              tabIndex={-1}
              aria-selected={from + n === openAt}
              aria-setsize={places.length}
              aria-posinset={from + n + 1}
              class="bl-row"
              style={{ top: px((from + n) * ROW), height: px(ROW) }}
              title={text[at]}
              onClick={() => open(search, query[at]!)}
            >
              {isRanked && (
                <span class={failed[at] ? "bl-rank" : "bl-rank bl-muted"} title={rankWords(rank[at]!, questions.depth)}>
                  {rank[at] ?? "–"}
                </span>
              )}
              <span class="bl-row-text">
                <bdi dir={directionOf(text[at]!)} class="bl-question-text">
                  {text[at]}
                </bdi>
                {failed[at] && (
                  <span class="bl-muted bl-row-note">
                    {gap[at] === null ? "no right one in the list" : `gap ${signed(gap[at]!, 3)}`}
                    {kinds[at]!.length > 0 && ` · ${kinds[at]!.map((kind) => rules[kind]![1]).join(", ")}`}
                  </span>
                )}
              </span>
            </div>
          ))}
        </div>
        {places.length === 0 && <p class="bl-empty">No question is so: take a filter back.</p>}
      </div>
    </section>
  );
}

const rankWords = (rank: number | null, depth: number): string =>
  rank === null ? `no right document among ${counted(depth)}` : `first right document: rank ${rank}`;
