// State that is shared with the kernel: one signal per trait, written both ways.
import type { AnyModel } from "@anywidget/types";
import { batch, type Signal, signal } from "@preact/signals";
import { TRAIT_NAMES, type Traits } from "../generated/vocabulary";

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
