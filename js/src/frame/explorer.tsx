// The layout: which parts a widget shows, the tabs under them, and what frames them all.
import { useSignalEffect } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Atlas } from "../atlas/atlas";
import { Pictures } from "../atlas/atlasfill";
import { HeadSentence } from "../atlas/headsentence";
import { Front } from "../front/front";
import { closeLeaf, showHeads } from "../front/leaf/openleaf";
import { closeTwin, textBelow } from "../front/twin/opentwin";
import { hasHeadsLeaf, isUnfolded, leafOf } from "../front/unfolded";
import { HeadPanel } from "../head/head";
import { WithLesson } from "../lessons/panel";
import { themeOf, themeVariables } from "../paint/palette";
import { into } from "../parts/controls";
import { Deferred, NextFrame } from "../parts/deferred";
import { hideTip, showTip, Tooltip } from "../parts/tooltip";
import { afterFrame } from "../state/nextframe";
import type { Tab } from "../state/overview";
import { visit } from "../state/page";
import { useView, type View, ViewContext } from "../state/view";
import { isOffered, openTab, tabsOf } from "../tabs/opentab";
import { Refused } from "../tabs/refusal";
import { Ranked } from "../tabs/similarity/passages";
import { labelOf, QUESTIONS, TabList, type TabListProps } from "../tabs/tablist";
import { TaskLeaves, WithExamples } from "../tabs/task/task";
import { WhatIf, WhatIfMenu } from "../whatif/bar";
import { Header, Problem } from "./header";
import { StatusLine } from "./statusline";
import { Maps, Switches } from "./switches";
import { TabBody } from "./tabbody";

const TEXTS = 20; // that were run and can be run again

const NO_WORDS = { "--serif": "var(--sans)" }; // of a protein: serif is for words

export function Explorer({ view }: { view: View }) {
  const { synced, link, root, page, dark, history } = view;
  const panes = synced.parts.value;
  const has = (name: string) => panes.includes(name);
  const picture = has("atlas") || has("head");
  const Beside = has("examples") ? WithExamples : Fragment;
  useEffect(() => view.history.watch(), []);
  useEffect(() => afterFrame(() => into(view.painted)(true)), []);
  useSignalEffect(() => {
    const { text, text_pair } = view.overview;
    const history = page.texts.peek().filter(([a, b]) => a !== text || b !== text_pair);
    page.texts.value = [[text, text_pair] as [string, string], ...history].slice(0, TEXTS);
  });
  return (
    <ViewContext.Provider value={view}>
      <div
        ref={root}
        class="bertlens"
        role="group"
        aria-label="bertlens"
        tabIndex={-1} // a click on what is no control leaves the keys here, not with the host
        style={{ outline: "none", ...themeVariables(dark), ...(view.overview.spans.length > 0 ? NO_WORDS : {}) }}
        data-theme={themeOf(dark)}
        data-state={link.now.value.state}
        data-lm-suppress-shortcuts="true" // in JupyterLab
        data-jp-suppress-context-menu="true"
        onFocusIn={({ target }) => {
          const about = (target as Element).closest<HTMLElement>("[title]");
          if (about && (target as Element).matches(":focus-visible")) showTip(view, about, about.title);
        }}
        onFocusOut={() => hideTip(view)}
        onKeyDown={(event) => {
          event.stopPropagation(); // the host's shortcuts
          if (
            event.altKey &&
            !(event.target as Element).closest("textarea, input:not([type=checkbox], [type=range])")
          ) {
            const go = { ArrowLeft: history.undo, ArrowRight: history.redo }[event.key];
            if (go) event.preventDefault(); // the browser's own way back
            go?.();
          }
          const isWriting = (event.target as Element).closest("form, input[type=search]"); // who leaves that means no pin
          if (event.key !== "Escape" || event.defaultPrevented || isWriting) return;
          const open = [page.help, page.more].find((row) => row.value); // what opened closes before a pin goes
          if (open) open.value = false;
          else if (leafOf(view)) closeLeaf(view);
          else if (hasHeadsLeaf(view)) showHeads(view, false);
          else if (textBelow(view)) closeTwin(view);
          else if ((synced.query.value ?? synced.key.value) !== null) synced.put({ query: null, key: null });
        }}
      >
        <WithLesson>
          {has("header") ? <Header /> : <Problem />}
          <Beside>
            {has("header") && picture && !view.overview.patches && <Front />}
            {!has("header") && panes.some((name) => name !== "atlas") && <Switches />}
            {has("examples") && <TaskLeaves />}
            <Deferred>
              <Pictures />
              <WhatIf brief={!isUnfolded(view)} />
            </Deferred>
            {view.overview.ranking && <Ranked ranking={view.overview.ranking} />}
            {isUnfolded(view) && <Work />}
          </Beside>
        </WithLesson>
        <div class="bl-hidden" aria-live="polite">
          {page.announcement.value}
        </div>
        <Tooltip />
      </div>
    </ViewContext.Provider>
  );
}

