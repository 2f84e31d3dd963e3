// What every part of one view shares: its data, its page state, its theme.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { change, changesOf } from "./changequeue";
import { createHeadGrid, type HeadGrid } from "./headgrid";
import { createHistory, type History } from "./history";
import { aFrameLater } from "./nextframe";
import type { Overview } from "./overview";
import { createPage, type Page } from "./page";
import type { ShownHead } from "./shownhead";
import { applySettings, restore, stateOf } from "./snapshot";
import type { Store } from "./store";

interface Tip {
  at: DOMRect; // the element, or the place of the pointer
  grid: DOMRect; // the grid or the chart that it is in
  isPointer: boolean;
  element: Element;
  content: ComponentChildren;
}

type Values<T> = { readonly [K in keyof T]: T[K] extends ReadonlySignal<infer V> ? V : never };

/** The store, with its signals as plain properties: a component that reads one is drawn again when it changes. */
export interface View extends Omit<Store, "shownHead">, Values<HeadGrid> {
  readonly shownHead: ShownHead;
  readonly overview: Overview; // of what is shown; unlike that it does not change with every head
  readonly dark: boolean;
  from?: { row: number; col: number }; // of a part of a long text: its first query and key
  nextFrame: View; // the same, a frame later
  page: Page;
  history: History;
  isBeside?: true; // the run is not the one that the view shows, but stands beside it
  address: Location | null; // of a page that is all ours
  tip: Signal<Tip | null>;
  painted: Signal<boolean>; // the first picture is on the screen, or there is none
  root: { current: HTMLDivElement | null };
}

export function createView(store: Store, dark: ReadonlySignal<boolean>, address: Location | null = null): View {
  const { shownHead, ...others } = store;
  const signals = { shownHead, overview: computed(() => shownHead.value.overview), ...createHeadGrid(store) };
  const source = { synced: store.synced, page: createPage() };
  const { pending } = source.page.whatif;
  const now = {
    ...{ request: store.request, page: source.page },
    get overview() {
      return shownHead.peek().overview;
    },
  };
  const history = createHistory(
    () => {
      const changes = pending.value ?? changesOf(shownHead.value.overview);
      const { all_heads: _, ...state } = stateOf(source); // what is unfolded stays so
      return { ...state, ...(changes.length > 0 ? { changes } : {}) };
    },
    () => shownHead.value.overview.subject,
    (state) => {
      const { overview } = shownHead.peek();
      const changes = (state.changes ?? []) as number[];
      const isOther = String(changes) !== String(pending.peek() ?? changesOf(overview));
      if (isOther) pending.value = changes; // the state is this one from now on, though its picture comes later
      const open = source.synced.view.peek();
      restore(source, { ...state, all_heads: source.page.allHeads.peek() });
      if (source.synced.view.peek() !== open) source.page.visits.value++;
      const settle = () => {
        if (pending.peek() === changes) pending.value = null;
      };
      if (isOther) change(now, () => changes).then(settle, settle);
    },
  );
  store.synced.settings.subscribe((settings) => applySettings(source.page, settings ?? {}));
  const painted = signal(!["atlas", "head"].some((name) => store.synced.parts.peek().includes(name)));
  const plain = { ...others, ...source, history, address, tip: signal(null), painted, root: { current: null } };
  const viewOf = (read: Record<string, ReadonlySignal>) => {
    const getters = Object.entries({ ...read, dark }).map(
      ([name, signal]) => [name, { enumerable: true, get: () => signal.value }] as const,
    );
    return Object.defineProperties({ ...plain }, Object.fromEntries(getters)) as unknown as View;
  };
  const nextFrame = viewOf(aFrameLater(signals, signals.overview));
  nextFrame.nextFrame = nextFrame;
  return Object.assign(viewOf(signals), { nextFrame });
}

/** A view of another run beside one: its data, pins and sentence; all else is that view's. */
export function viewBeside(view: View, { shownHead, ...others }: Store, page: Page): View {
  const signals = {
    shownHead,
    overview: computed(() => shownHead.value.overview),
    ...createHeadGrid({ shownHead, ...others }),
  };
  const getters = Object.entries(signals).map(([name, signal]) => [name, { get: () => signal.value }] as const);
  const { history, address, tip, painted, root } = view;
  const second = { ...others, page, history, address, tip, painted, root, isBeside: true };
  Object.defineProperties(second, { ...Object.fromEntries(getters), dark: { get: () => view.dark } });
  return Object.assign(second, { nextFrame: second }) as unknown as View;
}

export const ViewContext = createContext<View | null>(null);
export const useView = (): View => useContext(ViewContext)!;
