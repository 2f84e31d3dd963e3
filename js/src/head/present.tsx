// Present: one head on the whole screen, from q·k to the softmax one key press at a time. Nothing stands behind a hover.
import { useEffect, useRef, useState } from "preact/hooks";
import { largest, largestSize } from "../compute/largest";
import { products } from "../compute/neurons";
import { cellFacts, softmaxSteps } from "../compute/neuronsheet";
import { cssColor } from "../paint/colormap";
import { percent, scalingText, share, signed } from "../paint/format";
import { coloursOf } from "../paint/palette";
import { ranked } from "../paint/ranked";
import { nounOf } from "../parts/nouns";
import { tokenText } from "../parts/token";
import { useView, type View } from "../state/view";
import { headingWords } from "./cellwords";
import { Strip, shadesInWords, shadesOf } from "./running";
import { currentScale } from "./scale";

const BUTTONS: Record<string, string> = {
  ArrowLeft: "← back",
  ArrowRight: "next →",
  ArrowUp: "↑ token before",
  ArrowDown: "↓ token after",
  Escape: "leave (Esc)",
};
const BARS = 9; // keys that have a bar

interface Step {
  title: string;
  says: string;
  body: preact.ComponentChildren;
}

/** Numbers as coloured cells. */
function Vector({ name, values, most }: { name: string; values: ArrayLike<number>; most: number }) {
  const colours = coloursOf(true, useView().dark);
  return (
    <div class="bl-vector" role="img" aria-label={`${name}: ${values.length} numbers, sizes up to ${signed(most)}`}>
      <b>{name}</b>
      <span>
        {Array.from(values, (value, n) => (
          <i key={n} style={{ background: cssColor(value, -most, most, colours) }} />
        ))}
      </span>
    </div>
  );
}

/** One bar for each of some keys, of a number from 0 on; −∞ has none. */
function Bars({ keys, at, values, text }: BarsProps) {
  const { tokens } = useView().overview.keyside;
  const size = (j: number) => (Number.isFinite(values[j]!) ? values[j]! : 0);
  const low = Math.min(0, ...keys.map(size));
  const unit = 100 / (Math.max(0, ...keys.map(size)) - low || 1);
  return (
    <ol class="bl-present-bars">
      {keys.map((j) => (
        <li key={j} class={j === at ? "bl-selected" : ""}>
          <bdi dir="auto">{tokenText(tokens[j]!)}</bdi>
          <span>
            <i style={{ left: `${(Math.min(0, size(j)) - low) * unit}%`, width: `${Math.abs(size(j)) * unit}%` }} />
          </span>
          <b class="bl-number">{text(values[j]!)}</b>
        </li>
      ))}
    </ol>
  );
}

interface BarsProps {
  keys: number[];
  at: number;
  values: ArrayLike<number>;
  text: (value: number) => string;
}

/** The way from q·k to α for the token in focus. */
function neuronSteps(view: View, query: number, key: number): Step[] {
  const { shown, overview } = view;
  const { slice } = shown;
  const facts = cellFacts(slice, query, key);
  const { dot, scaled, score, masked, bias, shift, sum, alpha, seen } = softmaxSteps(slice, facts);
  const [asks, offers] = [overview.queries.tokens[query]!, overview.keyside.tokens[key]!].map(
    (one) => `“${tokenText(one)}”`,
  );
  const k = slice.k!.subarray(key * slice.d, (key + 1) * slice.d);
  const most = Math.max(1e-9, largestSize(facts.q), largestSize(k));
  const parts = products(slice, query, key);
  const chosen = new Set([key, ...largest(Float32Array.from(facts.alpha), BARS - 1).positions]);
  const keys = [...chosen].sort((a, b) => a - b);
  const rest = facts.alpha.reduce((total, one, j) => total + (chosen.has(j) ? 0 : one), 0);
  const some = seen > keys.length ? ` Shown are ${keys.length} of the ${seen} keys` : "";
  const exps = facts.scores.map((one) => Math.exp(one - shift));
  const e = (text: string) => (shift ? `e^(${text} − ${signed(shift)})` : `e^${text}`);
  const digits = (value: number) => value.toPrecision(3);
  const bars = (values: ArrayLike<number>, text: (value: number) => string) => (
    <Bars {...{ keys, values, text }} at={key} />
  );
  const vectors = (
    <>
      <Vector name="q" values={facts.q} most={most} />
      <Vector name="k" values={k} most={most} />
    </>
  );
  const factor = scalingText(slice.scaling);
  const add =
    bias && !masked ? ` ${bias < 0 ? "−" : "+"} ${signed(Math.abs(bias))} (position or mask) = ${signed(score)}` : "";
  return [
    {
      title: "Query and key",
      says: `${asks} asks with its query q, ${offers} offers its key k: ${slice.d} numbers each.`,
      body: vectors,
    },
    {
      title: "q · k",
      says: `Multiplied number by number, they add up to q·k = ${signed(dot)}.`,
      body: (
        <>
          {vectors}
          <Vector name="q × k" values={parts} most={largestSize(parts) || 1e-9} />
        </>
      ),
    },
    {
      title: "The score",
      says: masked
        ? `${asks} cannot see ${offers}: its score is −∞.`
        : `${signed(dot)} ${factor} = ${signed(scaled)}${add}: the score of ${offers}.${some && `${some}: ${offers} and those that get most attention.`}`,
      body: bars(facts.scores, signed),
    },
    {
      title: "The exponential",
      says: `${e(signed(score))} = ${digits(exps[key]!)}. Of all ${seen} keys together: ${digits(sum)}.`,
      body: bars(exps, digits),
    },
    {
      title: "The softmax",
      says: `${digits(exps[key]!)} ÷ ${digits(sum)} = ${share(alpha)}: ${percent(alpha)} of the attention of ${asks} goes to ${offers}.${some && `${some}; the others get ${ranked([rest])[0]} together.`}`,
      body: bars(facts.alpha, share),
    },
  ];
}