/** A question's answer stands beside the picture where there is room: see base.css. */
function isBeside(view: View, open: Tab | undefined): boolean {
  const panes = view.synced.parts.value;
  return panes.includes("atlas") && panes.includes("head") && open !== undefined && open.name in QUESTIONS;
}

/** The heads, the one that is chosen, what it does in words, and what may be asked of it; then the answer. */
function Work() {
  const view = useView();
  const { synced, overview, page } = view;
  const panes = synced.parts.value;
  const [atlas, head] = [panes.includes("atlas"), panes.includes("head")];
  const initial = useRef(synced.view.peek());
  useSignalEffect(() => {
    if (synced.view.value !== initial.current) page.tabChosen.value = true;
  });
  const open = openTab(view);
  const choose = (name: string) => {
    page.allHeads.value = true; // they stay when the tab is closed
    visit(view, head && name === open?.name ? "" : name); // a second click closes it
  };
  const asking = (
    <Deferred>
      <Asking open={open} choose={choose} />
    </Deferred>
  );
  const heads = synced.include_heads.value?.length ?? overview.n_heads;
  return (
    <div class={isBeside(view, open) ? "bl-work bl-beside" : "bl-work"}>
      {atlas || head ? (
        <div
          class={atlas && head ? "bl-main" : "bl-main bl-single"}
          style={{ "--atlas-width": `${42 * heads + 56}px` }}
        >
          <div class="bl-column">
            {atlas && (
              <NextFrame>
                <Atlas />
              </NextFrame>
            )}
            <Words atlas={atlas} head={head} />
            {asking}
          </div>
          {head && <HeadPanel maps={<Maps />} />}
        </div>
      ) : (
        asking
      )}
      <Deferred>
        <Opened open={open} />
      </Deferred>
    </div>
  );
}

/** What the head does, and what is pinned, in a sentence each. */
const Words = ({ atlas, head }: { atlas: boolean; head: boolean }) => (
  <div class="bl-words">
    {atlas && (
      <NextFrame>
        <HeadSentence />
      </NextFrame>
    )}
    {head && (
      <Deferred>
        <StatusLine />
      </Deferred>
    )}
  </div>
);

/** The questions about the head, and the other tabs. */
function Asking({ open, choose }: Pick<TabListProps, "open" | "choose">) {
  const view = useView();
  const tabs = tabsOf(view);
  const hasHead = view.synced.parts.value.includes("head");
  const asks = tabs.filter(({ name }) => hasHead && name in QUESTIONS);
  const asides = tabs.filter((tab) => !asks.includes(tab) && isOffered(view, tab));
  if (tabs.length === 0 || (!hasHead && tabs.length === 1)) return null;
  return (
    <div class="bl-asking">
      {asks.length > 0 && <TabList tabs={asks} open={open} choose={choose} label="Questions" />}
      {asides.length > 0 && <TabList tabs={asides} open={open} choose={choose} label="More" />}
    </div>
  );
}

/** An answer's first lines come into sight when a click opens it, and stay there when what stands above it grows. */
function useSight(isOpen: boolean) {
  const { root, page } = useView();
  const { visits } = page; // none where a document is opened
  const begin = useRef<HTMLDivElement>(null);
  const show = (element: Element | null | undefined) => element?.scrollIntoView({ block: "nearest" });
  const isSeen = useRef(false);
  useEffect(() => {
    if (visits.value === 0) return;
    show(begin.current);
    isSeen.current = true;
  }, [visits.value]);
  useEffect(() => {
    if (!isOpen) return;
    const sight = new IntersectionObserver(
      ([entry]) => {
        isSeen.current = entry!.isIntersecting;
      },
      { threshold: 0.9 },
    );
    const field = () => root.current?.querySelector("textarea:focus");
    let isBehindField = false;
    const size = new ResizeObserver(() => {
      if (!isSeen.current || visits.peek() === 0) return;
      show(begin.current);
      show(field()); // who types sees it
      isBehindField = Boolean(field());
    });
    const comeBack = () => {
      if (!isBehindField || field()) return;
      isBehindField = false;
      show(begin.current);
    };
    const view = root.current!;
    view.addEventListener("click", comeBack); // not as the field is left: what is pressed would move away
    sight.observe(begin.current!);
    for (const part of [view, ...view.querySelectorAll(".bl-front, .bl-main")]) size.observe(part);
    return () => {
      view.removeEventListener("click", comeBack);
      sight.disconnect();
      size.disconnect();
    };
  }, [isOpen]);
  return begin;
}

function Opened({ open }: { open: Tab | undefined }) {
  const view = useView();
  const begin = useSight(open !== undefined);
  if (!open) return null;
  return (
    <section class="bl-panel bl-bottom" aria-label="Details">
      <div class="bl-begin" ref={begin} />
      <div role="tabpanel" aria-label={labelOf(view, open)}>
        {open.why_not ? (
          <Refused tab={open} />
        ) : (
          <NextFrame>
            <TabBody key={open.name} tab={open} />
          </NextFrame>
        )}
      </div>
      {open.name === "matter" && <WhatIfMenu />}
    </section>
  );
}
