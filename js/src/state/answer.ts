// One answer of the kernel that belongs to the whole trace, asked for when the view that needs it opens.
import { useEffect, useState } from "preact/hooks";
import { type Arrays, unpack } from "../wire";
import type { Store } from "./store";

const answers = new WeakMap<Store, Map<string, unknown>>();

/** The answer to `op` for the trace shown, read by `read`; null until it is here. Kept as long as the view lives. */
export function useAnswer<T>(
  store: Store,
  op: string,
  read: (answer: { fields: Record<string, unknown>; arrays: Arrays }) => T,
  more: Record<string, unknown> = {},
): T | null {
  const { trace, map } = store.shown.value.picture;
  const name = JSON.stringify([trace, map, op, more]);
  const [, arrived] = useState(0);
  if (!answers.has(store)) answers.set(store, new Map());
  const kept = answers.get(store)!;
  useEffect(() => {
    if (kept.has(name)) return;
    store.request(op, { trace, map, ...more }).then(
      ({ fields, buffers }) => {
        const arrays = buffers[0] ? unpack(fields.arrays as never, buffers[0]) : {};
        for (const old of kept.keys()) if (!old.startsWith(`["${trace}"`)) kept.delete(old);
        kept.set(name, read({ fields, arrays }));
        arrived((n) => n + 1);
      },
      () => undefined, // the link says why
    );
  }, [name]);
  return (kept.get(name) as T | undefined) ?? null;
}
