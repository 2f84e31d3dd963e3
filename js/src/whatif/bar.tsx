// What if it did not? The model's answer, the changes of the run as chips, and what they do; keys and menus that change.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { changeColour } from "../atlas/headvalues";
import { isNothing } from "../paint/ranked";
import { useStanding } from "../paint/standing";
import { Button, binding, Close, choicesOf, into, Menu, Segmented } from "../parts/controls";
import { Section } from "../parts/section";
import { More } from "../parts/term";
import { tokenWord } from "../parts/token";
import { type AnswerRow, type Answers, movedMost } from "../state/effects";
import { headsInHand, otherChanges, useAnswers } from "../state/frontanswers";
import { useView, type View } from "../state/view";
import type { Doing } from "../state/whatif";
import { add, remove, reset, toElement, toggle, toSelected, undo } from "./doing";
import { Matters } from "./headeffects";
import { PatchForm } from "./patch";
import { Slopes } from "./slopes";

/** brief: below the answer, which says itself what a change of the head shown does. */
export function WhatIf({ brief }: { brief: boolean }) {
  const view = useView();
  const { overview, page } = view;
  const { patching } = page.whatif;
  const answers = useAnswers();
  useHands();
  const changes = brief ? otherChanges(overview, headsInHand(view)) : overview.changes;
  const changed = changes.length > 0;
  const matters = !brief && changeColour(view) === "matters";
  return (
    <>
      <AtPointer />
      {(changed || matters || patching.value) && (
        <section class="bl-whatif" aria-label="What if">
          {changed && <Chips />}
          {patching.value && <PatchForm done={() => into(patching)(false)} />}
          {!brief && (
            <div class="bl-whatif-parts">
              {changed && answers && <AnswerSlopes answers={answers} />}
              {changed && <Elsewhere />}
              {matters && answers && <Matters answers={answers} />}
            </div>
          )}
        </section>
      )}
    </>
  );
}

/** A menu of what can be changed in the run. */
export function WhatIfMenu() {
  const view = useView();
  const { overview, page, link } = view;
  const live = link.kernel.value;
  if (overview.offers.whatif) return null;
  return (
    <Menu label="What if" title={live ? "What if: change the run" : `What if: ${link.needs.value}`} name="bl-doings">
      <Doings doings={toSelected(view)} />
      <Button disabled={!live} onClick={() => into(page.whatif.patching)(true)}>
        something from another text …
      </Button>
    </Menu>
  );
}

/** The menu of what the pointer is on; it has the focus until something else gets it. */
function AtPointer() {
  const { menu } = useView().page.whatif;
  const list = useRef<HTMLDivElement>(null);
  const now = menu.value;
  useStanding(now, list, () => {
    const { x, y } = menu.peek()!;
    return { left: x, right: x, top: y, bottom: y };
  });
  useLayoutEffect(() => list.current?.querySelector("button")?.focus({ preventScroll: true }), [now]);
  if (!now) return null;
  const close = () => into(menu)(null);
  return (
    <div class="bl-menu bl-at-pointer">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only closes the list after one of its buttons acted */}
      <div
        ref={list}
        class="bl-menu-list"
        popover="manual"
        onClick={close}
        onFocusOut={({ relatedTarget }) => {
          if (!list.current?.contains(relatedTarget as Node)) close();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          close();
        }}
      >
        <Doings doings={now.doings} />
      </div>
    </div>
  );
}

/** A list of what can be done, each with what does it. */
function Doings({ doings }: { doings: Doing[] }) {
  const view = useView();
  return (
    <>
      {doings.map(({ label, asked, key }) => (
        <Button key={label} disabled={!view.link.kernel.value} onClick={() => add(view, asked)}>
          {label} {key && <kbd>{key}</kbd>}
        </Button>
      ))}
    </>
  );
}

/** Whether the answer is a number of the vectors of texts, and has no name of its own. */
const isOfVectors = (kind: string) => kind === "similarity" || kind === "embedding";

/** What such a number is, with how the vectors are made. */
const vectorsName = ({ rows, unit, said }: Answers) => `${rows[0]?.name}, ${unit}${said && `, ${said}`}`;

