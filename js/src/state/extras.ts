// The second half of the front end: tabs and exports, which the first picture does not need. It comes from the kernel (or
// from the page itself, where there is none) when it is first wanted, so that every widget stays small.
import { shared } from "bertlens:shared";
import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Answer, PATIENCE } from "./answers";
import type { Store } from "./store";

export type Extras = typeof import("../extras");

/** For all views of the document. */
export const loaded: Signal<Answer<Extras>> = signal({ state: "asking" });
let loading: Promise<Extras> | null = null;

/** The extras for a component, asked for when it is put in. */
export function useExtras(store: Pick<Store, "request">): Answer<Extras> {
  useEffect(() => {
    load(store).catch(() => undefined); // `loaded` says why
  }, []);
  return loaded.value;
}

/** The extras, asked for if need be. Rejects where nobody answers; asking again then asks again. */
export function load(store: Pick<Store, "request">): Promise<Extras> {
  loading ??= fetchExtras(store).catch((error: Error) => {
    loading = null;
    refuse(error.message);
    throw error;
  });
  return loading;
}

const refuse = (reason: string) => {
  loaded.value = { state: "refused", reason };
};

async function fetchExtras(store: Pick<Store, "request">): Promise<Extras> {
  if (loaded.peek().state === "refused") loaded.value = { state: "asking" };
  const { buffers } = await store.request("extras", {}, PATIENCE, refuse);
  const packed = new Blob([buffers[0] as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(packed).arrayBuffer();
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    const module = (await import(address)) as { default: (borrowed: unknown[]) => Extras };
    const value = module.default(shared);
    loaded.value = { state: "answered", value };
    return value;
  } finally {
    URL.revokeObjectURL(address);
  }
}
