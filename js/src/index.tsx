// The widget: an anywidget module that binds one model to one view.
import type { AnyWidget, RenderProps } from "@anywidget/types";
import { render as draw } from "preact";
import { Explorer } from "./frame/explorer";
import type { Traits } from "./generated/vocabulary";
import { watchTheme } from "./host/theme";
import { synced as bind } from "./kernel/synced";
import { restore, stateFrom } from "./state/snapshot";
import { createStore } from "./state/store";
import { createView } from "./state/view";
import "./style/index.css";

const widget: AnyWidget<Traits> = {
  render({ model, el, address }: RenderProps<Traits> & { address?: Location }) {
    const life = new AbortController();
    const synced = bind(model, life.signal);
    const dark = watchTheme(synced.theme, life.signal, el);
    const view = createView(createStore(model, synced, life.signal), dark, address);
    const follow = () => {
      const state = stateFrom(address?.hash ?? "");
      if (state) restore(view, state);
    };
    follow();
    addEventListener("hashchange", follow, { signal: life.signal });
    draw(<Explorer view={view} />, el);
    return () => {
      life.abort();
      draw(null, el);
    };
  },
};

export default widget;