/** The changes, each with what takes it back. */
function Chips() {
  const view = useView();
  const { overview, link } = view;
  const live = link.kernel.value;
  const why = live ? "" : link.needs.value;
  const button = (label: string, about: string, act: () => void) => (
    <Button class="bl-link" disabled={!live} title={why || about} onClick={act}>
      {label}
    </Button>
  );
  return (
    <div class="bl-controls bl-changes" role="group" aria-label="Changes of this run">
      <b>You see the model with</b>
      {overview.changes.map(({ id, label, about }) => (
        <span key={id} class="bl-chip bl-change" title={about}>
          {label}
          <Close
            label={`Take back: ${label}`}
            disabled={!live}
            title={why || "Take this change back"}
            onClick={() => remove(view, id)}
          />
        </span>
      ))}
      <span class="bl-spacer" />
      {button("Undo", "The changes as they were before the last one", () => undo(view))}
      {button("Reset", "The unchanged model", () => reset(view))}
    </div>
  );
}

/** Which tokens a classifier's answers are shown of. */
export const tagsWords = (rows: AnswerRow[]): string =>
  rows.every(({ before, after }) => isNothing(after - before))
    ? "no token’s own label changed"
    : "the tokens whose own label changed most";

/** Before and after, per masked word where there are several. */
function AnswerSlopes({ answers }: { answers: Answers }) {
  const { kind, unit, rows } = answers;
  const { overview } = useView();
  const positions = kind === "words" ? [...new Set(rows.map(({ position }) => position))].slice(0, 3) : [-1];
  const isFirstThere = ({ position }: AnswerRow, n: number) => rows.findIndex((one) => one.position === position) === n;
  const shownRows = kind === "tags" ? rows.filter(isFirstThere) : rows; // the first token has rows of its other labels
  const named = shownRows.map((row) =>
    isOfVectors(kind)
      ? { ...row, name: unit }
      : kind === "tags"
        ? { ...row, name: `${tokenWord(overview.queries.tokens[row.position]!)}: ${row.name}` }
        : row,
  );
  if (!kind) return null;
  return (
    <Section
      title="The model’s answer"
      about={isOfVectors(kind) ? vectorsName(answers) : `before and after, ${unit}`}
      testid="slopes"
    >
      {positions.map((at) => (
        <div key={at}>
          {positions.length > 1 && <p class="bl-muted">mask at {at}</p>}
          <Slopes
            rows={kind === "words" ? named.filter(({ position }) => position === at) : named}
            unit={unit}
            label={`Answers before and after the changes, ${unit}`}
          />
        </div>
      ))}
      {kind === "tags" && <p class="bl-muted">{tagsWords(shownRows)}</p>}
    </Section>
  );
}

/** Who looks elsewhere now; and what the atlas is coloured by. */
function Elsewhere() {
  const view = useView();
  const { page, synced } = view;
  return (
    <Section
      title="Who looks elsewhere now?"
      aside={<More about="Jensen-Shannon divergence to the unchanged run in nats, mean over rows." />}
      testid="elsewhere"
    >
      <p>{movedMost(view) || "computing …"}</p>
      {synced.parts.value.includes("atlas") && (
        <>
          <Segmented<"" | "moved" | "matters">
            label="atlas"
            choices={choicesOf({ moved: "Looks elsewhere", matters: "Matters", "": "Patterns" })}
            {...binding(page.whatif.colour)}
          />
          <p class="bl-muted">– not after a change, so the same. Hatched: switched off.</p>
        </>
      )}
    </Section>
  );
}

/** The key and the menu at what the pointer or the focus is on. */
function useHands(): void {
  const view = useView();
  useEffect(() => {
    const root = view.root.current!;
    const life = new AbortController();
    root.addEventListener("keydown", (event) => pressed(view, event), { signal: life.signal });
    root.addEventListener("contextmenu", (event) => asked(view, event), { signal: life.signal });
    return () => life.abort();
  }, []);
}

function pressed(view: View, event: KeyboardEvent): void {
  const element = event.composedPath()[0] as HTMLElement;
  if (event.key !== "x" || event.altKey || event.ctrlKey || event.metaKey || element.closest("input, select, textarea"))
    return;
  const head = element.closest<HTMLElement>("[data-head]")?.dataset.head;
  const doing = head ? null : toElement(view, element, false)?.find(({ key }) => key);
  if (head) toggle(view, head.split("-").map(Number) as [number, number]);
  else if (doing) add(view, doing.asked);
}

function asked(view: View, event: MouseEvent): void {
  const doings = toElement(view, event.composedPath()[0] as Element, true);
  if (!doings || !view.root.current) return;
  event.preventDefault();
  view.page.whatif.menu.value = { x: event.clientX, y: event.clientY, doings };
}
