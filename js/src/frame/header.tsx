// Header: one line with the text and Run, what the model answers, and the menus; what went wrong; where to start.

import { effect, type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Present } from "../head/present";
import { headLabel } from "../paint/format";
import { Check, Close, into, Submit } from "../parts/controls";
import { Deferred } from "../parts/deferred";
import { useView } from "../state/view";
import { runApart } from "../tabs/similarity/run";
import { ExportMenu } from "./exportmenu";
import { GoBack } from "./goback";
import { Help } from "./help";
import { StartHere } from "./starthere";
import { ModelName, Switches } from "./switches";
import { Texts } from "./texts";
import { Walk } from "./walk";

export function Header() {
  const { overview, page } = useView();
  return (
    <header class="bl-header">
      <TitleLine />
      {page.help.value && <Help />}
      <Problem />
      <Warnings />
      {overview.nan_layer !== null && (
        <p class="bl-badge bl-warning" role="alert">
          not a number: NaN or infinity first appears in layer {overview.nan_layer}
        </p>
      )}
      {page.more.value && <Switches />}
      <StartHere />
    </header>
  );
}

function TitleLine() {
  const { link, page, overview } = useView();
  const { state, text } = link.now.value;
  const { more } = page;
  return (
    <div class="bl-title">
      <span class="bl-brand">bertlens</span>
      {overview.lens ? <TextForm /> : <ModelName />}
      {!overview.lens && <span class="bl-spacer" />}
      <span
        class={state === "live" || (state === "saved" && link.coming.value) ? "bl-hidden" : `bl-badge bl-link-${state}`}
        role="status"
        data-testid="link"
      >
        {state === "error" || state === "slow" ? `${link.page.value ? "model" : "kernel"}: see below` : text}
      </span>
      <Deferred>
        <GoBack />
      </Deferred>
      <Present />
      <Walk />
      <Deferred
        instead={
          <button type="button" class="bl-button" disabled>
            Export ▾
          </button>
        }
      >
        <ExportMenu />
      </Deferred>
      <button
        type="button"
        class="bl-button"
        aria-label="More settings"
        aria-expanded={more.value}
        title="The model, its notes, pairs, words, special tokens, tables"
        onClick={() => into(more)(!more.value)}
      >
        ⋯
      </button>
    </div>
  );
}

/** What the tokenizer did that changes what is seen. */
function Warnings() {
  const badges = useView().overview.badges.filter(({ severity }) => severity === "warning");
  if (badges.length === 0) return null;
  return (
    <ul class="bl-report" aria-label="What the tokenizer did">
      {badges.map(({ kind, label, detail }) => (
        <li key={kind} class="bl-badge bl-warning">
          <details>
            <summary>{label}</summary>
            <span>{detail}</span>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** A field of the text shown. It is not written while it has the focus, or what was typed is not run yet. */
function useField(shown: ReadonlySignal<string>) {
  const { running } = useView();
  const value = useSignal(shown.value);
  const [[follow, leave, hands]] = useState(() => {
    let [focused, edited, behind] = [false, false, false];
    const follow = () => {
      const now = shown.value;
      behind = focused || edited;
      if (!behind) value.value = now;
    };
    const leave = () => {
      if (running.value) edited = behind = false; // what was typed is on its way
    };
    const hands = {
      onFocus: () => {
        focused = true;
      },
      onInput: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
        edited = true;
        value.value = currentTarget.value;
      },
      onBlur: () => {
        focused = false;
        if (behind) follow();
      },
    };
    return [follow, leave, hands] as const;
  });
  useSignalEffect(follow);
  useEffect(() => effect(leave), []); // at once: another text may come before the next frame
  return { value, ...hands };
}

/** One field of text; a second sentence has its own line in it. */
function TextForm() {
  const view = useView();
  const { synced, link, running, run, page } = view;
  const isApart = useComputed(() => view.overview.apart && !page.together.value);
  const secondText = useComputed(() => (isApart.value ? page.similarTo.value.b : synced.text_pair.value));
  const [text, pair] = [useField(synced.text), useField(secondText)];
  const second = useSignal(false);
  const live = link.kernel.value;
  const box = (label: string, placeholder: string, { value, ...hands }: ReturnType<typeof useField>, focus = false) => (
    <input
      type="text"
      aria-label={label}
      placeholder={placeholder}
      title={value.value}
      value={value.value}
      disabled={!live}
      dir="auto"
      autofocus={focus}
      {...hands}
    />
  );
  const secondField = {
    ...pair,
    onFocus: () => {
      second.value = true; // it stays while it is emptied under the hand
      pair.onFocus();
    },
  };
  const hasPair = secondText.value !== "" || pair.value.value !== "";
  const submit = () => {
    second.value = false;
    const [a, b] = [text.value.value, pair.value.value];
    const runs = isApart.value ? runApart(view, a, b) : run(a, b);
    runs.catch(() => undefined); // the link says why
  };
  return (
    <form class="bl-text">
      <span class="bl-field">
        {box("Sentence A", "a sentence", text)}
        {(hasPair || second.value) &&
          box("Sentence B, optional", "a second sentence (optional)", secondField, second.value)}
        {!hasPair && !second.value && live && (
          <button
            type="button"
            class="bl-link"
            title={
              isApart.value ? "Read a second text on its own: why are the two similar?" : "Run two sentences as a pair"
            }
            onClick={() => into(second)(true)}
          >
            + second sentence
          </button>
        )}
        {link.coming.value && <span class="bl-coming bl-muted bl-number">{link.coming.value}</span>}
        <Deferred>
          <Texts />
        </Deferred>
      </span>
      {(synced.truncation.value || text.value.value.length + pair.value.value.length > 300) && (
        <Check
          label="cut if too long"
          title="Cut the text to what the model takes; the view then says how much was dropped"
          checked={synced.truncation.value}
          onChange={(value) => synced.put({ truncation: value })}
        />
      )}
      <Submit
        disabled={!live || (running.value && !link.page.value)}
        submit={submit}
        title={live ? "Trace this text" : link.needs.value}
      >
        {running.value ? "…" : "Run"}
      </Submit>
    </form>
  );
}

/** What went wrong, in the kernel's own words; what is drawn stays what its captions say. */
export function Problem() {
  const { link, shownHead } = useView();
  const { state, text, behind } = link.now.value;
  if (state !== "error" && state !== "slow") return null;
  const until = state === "slow" ? "Until it answers" : "Until then";
  return (
    <div class="bl-problem" role="alert" data-testid="problem">
      <span>{behind ? `${text}. ${until} ${headLabel(shownHead.layer, shownHead.head)} stays.` : text}</span>
      {state === "error" && <Close label="Close this message" onClick={() => link.close()} />}
    </div>
  );
}
