// Whose change is asked: the model's first answer, or a label or word that a reader chooses.

import { batch, useSignal } from "@preact/signals";
import type { Read } from "../kernel/answers";
import { quotation } from "../paint/quotes";
import { Button, Close, Select, useElementId } from "../parts/controls";
import { tokenWord } from "../parts/token";
import { answersOf, targetOf, targetRefused } from "../state/effects";
import { useView, type View } from "../state/view";

const FIRST = "the model’s first";

/** Ask about another answer, "" for the model's first, at a mask or token, -1 for the first. */
export function choose({ page }: View, target: string, place = -1): void {
  batch(() => {
    page.target.value = target;
    page.targetAt.value = place;
  });
}

/** Nothing where the model's answer is one number: a similarity, a vector, a span. */
export function AnswerChoice() {
  const view = useView();
  const { page, overview, link } = view;
  const answer = answersOf(view);
  const refused = targetRefused(view);
  if (answer.state !== "answered") return null;
  const { kind, choices, places, rows } = answer.value;
  if (choices.length === 0 && !refused) return null;
  const target = targetOf(view)?.target ?? "";
  const { tokens } = overview.queries;
  return (
    <div data-testid="target">
      <fieldset
        class="bl-controls bl-target"
        disabled={!link.kernel.value}
        title={link.kernel.value ? "" : link.needs.value}
      >
        {kind === "words" && <WordField choices={choices} />}
        {(kind === "labels" || kind === "tags") && (
          <Select
            label="answer"
            value={target}
            choices={[{ value: "", label: FIRST }, ...choices.map((name) => ({ value: name, label: name }))]}
            onChange={(name) => choose(view, name)}
          />
        )}
        {target && places.length > 0 && (
          <Select
            label="at"
            value={String(rows[0]!.position)}
            choices={places.map((n) => ({ value: String(n), label: `${tokenWord(tokens[n]!)} (${n})` }))}
            onChange={(place) => {
              page.targetAt.value = Number(place);
            }}
          />
        )}
      </fieldset>
      {refused && (
        <p class="bl-muted" role="status">
          {refused} So this is about {FIRST} answer, not {quotation(page.target.value)}.{" "}
          <Button class="bl-link" onClick={() => choose(view, "")}>
            forget it
          </Button>
        </p>
      )}
    </div>
  );
}

/** Any word of the vocabulary; the kernel says what the typed one is called, or what is near it. */
function WordField({ choices }: { choices: string[] }) {
  const view = useView();
  const { answers, overview, page } = view;
  const [wrong, id] = [useSignal({ typed: "", why: "" }), useElementId()];
  const put = (typed: string) => {
    const text = typed.trim();
    wrong.value = { typed: "", why: "" };
    if (text === "" || choices.includes(text)) choose(view, text);
    else
      answers
        .plain("find_target", overview, { text }, ({ fields }: Read<"find_target">) => fields.name)
        .then(
          ({ value }) => choose(view, value),
          (error: Error) => {
            wrong.value = { typed, why: error.message };
          },
        );
  };
  return (
    <>
      <label class="bl-group">
        <span class="bl-caps">answer</span>
        <input
          type="text"
          list={id}
          placeholder={FIRST}
          aria-label="The word that is asked about"
          aria-invalid={wrong.value.why !== ""}
          value={wrong.value.typed || page.target.value}
          onChange={(event) => put(event.currentTarget.value)}
        />
        <datalist id={id}>
          {choices.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      {page.target.value && <Close label={`Ask about ${FIRST} again`} onClick={() => choose(view, "")} />}
      {wrong.value.why && (
        <p class="bl-muted" role="alert">
          {wrong.value.why}
        </p>
      )}
    </>
  );
}
