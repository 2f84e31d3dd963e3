// A question of the reader's own: the box that it is typed into, and the passages as the model ranks them for it.
import { useRef } from "preact/hooks";
import { amount, counted, signed } from "../paint/format";
import { CaseList, type CaseRow } from "../parts/cases/list";
import { Button } from "../parts/controls";
import { useCase } from "./case";
import { open, useLatest, useSearch } from "./state";

export function TypedBox() {
  const search = useSearch();
  const field = useRef<HTMLInputElement>(null);
  const isReady = search.kernel.value;
  if (!search.isLive) return null;
  const rank = () => {
    const text = field.current!.value.trim();
    if (text) open(search, search.query.value, text);
  };
  // no form: a sandboxed frame sends none
  return (
    <search class="bl-typed">
      <input
        ref={field}
        type="search"
        dir="auto"
        placeholder="your own question"
        aria-label="A question of your own"
        defaultValue={search.typed.value ?? ""}
        disabled={!isReady}
        onKeyDown={({ key }) => key === "Enter" && rank()}
      />
      <Button class="bl-button bl-primary" disabled={!isReady} onClick={rank}>
        Rank
      </Button>
    </search>
  );
}

export function TypedPassages() {
  const search = useSearch();
  const text = search.typed.value!;
  const { value, reason, waits } = useLatest(search.get("search_typed", { text }), text);
  const { value: of } = useCase();
  const rows = value?.rows ?? [];
  /** Lay a passage beside the other one; that one itself changes its side. */
  const lay = (n: number) => {
    const { passage } = rows[n]!;
    if (!of) return;
    search.experiment.value = null;
    search.spot.value = null;
    search.texts.value = { ...search.texts.value, wrong: null, right: null };
    search.passages.value = { wrong: passage, right: passage === of.right ? of.wrong : of.right };
  };
  const at = (n: number): CaseRow => {
    const { passage, score, text } = rows[n]!;
    const number = signed(score, 3);
    return { id: passage, text, is: "", number, note: passage === of?.right ? `${passage} · the other one` : passage };
  };
  const first = value && rows.length < value.passages ? `${rows.length} first of ` : "";
  return (
    <CaseList
      label="Passages"
      heading={
        <Button class="bl-link" onClick={() => open(search, search.query.value)}>
          ‹ Back to the questions
        </Button>
      }
      hint={
        value
          ? `${first}${amount(value.passages, "passage")}`
          : waits
            ? `${reason || "reading the question"} …`
            : reason
      }
      count={rows.length}
      at={at}
      current={rows.findIndex(({ passage }) => passage === of?.wrong)}
      open={lay}
      nothing=""
    >
      <TypedBox />
      <p class="bl-muted" role="status">
        {Boolean(value?.ms) && `ranked in ${counted(Math.ceil(value!.ms!))} ms`}
      </p>
      {value?.notes.map((note) => (
        <p key={note} class="bl-muted">
          {note}
        </p>
      ))}
    </CaseList>
  );
}
