// One question: why the wrong passage is first, and what if.
import type { SearchCase } from "../generated/answers";
import { Claim, StripOf } from "./claim";
import { byJudgement } from "./judgement";
import { caseOf, questionOf, type Search, useLatest, useSearch } from "./state";
import { SIDES, Triptych } from "./triptych";

/** The case that is open; while another text of it is read, the last one stays. */
export function useCase() {
  const search = useSearch();
  const { query, typed, passages } = search;
  const subject = JSON.stringify([query.value, typed.value, passages.value]);
  return useLatest(search.get("search_case", caseOf(search)), subject);
}

export function OpenCase() {
  const search = useSearch();
  const { value: of, reason, waits } = useCase();
  if (!of)
    return (
      <section class="bl-case" aria-label="Why is the wrong passage first?">
        <p class="bl-question-text bl-case-question">
          <bdi>{questionOf(search)}</bdi>
        </p>
        <p class="bl-empty" role="status">
          {waits ? `${reason || "reading the three texts"} …` : reason}
        </p>
      </section>
    );
  return (
    <section
      class={waits ? "bl-case bl-waits" : "bl-case"}
      aria-label={byJudgement(of, "Why is the wrong passage first?")}
      aria-busy={waits}
    >
      <Claim of={of} />
      {!waits && reason && (
        <p class="bl-muted" role="status">
          {reason}
        </p>
      )}
      <Legend of={of} />
      <Triptych of={of} />
      {!of.why_not && <StripOf of={of} kind="word" />}
      <StripOf of={of} kind="head" />
      <details class="bl-notes">
        <summary>How this is counted</summary>
        {!of.why_not && <p>{byJudgement(of, of.crosses ? CROSSED : SPLIT)}</p>}
        {of.gap !== undefined && <p>What rounding leaves of the sum: {of.gap.toExponential(1)}.</p>}
        {of.notes.map((note) => (
          <p key={note}>{byJudgement(of, note)}</p>
        ))}
        {!of.crosses && !of.why_not && (
          <p>
            {byJudgement(of, "The score of the wrong passage")} in the Explorer, with every head:{" "}
            <code>{inExplorer(search, of)}</code>
          </p>
        )}
      </details>
    </section>
  );
}

/** The line of Python that opens the Explorer on the question and the wrong passage, as they are read here. */
export function inExplorer(search: Search, { wrong, right }: Pick<SearchCase, "wrong" | "right">): string {
  const ids = [search.query.value, wrong, right].map((id) => JSON.stringify(id));
  const texts = { ...search.texts.value, query: search.texts.value.query ?? search.typed.value };
  const versions = SIDES.flatMap((side) => (texts[side] === null ? [] : [`${side}=${JSON.stringify(texts[side])}`]));
  const rewritten = versions.length > 0 ? `.rewritten(${versions.join(", ")})` : "";
  return `r.contrast(${ids.join(", ")})${rewritten}.pairs[0].explore()`;
}

const SPLIT =
  "The question’s words sum to the difference of the two scores, with its template and biases. So do the words of the " +
  "passages with theirs, counted another way: what a word puts into the score of the wrong passage, wherever it stands, " +
  "less what it puts into that of the right one. The two lists are not added to each other. An arc is what a word of the " +
  "question and a word of a passage put into that passage’s score together.";
const CROSSED =
  "The words of all three texts sum to the difference of the two scores, with template and biases: a word of the passages " +
  "by what it puts into the score of the wrong one, wherever it stands, less what it puts into that of the right one.";

function Legend({ of }: { of: SearchCase }) {
  if (of.why_not) return <p class="bl-muted">No word has a part: {of.why_not}.</p>;
  const [wrong, right] = of.judged ? ["the wrong passage", "the right one"] : ["the one passage", "the other"];
  return (
    <p class="bl-muted bl-case-legend">
      <span class="bl-swatch bl-plus" /> speaks for {wrong} <span class="bl-swatch bl-minus" /> for {right}; a click
      takes a word out
    </p>
  );
}
