// Header: the text with Run, what the model and the tokenizer did, what went wrong, and the switches.

import type { Signal } from "@preact/signals";
import { effect, useSignal, useSignalEffect } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { counted, headLabel } from "../paint/format";
import { Check, into } from "../parts/controls";
import { Deferred } from "../parts/deferred";
import { visibleText } from "../parts/token";
import { useView } from "../state/view";
import { AnswerLine } from "../whatif/bar";
import { ExportMenu } from "./exportmenu";
import { Help } from "./help";
import { Notices } from "./notices";
import { Switches } from "./switches";
import { Texts } from "./texts";

export function Header() {
  const { overview, page } = useView();
  return (
    <header class="bl-header">
      <TitleLine />
      {page.help.value && <Help />}
      <Problem />
      {overview.lens && <TextForm />}
      <Warnings />
      {overview.nan_layer !== null && (
        <p class="bl-badge bl-warning" role="alert">
          not a number: NaN or infinity first appears in layer {overview.nan_layer}
        </p>
      )}
      <Switches />
    </header>
  );
}

function TitleLine() {
  const { link, page, overview } = useView();
  const { queries, keyside, square, pair, dtype, model, n_layers, n_heads, head_dim } = overview;
  const { state, text } = link.now.value;
  const chips = [
    `${n_layers} layers × ${n_heads} heads${head_dim ? ` × ${head_dim}` : ""}`,
    `${counted(queries.tokens.length)}${square ? "" : ` × ${counted(keyside.tokens.length)}`} tokens${pair ? " · 2 segments" : ""}`,
    dtype,
  ];
  return (
    <div class="bl-title">
      <span class="bl-brand">
        <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
          <circle cx="7" cy="7" r="6" fill="none" stroke="currentColor" stroke-width="1.6" />
          <circle cx="7" cy="7" r="2.6" fill="currentColor" />
        </svg>
        bertlens
      </span>
      <span class="bl-model">
        <bdi dir="auto">{visibleText(model)}</bdi>
      </span>
      {chips.map((chip) => (
        <span key={chip} class="bl-badge">
          {chip}
        </span>
      ))}
      {!overview.lens && <AnswerLine />}
      <span class="bl-spacer" />
      <Notices />
      <span class={`bl-badge bl-link-${state}`} role="status" data-testid="link">
        {state === "error" || state === "slow" ? "kernel: see below" : text}
      </span>
      <button
        type="button"
        class="bl-button"
        aria-expanded={page.help.value}
        title="Keys and how to read this"
        onClick={() => into(page.help)(!page.help.value)}
      >
        ?
      </button>
      <Deferred
        instead={
          <button type="button" class="bl-button" disabled>
            Export ▾
          </button>
        }
      >
        <ExportMenu />
      </Deferred>
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
function useField(shown: Signal<string>) {
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

function TextForm() {
  const { synced, link, running, run } = useView();
  const [text, pair] = [useField(synced.text), useField(synced.text_pair)];
  const live = link.kernel.value;
  const box = (label: string, placeholder: string, { value, ...hands }: ReturnType<typeof useField>) => (
    <input
      type="text"
      aria-label={label}
      placeholder={placeholder}
      value={value.value}
      disabled={!live}
      dir="auto"
      {...hands}
    />
  );
  return (
    <form
      class="bl-text"
      onSubmit={(event) => {
        event.preventDefault();
        run(text.value.value, pair.value.value).catch(() => undefined); // the link says why
      }}
    >
      {box("Sentence A", "a sentence", text)}
      {box("Sentence B, optional", "a second sentence (optional)", pair)}
      {(synced.truncation.value || text.value.value.length + pair.value.value.length > 300) && (
        <Check
          label="cut if too long"
          title="Cut the text to what the model takes; the view then says how much was dropped"
          checked={synced.truncation.value}
          onChange={(value) => synced.put({ truncation: value })}
        />
      )}
      <button
        type="submit"
        class="bl-button bl-primary"
        disabled={!live || running.value}
        title={live ? "Trace this text" : "Needs a live kernel"}
      >
        {running.value ? "…" : "Run"}
      </button>
      <Deferred>
        <Texts />
        <AnswerLine />
      </Deferred>
    </form>
  );
}

/** What went wrong, in the kernel's own words; what is drawn stays what its captions say. */
export function Problem() {
  const { link, shown } = useView();
  const { state, text, behind } = link.now.value;
  if (state !== "error" && state !== "slow") return null;
  const until = state === "slow" ? "Until it answers" : "Until then";
  return (
    <div class="bl-problem" role="alert" data-testid="problem">
      <span>{behind ? `${text}. ${until} ${headLabel(shown.layer, shown.head)} stays.` : text}</span>
      {state === "error" && (
        <button type="button" class="bl-close" aria-label="Close this message" onClick={() => link.close()} />
      )}
    </div>
  );
}
