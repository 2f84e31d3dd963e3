// The layout: which parts a widget shows, the tabs under them, and what frames them all.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Tooltip } from "../parts/tooltip";
import { extras } from "../state/extras";
import type { Traits } from "../state/synced";
import { Atlas } from "./atlas";
import { useView, type View, ViewContext } from "./context";
import { HeadPanel } from "./head";
import { Header, Problem } from "./header";
import { Neurons } from "./neurons";
import { Switches } from "./switches";
import { Table } from "./table";

export function Explorer({ view }: { view: View }) {
  const { store, page, dark } = view;
  const { synced } = store;
  const panels = synced.panels.value;
  const has = (name: string) => panels.includes(name);
  const link = store.link.value;
  const heads = synced.include_heads.value?.length ?? store.shown.value.picture.n_heads;
  const [painted, setPainted] = useState(!has("atlas") && !has("head"));
  useEffect(() => setPainted(true), []); // the details can wait until atlas and head are on the screen
  return (
    <ViewContext.Provider value={view}>
      <div
        ref={view.root}
        class="bertlens"
        role="group"
        aria-label="bertlens"
        data-theme={dark.value ? "dark" : "light"}
        data-state={link.state}
        data-lm-suppress-shortcuts="true"
        onKeyDown={(event) => {
          event.stopPropagation(); // the host's shortcuts
          if (event.key === "Escape" && !event.defaultPrevented && (synced.query.value ?? synced.key.value) !== null)
            synced.put({ query: null, key: null });
        }}
      >
        {has("header") ? <Header /> : <Problem />}
        {!has("header") && panels.some((name) => name !== "atlas") && <Switches />}
        {(has("atlas") || has("head")) && (
          <div
            class={has("atlas") && has("head") ? "bl-main" : "bl-main bl-single"}
            style={{ "--atlas-width": `${26 * heads + 92}px` }}
          >
            {has("atlas") && <Atlas />}
            {has("head") && <HeadPanel />}
          </div>
        )}
        {painted && <Details />}
        {has("header") && (
          <footer class="bl-footer bl-muted">
            <span>
              q and k as the model multiplies them (bias and rotation included); α recomputed from them in float32
            </span>
            <span>arrows move · Enter pins · Esc unpins · ? keys</span>
          </footer>
        )}
        <div class="bl-hidden" aria-live="polite">
          {page.said.value}
        </div>
        <Tooltip />
      </div>
    </ViewContext.Provider>
  );
}

const TABS: Record<Traits["view"], { label: string; body: () => JSX.Element }> = {
  neurons: { label: "Neurons", body: Neurons },
  norms: { label: "Weight against norm", body: () => <Extra name="Norms" /> },
  gates: { label: "Gates", body: () => <Extra name="Gates" /> },
  geometry: { label: "Geometry", body: () => <Extra name="Geometry" /> },
  survey: { label: "Corpus", body: () => <Extra name="SurveyTab" /> },
  table: { label: "Table", body: Table },
};

/** The tabs below: those that the widget has and that have something to show for this trace. */
function Details() {
  const { store } = useView();
  const { synced } = store;
  const { picture } = store.shown.value;
  const there = (Object.keys(TABS) as Traits["view"][]).filter(
    (name) =>
      synced.panels.value.includes(name) &&
      (name !== "norms" || picture.measures.includes("norm")) &&
      (name !== "gates" || picture.gates) &&
      (name !== "survey" || picture.survey) &&
      (name !== "geometry" || picture.measures.includes("norm")),
  );
  const open = there.includes(synced.view.value) ? synced.view.value : there[0];
  if (!open) return null;
  const Body = TABS[open].body;
  return (
    <section class="bl-panel bl-bottom" aria-label="Details">
      {there.length > 1 && (
        <div class="bl-tabs" role="tablist" aria-label="Details">
          {there.map((name) => (
            <button
              type="button"
              key={name}
              role="tab"
              aria-selected={name === open}
              onClick={() => synced.put({ view: name })}
            >
              {TABS[name].label}
            </button>
          ))}
        </div>
      )}
      <Body />
    </section>
  );
}

/** A view that comes with the extras. */
function Extra({ name }: { name: "Norms" | "Gates" | "Geometry" | "SurveyTab" }) {
  const { store } = useView();
  const Body = extras(store)?.[name];
  return Body ? <Body /> : <p class="bl-empty">{store.kernel.value ? "loading …" : "This view needs the kernel."}</p>;
}
