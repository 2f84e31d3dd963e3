// The list of questions: the rank of the first right document beside each, the widest gap first.

import type { SearchOverview } from "../generated/answers";
import { amount, counted, signed } from "../paint/format";
import { CaseList, type CaseRow } from "../parts/cases/list";
import { type Filter, isJudged, listed, RANKS, type RankChoice } from "./listfilter";
import { open, useSearch } from "./state";
import { TypedBox } from "./typed";

/** What one line of the list has of a question. */
export function caseOf({ questions, rules }: Pick<SearchOverview, "questions" | "rules">, at: number): CaseRow {
  const { query, text, rank, gap, failed, kinds } = questions;
  const order = rank[at];
  const lead = gap[at];
  const names = kinds[at]!.map((kind) => rules[kind]![1]);
  const place =
    order === null ? "no right one in the list" : order === 1 ? "right first" : `right at ${counted(order!)}`;
  return {
    ...{ id: query[at]!, text: text[at]!, about: "the right score less the wrong one" },
    is: !isJudged(questions) ? "" : failed[at] ? "wrong" : "right",
    note: isJudged(questions) ? [place, ...names].join(" · ") : "",
    number: failed[at] && lead !== null ? signed(-lead!, 2) : "",
  };
}

interface Props {
  filter: Filter;
  put: (change: Partial<Filter>) => void;
  isBack: boolean; // from a question of the reader's own
}

export function List({ filter, put, isBack }: Props) {
  const search = useSearch();
  const { questions, rules } = search.overview;
  const { query, failed, kinds } = questions;
  const places = listed(questions, filter);
  const count = (kind: number) => kinds.filter((of) => of.includes(kind)).length;
  const failures = failed.filter(Boolean).length;
  const isRanked = isJudged(questions);
  return (
    <CaseList
      label="Questions"
      heading={isRanked ? `${counted(failures)} of ${counted(query.length)} wrong` : amount(query.length, "question")}
      hint={isRanked ? "widest gap first" : "in their order"}
      count={places.length}
      at={(n) => caseOf(search.overview, places[n]!)}
      current={places.findIndex((at) => query[at] === search.query.value)}
      open={(n) => open(search, query[places[n]!]!)}
      drawn={isBack}
      nothing="No question is so: take a filter back."
    >
      <TypedBox />
      <div class="bl-case-filters">
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
              <option value="all">all, {counted(query.length)}</option>
              <option value="failures">failures, {counted(failures)}</option>
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
      <p class="bl-muted" role="status">
        {amount(places.length, "question")}
      </p>
    </CaseList>
  );
}
