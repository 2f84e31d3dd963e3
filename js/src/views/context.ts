// What every part of one view shares: its data, its page state, its theme.
import type { ReadonlySignal, Signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Display } from "../state/display";
import type { Page } from "../state/page";
import type { Store } from "../state/store";

export interface Tip {
  x: number; // in the root's own pixels
  y: number;
  content: ComponentChildren;
}

export interface View {
  store: Store;
  page: Page;
  display: Display;
  dark: ReadonlySignal<boolean>;
  tip: Signal<Tip | null>;
  root: { current: HTMLDivElement | null };
}

export const ViewContext = createContext<View | null>(null);

export function useView(): View {
  return useContext(ViewContext)!;
}

/** Show the tooltip next to an element or at the pointer. */
export function showTip(view: View, at: Element | PointerEvent, content: ComponentChildren): void {
  const root = view.root.current?.getBoundingClientRect();
  if (!root) return;
  if (at instanceof Element) {
    const box = at.getBoundingClientRect();
    view.tip.value = { x: box.left + box.width / 2 - root.left, y: box.bottom - root.top, content };
  } else {
    view.tip.value = { x: at.clientX - root.left, y: at.clientY - root.top + 12, content };
  }
}
