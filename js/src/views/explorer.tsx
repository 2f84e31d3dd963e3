// The layout: which parts a widget shows, the tabs under them, and what frames them all.
import { Segmented } from "../parts/controls";
import { Tooltip } from "../parts/tooltip";
import { Atlas } from "./atlas";
import { type View, ViewContext } from "./context";
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
        onKeyDown={(event) => event.stopPropagation()}
      >
        {has("header") ? <Header /> : <Problem />}
        {!has("header") && (has("head") || has("neurons")) && <Switches />}
        {(has("atlas") || has("head")) && (
          <div
            class={has("atlas") && has("head") ? "bl-main" : "bl-main bl-single"}
            style={{ "--atlas-width": `${26 * heads + 92}px` }}
          >
            {has("atlas") && <Atlas />}
            {has("head") && <HeadPanel />}
          </div>
        )}
        {has("neurons") && (
          <section class="bl-panel bl-bottom" aria-label="Details">
            {has("table") && (
              <div class="bl-tabs">
                <Segmented
                  label="details"
                  value={synced.view.value}
                  choices={[
                    { value: "neurons", label: "Neurons" },
                    { value: "table", label: "Table" },
                  ]}
                  onChange={(value) => synced.put({ view: value })}
                />
              </div>
            )}
            {synced.view.value === "table" && has("table") ? <Table /> : <Neurons />}
          </section>
        )}
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