function stepsOf(view: View): Step[] {
  const { overview, shown, focus, grid } = view;
  const { queries, keyside } = overview;
  const shades = shadesOf(view, false);
  const at = shades?.at ?? -1;
  const asks = `“${tokenText(queries.tokens[focus.query] ?? "")}”`;
  const strip = (shaded: boolean) => (
    <Strip
      label="text"
      side={shaded ? keyside : queries}
      units={shaded ? grid.cols : grid.rows}
      shades={shaded ? shades : null}
      marked={(n) => (shaded && !overview.square ? false : n === at)}
    />
  );
  return [
    {
      title: "The question",
      says: `${asks} looks for something. Which ${nounOf(overview)} will it find?`,
      body: strip(false),
    },
    ...(shown.slice.q && !shown.layerMap ? neuronSteps(view, focus.query, focus.key) : []),
    {
      title: headingWords(shown, asks, false).join(""),
      says: shades ? `${shadesInWords(view, shades)}.` : "No tokens are left to show.",
      body: strip(true),
    },
  ];
}

function Slide({ close }: { close: () => void }) {
  const view = useView();
  const { synced, overview, focus } = view;
  const [asked, setStep] = useState(0);
  const steps = stepsOf(view);
  const step = Math.min(asked, steps.length - 1);
  const slide = useRef<HTMLDivElement>(null);
  useEffect(() => slide.current!.querySelector(".bl-pinned")?.scrollIntoView({ block: "center" }), [step, focus.query]);
  const go = (n: number) => setStep(Math.max(0, Math.min(steps.length - 1, n)));
  const other = (by: number) => {
    const n = overview.queries.tokens.length;
    synced.put({ query: (focus.query + by + n) % n, key: null });
  };
  const keys: Record<string, () => void> = {
    ArrowRight: () => go(step + 1),
    PageDown: () => go(step + 1),
    ArrowLeft: () => go(step - 1),
    PageUp: () => go(step - 1),
    Home: () => go(0),
    End: () => go(steps.length - 1),
    ArrowDown: () => other(1),
    ArrowUp: () => other(-1),
    Escape: close,
  };
  const { title, says, body } = steps[step]!;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys that its buttons have too
    <div
      ref={slide}
      class="bl-slide"
      tabIndex={-1}
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
      }}
    >
      <header>
        <h3>
          {currentScale(view).name} · {title}
        </h3>
        <span class="bl-muted">
          {step + 1} of {steps.length}
        </span>
      </header>
      <div class="bl-slide-body">{body}</div>
      <p aria-live="polite" data-testid="says">
        {says}
      </p>
      <footer>
        {Object.entries(BUTTONS).map(([key, label]) => (
          <button
            type="button"
            key={key}
            class={key === "ArrowRight" ? "bl-button bl-primary" : "bl-button"}
            autofocus={key === "ArrowRight"}
            onClick={keys[key]}
          >
            {label}
          </button>
        ))}
      </footer>
    </div>
  );
}

/** The button, and what it opens; the browser's own dialog keeps the focus and gives it back. */
export function Present() {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!open) return;
    const full = document.documentElement.requestFullscreen?.() ?? Promise.reject();
    const left = () => document.fullscreenElement || setOpen(false); // Escape left the full screen
    let mine = false;
    full
      .then(() => {
        mine = true;
        document.addEventListener("fullscreenchange", left);
      })
      .catch(() => undefined) // a frame that may not: then all of the frame
      .then(() => dialog.current?.showModal());
    return () => {
      document.removeEventListener("fullscreenchange", left);
      if (mine && document.fullscreenElement) document.exitFullscreen().catch(() => undefined);
    };
  }, [open]);
  const close = () => {
    dialog.current?.close();
    setOpen(false);
  };
  return (
    <>
      <button
        type="button"
        class="bl-button"
        title="This head step by step, on the whole screen"
        onClick={() => setOpen(true)}
      >
        Present
      </button>
      {open && (
        <dialog ref={dialog} class="bl-present" aria-label="Present" onClose={() => setOpen(false)}>
          <Slide close={close} />
        </dialog>
      )}
    </>
  );
}
