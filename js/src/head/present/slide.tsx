// Present's screen: what is shown and how it is changed above, the sentence, the picture, and the way through below.
import { useEffect, useRef, useState } from "preact/hooks";
import { included } from "../../atlas/atlas";
import { Button } from "../../parts/controls";
import { nounOf } from "../../parts/nouns";
import { tokenText } from "../../parts/token";
import { useView, type View } from "../../state/view";
import { currentScale } from "../scale";
import { fitted } from "./bars";
import { computedSteps } from "./computed";
import { guessSteps } from "./guess";
import { type Row, rowOf } from "./rowquestion";
import type { Step } from "./steps";
import { Turn } from "./turn";

const LABEL = 6; // ems for a word between its buttons

const around = (n: number, count: number) => ((n % count) + count) % count;

/** The query that computes: the pinned piece of the row that looks, else the first of its pieces. */
const queryOf = ({ grid, focus }: View, { at }: Row): number => {
  const { pieces } = grid.rows[at]!;
  return pieces.includes(focus.query) ? focus.query : pieces[0]!;
};

/** The key that is looked at: the pinned one, else the one with the largest weight of those shown. */
function keyOf({ grid, focus, shownHead }: View, query: number): number {
  const keys = grid.cols.flatMap(({ pieces }) => pieces);
  if (focus.pinnedKey && keys.includes(focus.key)) return focus.key;
  const weights = shownHead.weights.row(query);
  return keys.reduce((best, j) => (weights[j]! > weights[best]! ? j : best), keys[0]!);
}

/** Another head: of a map of a layer another layer. */
function turnHead({ synced, overview, shownHead }: View, by: number): void {
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  const names = layers.flatMap((layer) =>
    (shownHead.layerMap ? [synced.head.value] : heads).map((head) => ({ layer, head })),
  );
  const at = names.findIndex(({ layer, head }) => layer === synced.layer.value && head === synced.head.value);
  if (names.length > 0) synced.put(names[around(at + by, names.length)]!);
}

export function Slide({ close }: { close: () => void }) {
  const view = useView();
  const { synced, overview, shownHead, grid, link } = view;
  const slide = useRef<HTMLDivElement>(null);
  const next = useRef<HTMLButtonElement>(null);
  const [position, setStep] = useState(0);
  const [guess, setGuess] = useState({ of: "", n: 0 });
  const row = rowOf(view);
  const subject = [
    overview.trace,
    shownHead.layer,
    shownHead.head,
    row?.kind,
    row?.about,
    row?.name,
    row?.at,
    row?.units.length,
  ].join();
  const guessed = guess.of === subject ? guess.n : null;
  const query = row ? queryOf(view, row) : 0;
  const key = row ? keyOf(view, query) : 0;
  const choose = (n: number) => {
    setGuess({ of: subject, n });
    next.current!.focus();
  };
  const steps: Step[] = row
    ? [
        ...guessSteps(view, row, guessed, choose),
        ...(shownHead.slice.q && !shownHead.layerMap ? computedSteps(view, query, key) : []),
      ]
    : [{ title: "Nothing", says: "No words are left to show: leave, and show them again.", body: null }];
  const step = Math.min(position, steps.length - 1);
  const { title, says, body, computes } = steps[step]!;
  useEffect(() => {
    const { activeElement } = slide.current!.getRootNode() as Document | ShadowRoot;
    if (!slide.current!.contains(activeElement)) slide.current!.focus(); // what had the focus has gone
  }, [step, computes]);

  const go = (n: number) => setStep(Math.max(0, Math.min(steps.length - 1, n)));
  const restart = () => computes || setStep(0); // another row is guessed first
  const otherHead = (by: number) => {
    turnHead(view, by);
    restart();
  };
  const otherQuery = (by: number) => {
    if (!row) return;
    synced.put({ query: grid.rows[around(row.at + by, grid.rows.length)]!.pieces[0]!, key: null });
    restart();
  };
  const otherKey = (by: number) => {
    const keys = grid.cols.flatMap(({ pieces }) => pieces);
    if (computes) synced.put({ query, key: keys[around(keys.indexOf(key) + by, keys.length)]! });
  };
  const keys: Record<string, () => void> = {
    ArrowRight: () => go(step + 1),
    PageDown: () => go(step + 1),
    ArrowLeft: () => go(step - 1),
    PageUp: () => go(step - 1),
    Home: () => go(0),
    End: () => go(steps.length - 1),
    ArrowDown: () => otherQuery(1),
    ArrowUp: () => otherQuery(-1),
    "Shift ArrowRight": () => otherHead(1),
    "Shift ArrowLeft": () => otherHead(-1),
    "Shift ArrowDown": () => otherKey(1),
    "Shift ArrowUp": () => otherKey(-1),
    Escape: close,
  };
  const noun = nounOf(overview);
  const label = (text: string) => <bdi dir="auto">{fitted(text, LABEL)}</bdi>;
  const { state, text } = link.now.value;
  const isLast = step === steps.length - 1;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys that its buttons have too
    <div
      ref={slide}
      class="bl-slide"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.defaultPrevented) return; // a word took it
        const act =
          event.altKey || event.ctrlKey || event.metaKey ? null : keys[(event.shiftKey ? "Shift " : "") + event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
      }}
    >
      <header>
        <Turn what={shownHead.layerMap ? "layer" : "head"} go={otherHead} keys={["Shift ←", "Shift →"]}>
          {currentScale(view).name}
        </Turn>
        {row && (
          <Turn what={`${noun} that looks`} go={otherQuery} keys={["↑", "↓"]}>
            {label(tokenText(computes ? overview.queries.tokens[query]! : grid.rows[row.at]!.label))}
          </Turn>
        )}
        {computes && (
          <>
            looks at
            <Turn what={`${noun} looked at`} go={otherKey} keys={["Shift ↑", "Shift ↓"]}>
              {label(tokenText(overview.keyside.tokens[key]!))}
            </Turn>
          </>
        )}
        <Button class="bl-button" title="Escape" onClick={close}>
          leave
        </Button>
      </header>
      <p aria-live="polite" data-testid="says">
        {says}
      </p>
      <div class="bl-slide-body">{body}</div>
      {(state === "error" || state === "slow") && (
        <p class="bl-problem" role="alert">
          {text}
        </p>
      )}
      <footer>
        <Button class="bl-button" aria-disabled={step === 0} onClick={keys.ArrowLeft}>
          ← back
        </Button>
        <h3>
          {title}{" "}
          <span class="bl-muted">
            · {step + 1} of {steps.length}
          </span>
        </h3>
        <button
          ref={next}
          type="button"
          class="bl-button bl-primary"
          autofocus
          onClick={isLast ? close : keys.ArrowRight}
        >
          {isLast ? "done" : step === 0 ? "show →" : "next →"}
        </button>
      </footer>
    </div>
  );
}
