// The widget: an anywidget module that binds one model to one view.
import type { AnyWidget } from "@anywidget/types";
import { render as draw } from "preact";
import { watchTheme } from "./parts/theme";
import { createStore } from "./state/store";
import { synced as bind } from "./state/synced";
import { createView } from "./views/context";
import { Explorer } from "./views/explorer";
import type { Traits } from "./vocabulary";
import "./style/index.css";

const widget: AnyWidget<Traits> = {
  render({ model, el }) {
    const life = new AbortController();
    const synced = bind(model, life.signal);
    const dark = watchTheme(synced.theme, life.signal);
    draw(<Explorer view={createView(createStore(model, synced, life.signal), dark)} />, el);
    return () => {
      life.abort();
      draw(null, el);
    };
  },
};

export default widget;
