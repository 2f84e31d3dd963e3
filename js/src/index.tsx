// The widget: an anywidget module that binds one model to one view.
import type { AnyWidget } from "@anywidget/types";
import { signal } from "@preact/signals";
import { render as draw } from "preact";
import { watchTheme } from "./parts/theme";
import { createDisplay } from "./state/display";
import { createPage } from "./state/page";
import { createStore } from "./state/store";
import { synced as bind, type Traits } from "./state/synced";
import { Explorer } from "./views/explorer";
import "./style/index.css";

const widget: AnyWidget<Traits> = {
  render({ model, el }) {
    const life = new AbortController();
    const synced = bind(model, life.signal);
    const store = createStore(model, synced, life.signal);
    const view = {
      store,
      page: createPage(),
      display: createDisplay(store),
      dark: watchTheme(synced.theme, life.signal),
      tip: signal(null),
      root: { current: null },
    };
    draw(<Explorer view={view} />, el);
    return () => {
      life.abort();
      draw(null, el);
    };
  },
};

export default widget;
