// The layout: which parts a widget shows, the tabs under them, and what frames them all.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Atlas } from "../atlas/atlas";
import { Pictures } from "../atlas/thumbnails";
import { INKS, type Theme } from "../generated/vocabulary";
import { HeadPanel } from "../head/head";
import { themeOf } from "../paint/palette";
import { into } from "../parts/controls";
import { Deferred, NextFrame } from "../parts/deferred";
import { onGridKey } from "../parts/gridkeys";
import { hideTip, showTip, Tooltip } from "../parts/tooltip";
import { afterFrame } from "../state/nextframe";
import { openTab, tabsOf } from "../state/opentab";
import { useView, type View, ViewContext } from "../state/view";
import { Refused } from "../tabs/refused";
import { WhatIf, WhatIfMenu } from "../whatif/bar";
import { Header, Problem } from "./header";
import { StatusLine } from "./statusline";
import { Switches } from "./switches";
import { TabBody, TablesSwitch } from "./tabbody";

const TEXTS = 20; // that were run and can be run again

/** The theme's colours as the style sheet reads them. */
const variables = (theme: Theme) =>
  Object.fromEntries(Object.entries(INKS[theme]).map(([name, colour]) => [`--${name}`, colour]));
const COLOURS = { light: variables("light"), dark: variables("dark") };

export function Explorer({ view }: { view: View }) {
  const { synced, link, root, page, dark, history } = view;
  const parts = synced.parts.value;
  const has = (name: string) => parts.includes(name);
  const picture = has("atlas") || has("head");
  useEffect(() => view.history.watch(), []);
  useEffect(() => afterFrame(() => into(view.painted)(true)), []);
  useSignalEffect(() => {
    const { text, text_pair } = view.overview;
    const others = page.texts.peek().filter(([a, b]) => a !== text || b !== text_pair);
    page.texts.value = [[text, text_pair] as [string, string], ...others].slice(0, TEXTS);
  });
  return (
    <ViewContext.Provider value={view}>
      <div
        ref={root}
        class="bertlens"
        role="group"
        aria-label="bertlens"
        tabIndex={-1} // a click on what is no control leaves the keys here, not with the host
        style={{ outline: "none", ...COLOURS[themeOf(dark)] }}
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
          if (event.altKey && !(event.target instanceof HTMLInputElement && event.target.type === "text")) {
            const go = { ArrowLeft: history.undo, ArrowRight: history.redo }[event.key];
            if (go) event.preventDefault(); // the browser's own way back
            go?.();
          }
          const isWriting = (event.target as Element).closest("form, input[type=search]"); // who leaves that means no pin
          if (event.key !== "Escape" || event.defaultPrevented || isWriting) return;
          if ((synced.query.value ?? synced.key.value) !== null) synced.put({ query: null, key: null });
        }}
      >
        {has("header") ? <Header /> : <Problem />}
        {!has("header") && parts.some((name) => name !== "atlas") && <Switches />}
        <Deferred>
          <Pictures />
          <WhatIf />
        </Deferred>
        {picture && <Main atlas={has("atlas")} head={has("head")} />}
        <Deferred>
          <Details />
          {has("head") && <StatusLine />}
        </Deferred>
        {has("header") && <Footer />}
        <div class="bl-hidden" aria-live="polite">
          {page.said.value}
        </div>
        <Tooltip />
      </div>
    </ViewContext.Provider>
  );
}

function Main({ atlas, head }: { atlas: boolean; head: boolean }) {
  const { synced, overview } = useView();
  const heads = synced.include_heads.value?.length ?? overview.n_heads;
  return (
    <div class={atlas && head ? "bl-main" : "bl-main bl-single"} style={{ "--atlas-width": `${42 * heads + 56}px` }}>
      {atlas && (
        <NextFrame>
          <Atlas
            menu={
              <Deferred>
                <WhatIfMenu />
              </Deferred>
            }
          />
        </NextFrame>
      )}
      {head && <HeadPanel />}
    </div>
  );
}

const Footer = () => (
  <footer class="bl-footer bl-muted">
    <span>
      {useView().overview.offers.neurons
        ? "attention weights as they were given"
        : "q and k with bias and rotation, as multiplied; α recomputed from them in float32"}
    </span>
    <span>arrows move · Enter pins · Esc unpins · ? keys</span>
  </footer>
);

function Details() {
  const view = useView();
  const { synced, page } = view;
  const initial = useRef(synced.view.peek());
  useSignalEffect(() => {
    if (synced.view.value !== initial.current) page.tabChosen.value = true;
  });
  const open = openTab(view);
  const tabs = tabsOf(view);
  const bar = useRef<HTMLDivElement>(null);
  const choose = (name: string) => () => {
    page.tabChosen.value = true;
    synced.put({ view: name });
  };
  const at = () => ({ row: 0, col: tabs.findIndex(({ name }) => name === open?.name) });
  const move = onGridKey({ rows: 1, cols: tabs.length }, at, ({ col }) => {
    choose(tabs[col]!.name)();
    (bar.current!.children[col] as HTMLElement).focus();
  });
  if (!open) return null;
  return (
    <section class="bl-panel bl-bottom" aria-label="Details">
      <div class={tabs.length > 1 ? "bl-tabs" : "bl-tabs bl-alone"}>
        {tabs.length > 1 && (
          <div ref={bar} role="tablist" aria-label="Details" onKeyDown={move}>
            {tabs.map(({ name, label, about, why_not }) => (
              <button
                type="button"
                key={name}
                role="tab"
                class={why_not ? "bl-without" : ""}
                aria-selected={name === open.name}
                tabIndex={name === open.name ? 0 : -1}
                title={why_not || about}
                onClick={choose(name)}
              >
                {label}
              </button>
            ))}
          </div>
        )}
        {open.name !== "table" && !open.why_not && <TablesSwitch />}
      </div>
      <div role="tabpanel" aria-label={open.label}>
        {open.why_not ? (
          <Refused tab={open} />
        ) : (
          <NextFrame>
            <TabBody key={open.name} tab={open} />
          </NextFrame>
        )}
      </div>
    </section>
  );
}
