// State that is shared with the kernel: one signal per trait, written both ways.
import type { AnyModel } from "@anywidget/types";
import { batch, type Signal, signal } from "@preact/signals";
import type { Measure } from "../compute/measure";

export type PairFilter = "all" | "AA" | "BB" | "AB" | "BA";
export type HeadName = [layer: number, head: number];

/** The traits of bertlens.widgets.base.LensWidget; a Python test compares the names. */
export interface Traits {
  panels: string[];
  picture: { header: Record<string, unknown>; data: DataView };
  map: string;
  layer: number;
  head: number;
  heads: HeadName[];
  query: number | null;
  key: number | null;
  measure: Measure;
  layer_map: string;
  mode: "matrix" | "lines";
  view: "neurons" | "norms" | "gates" | "geometry" | "survey" | "table";
  text: string;
  text_pair: string;
  truncation: boolean;
  pair_filter: PairFilter;
  units: "pieces" | "words" | "spans";
  hide_special: boolean;
  renormalize: boolean;
  theme: "auto" | "light" | "dark";
  include_layers: number[] | null;
  include_heads: number[] | null;
}

export const TRAIT_NAMES = [
  "panels",
  "picture",
  "map",
  "layer",
  "head",
  "heads",
  "query",
  "key",
  "measure",
  "layer_map",
  "mode",
  "view",
  "text",
  "text_pair",
  "truncation",
  "pair_filter",
  "units",
  "hide_special",
  "renormalize",
  "theme",
  "include_layers",
  "include_heads",
] as const satisfies readonly (keyof Traits)[];

export type Synced = { readonly [K in keyof Traits]: Signal<Traits[K]> } & {
  /** Change several traits at once, here and in the kernel. */
  put(changes: Partial<Traits>): void;
};

/** Bind every trait of the model to a signal until `until` is aborted. */
export function synced(model: AnyModel<Traits>, until: AbortSignal): Synced {
  const signals: Record<string, Signal<unknown>> = {};
  for (const name of TRAIT_NAMES) {
    const trait = signal<unknown>(model.get(name));
    const follow = () => {
      trait.value = model.get(name);
    };
    signals[name] = trait;
    model.on(`change:${name}`, follow);
    until.addEventListener("abort", () => model.off(`change:${name}`, follow));
  }
  const put = (changes: Partial<Traits>) => {
    batch(() => {
      for (const [name, value] of Object.entries(changes)) {
        signals[name]!.value = value;
        model.set(name as keyof Traits, value as never);
      }
    });
    model.save_changes();
  };
  return { ...signals, put } as unknown as Synced;
}
