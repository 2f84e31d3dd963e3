// Header: the text with Run, what the model and the tokenizer did, what went wrong, and the switches.
import { useSignal, useSignalEffect } from "@preact/signals";
import { Check } from "../parts/controls";
import { Token } from "../parts/token";
import { headLabel } from "../state/store";
import { useView } from "./context";
import { ExportMenu } from "./exportmenu";
import { Switches } from "./switches";

export function Header() {
  const { store, page } = useView();
  const p = store.shown.value.picture;
  const link = store.link.value;
  const chips = [
    `${p.n_layers} layers × ${p.n_heads} heads${p.head_dim ? ` × ${p.head_dim}` : ""}`,
    `${p.queries.tokens.length}${p.square ? "" : ` × ${p.keyside.tokens.length}`} tokens${p.pair ? " · 2 segments" : ""}`,
    p.dtype,
  ];
  return (
    <header class="bl-header">
      <div class="bl-title">
        <span class="bl-brand">
          <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
            <circle cx="7" cy="7" r="6" fill="none" stroke="currentColor" stroke-width="1.6" />
            <circle cx="7" cy="7" r="2.6" fill="currentColor" />
          </svg>
          bertlens
        </span>
        <span class="bl-model">
          <Token text={p.model} />
        </span>
        {chips.map((chip) => (
          <span key={chip} class="bl-badge">
            {chip}
          </span>
        ))}
        <span class="bl-spacer" />
        <span class={`bl-badge bl-link-${link.state}`} role="status" data-testid="link">
          {link.state === "error" || link.state === "slow" ? "kernel: see below" : link.text}
        </span>
        <button
          type="button"
          class="bl-button"
          aria-expanded={page.help.value}
          title="Keys and how to read this"
          onClick={() => {
            page.help.value = !page.help.value;
          }}
        >
          ?
        </button>
        <ExportMenu />
      </div>
      {page.help.value && <Help />}
      <Problem />
      {p.lens && <TextForm />}
      {p.badges.length > 0 && (
        <ul class="bl-report" aria-label="What the tokenizer did">
          {p.badges.map((badge) => (
            <li key={badge.kind} class={badge.severity === "warning" ? "bl-badge bl-warning" : "bl-badge"}>
              <details>
                <summary>{badge.label}</summary>
                <span>{badge.detail}</span>
              </details>
            </li>
          ))}
        </ul>
      )}
      {p.nan_layer !== null && (
        <p class="bl-badge bl-warning" role="alert">
          not a number: NaN or infinity first appears in layer {p.nan_layer}
        </p>
      )}
      <Switches />
    </header>
  );
}

function TextForm() {
  const { store } = useView();
  const { synced } = store;
  const text = useSignal(synced.text.value);
  const pair = useSignal(synced.text_pair.value);
  useSignalEffect(() => {
    text.value = synced.text.value;
    pair.value = synced.text_pair.value;
  });
  const live = store.kernel.value;
  const busy = store.running.value;
  return (
    <form
      class="bl-text"
      onSubmit={(event) => {
        event.preventDefault();
        store.run(text.value, pair.value).catch(() => undefined); // the link says why
      }}
    >
      <input
        type="text"
        aria-label="Sentence A"
        placeholder="a sentence"
        value={text.value}
        disabled={!live}
        dir="auto"
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <input
        type="text"
        aria-label="Sentence B, optional"
        placeholder="a second sentence (optional)"
        value={pair.value}
        disabled={!live}
        dir="auto"
        onInput={(event) => {
          pair.value = event.currentTarget.value;
        }}
      />
      {(synced.truncation.value || text.value.length + pair.value.length > 300) && (
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
        disabled={!live || busy}
        title={live ? "Trace this text" : "Needs a live kernel"}
      >
        {busy ? "…" : "Run"}
      </button>
    </form>
  );
}

function Help() {
  const keys: [string, string][] = [
    ["click, arrow keys, Home, End", "atlas: choose a head"],
    ["shift-click", "atlas: draw one more head over the chosen one"],
    ["click, arrow keys and Enter", "matrix and lines: pin a query and a key; the neurons below follow"],
    ["Escape", "take the pin out"],
    ["Tab", "from part to part"],
  ];
  return (
    <div class="bl-note bl-help">
      <dl>
        {keys.map(([key, what]) => (
          <>
            <dt>{key}</dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <p>
        α is the weight with which a query (row) takes from a key (column); every row sums to 1. Heads are counted from
        0; the papers count from 1. A weight says where a head looks, not how much it changes the output.
      </p>
    </div>
  );
}

/** What went wrong, in the kernel's own words; the picture below stays what its captions say. */
export function Problem() {
  const { link, shown } = useView().store;
  const { state, text, behind } = link.value;
  if (state !== "error" && state !== "slow") return null;
  return (
    <p class="bl-problem" role="alert" data-testid="problem">
      {behind ? `${text}: the picture is of ${headLabel(shown.value.layer, shown.value.head)}` : text}
    </p>
  );
}
