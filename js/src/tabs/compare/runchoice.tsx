// Which run stands beside the one shown: a text that is typed, one of those run before, or the run without changes.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { SETTINGS } from "../../generated/vocabulary";
import { NEEDS_MODEL } from "../../kernel/kernel";
import { visibleText } from "../../paint/quotes";
import { Button, Check, into, Submit } from "../../parts/controls";
import { useView, type View } from "../../state/view";

const MANY_CHARACTERS = 300; // of a text that may be too long for the model
const SHOWN = 6; // texts of before

/** Put a run beside the one shown; what had the focus goes, so the tab has it. */
function compareWith({ page, root }: View, chosen: Partial<typeof SETTINGS.compare_with>): void {
  page.compareWith.value = { ...SETTINGS.compare_with, ...chosen };
  root.current?.querySelector<HTMLElement>('[data-tab="compare"]')?.focus({ preventScroll: true });
}

/** Leads to the changed run beside the unchanged one. */
export function WithUnchanged({ children }: { children: ComponentChildren }) {
  const view = useView();
  const { synced, link } = view;
  if (!synced.parts.value.includes("compare")) return null;
  const live = link.kernel.value;
  const show = () => {
    synced.put({ view: "compare" });
    compareWith(view, { run: "original" });
  };
  return (
    <Button
      class="bl-link"
      disabled={!live}
      title={live ? "The changed run beside the unchanged one" : link.needs.value}
      onClick={show}
    >
      {children}
    </Button>
  );
}

/** The way back; what went wrong, and where it may be the length of the text, what helps. */
export function StopComparing({ refused = "" }: { refused?: string }) {
  const view = useView();
  const { run, text, text_pair } = view.page.compareWith.value;
  if (view.link.alone.value) return refused ? <p class="bl-empty">{NEEDS_MODEL}</p> : null;
  return (
    <p class="bl-controls">
      {refused ? <span>{refused}</span> : <span class="bl-muted">The pictures above are of {run ? "b" : "a"}.</span>}
      {text && <Cut long={text.length + text_pair.length} />}
      <Button
        class="bl-button"
        title="This run alone again; choose another to compare it with"
        onClick={() => compareWith(view, {})}
      >
        Stop comparing
      </Button>
    </p>
  );
}

/** Whether a text that is long may be cut. */
function Cut({ long }: { long: number }) {
  const { synced } = useView();
  if (!synced.truncation.value && long <= MANY_CHARACTERS) return null;
  return (
    <Check
      label="cut if too long"
      title="Cut the text to what the model takes"
      value={synced.truncation.value}
      onChange={(value) => synced.put({ truncation: value })}
    />
  );
}

export function CompareWith() {
  const view = useView();
  const { overview, page, link } = view;
  const text = useSignal(overview.text);
  const pair = useSignal(overview.text_pair);
  const live = link.kernel.value;
  const isChanged = overview.changes.length > 0;
  const isSame = text.value === overview.text && pair.value === overview.text_pair && !isChanged;
  const recentTexts = page.texts.value.slice(1, SHOWN + 1);
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (page.tabChosen.peek()) form.current?.querySelector("input")?.focus();
  }, []);
  const field = (label: string, value: typeof text) => (
    <input
      type="text"
      aria-label={label}
      value={value.value}
      disabled={!live}
      dir="auto"
      onFocus={({ currentTarget }) => currentTarget.select()} // what is typed takes its place
      onMouseUp={(event) => event.currentTarget.value === overview.text && event.preventDefault()} // it stays selected
      onInput={({ currentTarget }) => into(value)(currentTarget.value)}
    />
  );
  if (link.alone.value) return <p class="bl-empty">{NEEDS_MODEL}</p>;
  return (
    <div ref={form} class="bl-compare-with" data-testid="compare-with">
      <h3>Compare this run with …</h3>
      {overview.lens && (
        <form class="bl-controls" aria-label="Compare with">
          {field("The other text", text)}
          {overview.text_pair && field("Its second sentence", pair)}
          <Cut long={text.value.length + pair.value.length} />
          <Submit
            disabled={!live || isSame || !text.value.trim()}
            title={live ? (isSame ? "This is the text shown: change a word" : "Run this text too") : link.needs.value}
            submit={() => compareWith(view, { text: text.value, text_pair: pair.value })}
          >
            Compare
          </Submit>
          {isSame && <span class="bl-muted">change a word, or write another text</span>}
        </form>
      )}
      {(isChanged || recentTexts.length > 0) && (
        <ul>
          {isChanged && (
            <li>
              <WithUnchanged>this text without the {overview.changes.length > 1 ? "changes" : "change"}</WithUnchanged>
            </li>
          )}
          {recentTexts.map(([text, text_pair]) => (
            <li key={`${text}\0${text_pair}`}>
              <Button
                class="bl-link"
                dir="auto"
                disabled={!live}
                onClick={() => compareWith(view, { text, text_pair })}
              >
                {visibleText(text_pair ? `${text} / ${text_pair}` : text)}
              </Button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
