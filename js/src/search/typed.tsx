// A question of the reader's own: the box that it is typed into, and the passages as the model ranks them for it.
import { useRef } from "preact/hooks";
import { amount, counted, signed } from "../paint/format";
import { textProps } from "../paint/textprops";
import { Button, useElementId } from "../parts/controls";
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
  const id = useElementId();
  const rows = value?.rows ?? [];
  const openAt = rows.findIndex(({ passage }) => passage === of?.wrong);
  /** Lay a passage beside the other one; that one itself changes its side. */
  const lay = (n: number) => {
    const passage = rows[Math.max(0, Math.min(rows.length - 1, n))]?.passage;
    if (!passage || !of) return;
    search.experiment.value = null;
    search.spot.value = null;
    search.texts.value = { ...search.texts.value, wrong: null, right: null };
    search.passages.value = { wrong: passage, right: passage === of.right ? of.wrong : of.right };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    lay(openAt + step);
  };
  return (
    <section class="bl-cases" aria-label="Passages for the question that was typed">
      <TypedBox />
      <p class="bl-muted bl-listed" role="status">
        {value && (
          <>
            {rows.length < value.passages ? `${rows.length} first of ` : ""}
            {amount(value.passages, "passage")}
            {Boolean(value.ms) && `, ranked in ${counted(Math.ceil(value.ms!))} ms`}.{" "}
          </>
        )}
        {!value && (waits ? `${reason || "reading the question"} …` : reason)}
        <Button class="bl-link" onClick={() => open(search, search.query.value)}>
          Back to the questions
        </Button>
      </p>
      {value?.notes.map((note) => (
        <p key={note} class="bl-muted bl-listed">
          {note}
        </p>
      ))}
      <div
        class="bl-rows bl-scroll"
        role="listbox"
        aria-label="Passages, arrow keys lay one beside the other"
        tabIndex={0}
        aria-activedescendant={openAt < 0 ? undefined : `${id}-${openAt}`}
        onKeyDown={onKeyDown}
      >
        {rows.map(({ passage, score, text: passageText }, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
          <div
            key={passage}
            id={`${id}-${n}`}
            role="option"
            tabIndex={-1}
            aria-selected={n === openAt}
            class="bl-row bl-row-typed"
            title={passageText}
            onClick={() => lay(n)}
          >
            <span class="bl-rank">{n + 1}</span>
            <span class="bl-row-text">
              <bdi {...textProps(passageText)} class="bl-question-text">
                {passageText}
              </bdi>
              <span class="bl-muted bl-row-note">
                {signed(score, 3)} · {passage}
                {passage === of?.right && <b> · the other one</b>}
              </span>
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}
