// Header: one line with the examples and the menus; what went wrong.

import { Present } from "../head/present";
import { headLabel } from "../paint/format";
import { Button, Close, into } from "../parts/controls";
import { Deferred } from "../parts/deferred";
import { useView } from "../state/view";
import { ExportMenu } from "./exportmenu";
import { GoBack } from "./goback";
import { Help } from "./help";
import { Mark } from "./mark";
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
    </header>
  );
}

function TitleLine() {
  const { link, page, overview } = useView();
  const { state, text } = link.now.value;
  const { more } = page;
  return (
    <div class="bl-title">
      <span class="bl-brand">
        <Mark />
        bertlens
      </span>
      {overview.lens ? (
        <Deferred>
          <Texts />
        </Deferred>
      ) : (
        <ModelName />
      )}
      <span class="bl-spacer" />
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
          <Button class="bl-button" disabled>
            Export ▾
          </Button>
        }
      >
        <ExportMenu />
      </Deferred>
      <Button
        class="bl-button"
        aria-label="More settings"
        aria-expanded={more.value}
        title="The model, its notes, pairs, words, special tokens, tables"
        onClick={() => into(more)(!more.value)}
      >
        ⋯
      </Button>
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
