// What every part of one view shares: its data, its page state, its theme.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import type { Answer, Arguments, Kind } from "../kernel/answers";
import { createDisplay, type Display } from "./display";
import { createHistory, type History } from "./history";
import { lagging } from "./nextframe";
import type { Overview } from "./overview";
import { createPage, type Page } from "./page";
import type { Shown } from "./shown";
import { applySettings, restore, stateOf } from "./snapshot";
import type { Store } from "./store";
import type { Asked } from "./whatif";

const TIP = 60; // px that a tooltip may be high

interface Tip {
  x: number; // in the root's own pixels
  y: number;
  content: ComponentChildren;
}

type Values<T> = { readonly [K in keyof T]: T[K] extends ReadonlySignal<infer V> ? V : never };

/** The store, and what changes as plain properties: who reads one while it draws is drawn again when it does. */
export interface View extends Omit<Store, "shown">, Values<Display> {
  readonly shown: Shown;
  readonly overview: Overview; // of what is shown; unlike that it does not change with every head
  readonly dark: boolean;
  from?: { row: number; col: number }; // of a part of a long text: its first query and key
  after: View; // the same, a frame later
  page: Page;
  history: History;
  address: Location | null; // of a page that is all ours
  tip: Signal<Tip | null>;
  painted: Signal<boolean>; // the first picture is on the screen, or there is none
  root: { current: HTMLDivElement | null };
}

export function createView(store: Store, dark: ReadonlySignal<boolean>, address: Location | null = null): View {
  const { shown, ...others } = store;
  const signals = { shown, overview: computed(() => shown.value.overview), ...createDisplay(store) };
  const kept = { synced: store.synced, page: createPage() };
  const { wanted } = kept.page.whatif;
  const now = {
    ...{ request: store.request, page: kept.page },
    get overview() {
      return shown.peek().overview;
    },
  };
  const history = createHistory(
    () => {
      const changes = wanted.value ?? changesOf(shown.value.overview);
      return { ...stateOf(kept), ...(changes.length > 0 ? { changes } : {}) };
    },
    () => shown.value.overview.subject,
    (state) => {
      const { overview } = shown.peek();
      const changes = (state.changes ?? []) as number[];
      const isOther = String(changes) !== String(wanted.peek() ?? changesOf(overview));
      if (isOther) wanted.value = changes; // the state is this one from now on, though its picture comes later
      restore(kept, state);
      const done = () => {
        if (wanted.peek() === changes) wanted.value = null;
      };
      if (isOther) change(now, () => changes).then(done, done);
    },
  );
  store.synced.settings.subscribe((settings) => applySettings(kept.page, settings ?? {}));
  const painted = signal(!["atlas", "head"].some((name) => store.synced.parts.peek().includes(name)));
  const plain = { ...others, ...kept, history, address, tip: signal(null), painted, root: { current: null } };
  const viewOf = (of: Record<string, ReadonlySignal>) => {
    const getters = Object.entries({ ...of, dark }).map(
      ([name, one]) => [name, { enumerable: true, get: () => one.value }] as const,
    );
    return Object.defineProperties({ ...plain }, Object.fromEntries(getters)) as unknown as View;
  };
  const after = viewOf(lagging(signals, signals.overview));
  after.after = after;
  return Object.assign(viewOf(signals), { after });
}

export const changesOf = ({ changes }: Overview): number[] => changes.map(({ id }) => id);

/**
 * Run the text with other changes, which `list` makes of those that there are: one request after the other, each from
 * what the one before has left. The link says what goes wrong; nothing is wrong where the text is another by then.
 */
export function change(
  view: Pick<View, "request" | "page" | "overview">,
  list: (there: number[]) => Asked[],
  { subject } = view.overview,
): Promise<Asked[]> {
  const { whatif } = view.page;
  const made = whatif.turn.then(async () => {
    const { trace, map, ...now } = view.overview;
    if (now.subject !== subject) throw new Error("another text");
    const changes = list(changesOf(view.overview));
    await view.request("change", { trace, map, changes });
    return changes;
  });
  whatif.turn = made.catch(() => undefined);
  return made;
}

export const ViewContext = createContext<View | null>(null);
export const useView = (): View => useContext(ViewContext)!;

/**
 * What is known of a question about the maps shown. While a new answer is on its way, the last one of them stays.
 * `known`: the answer where none has to be asked for. `wait`: it is not asked yet.
 */
export function useAnswer<T, Op extends string>(
  kind: Kind<T, Op>,
  args: Arguments<Op>,
  { known, wait = false }: { known?: () => T; wait?: boolean } = {},
): Answer<T> {
  const { answers, overview } = useView();
  const reason = kind.needs && overview.offers[kind.needs];
  const answer: Answer<T> = reason
    ? { state: "refused", reason }
    : wait
      ? { state: "asking" }
      : answers.get(kind, overview, args, known);
  const last = useRef<{ overview: Overview; answer: Answer<T> } | null>(null);
  if (answer.state === "answered") last.current = { overview, answer };
  return answer.state === "asking" && last.current?.overview === overview ? last.current.answer : answer;
}

/**
 * Show the tooltip of an element or of the pointer; without content it goes. It stands below the grid or the chart that
 * it speaks of, and at the pointer where that is out of sight.
 */
export function showTip({ tip, root }: View, at: Element | PointerEvent, content: ComponentChildren): void {
  const frame = root.current!.getBoundingClientRect();
  const element = at instanceof Element ? at : (at.currentTarget as Element);
  const box = element.getBoundingClientRect();
  const around = (element.closest(".bl-scroll, svg") ?? element).getBoundingClientRect();
  const x = at instanceof Element ? box.left + box.width / 2 : at.clientX;
  const beside = at instanceof Element ? box.bottom : at.clientY + 12;
  const y = around.bottom + TIP < innerHeight ? around.bottom : beside;
  tip.value = content ? { x: x - frame.left, y: y - frame.top, content } : null;
}

export function hideTip({ tip }: View): void {
  tip.value = null;
}

/** The handlers of an element with a tooltip, at the pointer or beside the element. */
export const tipped = (view: View, content: () => ComponentChildren, beside = false) => ({
  onPointerEnter: (event: PointerEvent) => showTip(view, beside ? (event.currentTarget as Element) : event, content()),
  onPointerLeave: () => hideTip(view),
});
