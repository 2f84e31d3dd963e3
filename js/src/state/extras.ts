// The second half of the front end: views and exports that the first picture does not need. It comes from the kernel
// (or from the page itself, where there is none) when it is first wanted, so that every widget stays small.
import { shared } from "bertlens:shared";
import { type Signal, signal } from "@preact/signals";
import type { Store } from "./store";

export type Extras = typeof import("../extras");

const loaded: Signal<Extras | null> = signal(null);
let loading: Promise<Extras> | null = null;

/** The extras as soon as they are here: reading the signal redraws whoever waits for them. */
export function extras(store: Store): Extras | null {
  if (!loaded.value && !loading) load(store).catch(() => undefined); // the link says why
  return loaded.value;
}

/** The extras, asked for if need be. Rejects where nobody answers; asking again then asks again. */
export function load(store: Store): Promise<Extras> {
  loading ??= fetchExtras(store).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function fetchExtras(store: Store): Promise<Extras> {
  const { buffers } = await store.request("extras", {});
  const address = URL.createObjectURL(new Blob([buffers[0] as BlobPart], { type: "text/javascript" }));
  try {
    const module = (await import(address)) as { default: (require: (name: string) => unknown) => Extras };
    const extras = module.default((name) => (shared as Record<string, unknown>)[name]);
    loaded.value = extras;
    return extras;
  } finally {
    URL.revokeObjectURL(address);
  }
}
