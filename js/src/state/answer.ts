// Answers of the kernel that belong to the whole trace or to one head, asked for when a view needs them.
import { useComputed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type Arrays, unpack } from "../wire";
import type { Store } from "./store";

const kept = new WeakMap<Store, Map<string, unknown>>();
const MOST = 200; // answers of a view

/**
 * The answer to `op` for the trace shown, read by `read`. While a new one is on its way the last one stays, if it is of
 * the same trace; null before there is any, and for an `op` of null, which asks nothing.
 */
export function useAnswer<T>(
  store: Store,
  op: string | null,
  read: (answer: { fields: Record<string, unknown>; arrays: Arrays }) => T,
  more: Record<string, unknown> = {},
): T | null {
  const { trace, map } = useComputed(() => store.shown.value.picture).value; // not with every head
  const about = JSON.stringify([trace, map, op]);
  const name = JSON.stringify([about, more]);
  const [last, setLast] = useState<{ about: string; value: unknown } | null>(null);
  if (!kept.has(store)) kept.set(store, new Map());
  const answers = kept.get(store)!;
  useEffect(() => {
    let wanted = true;
    const arrived = () => wanted && setLast({ about, value: answers.get(name) });
    if (op === null) return;
    if (answers.has(name)) arrived();
    else
      store.request(op, { trace, map, ...more }, true).then(
        ({ fields, buffers }) => {
          const arrays = fields.arrays ? unpack(fields.arrays as never, buffers[0]!) : {};
          if (answers.size >= MOST) answers.delete(answers.keys().next().value!); // the oldest
          answers.set(name, read({ fields, arrays }));
          arrived();
        },
        () => undefined, // the link says why
      );
    return () => {
      wanted = false;
    };
  }, [name]);
  const found = answers.get(name) ?? (last?.about === about ? last.value : undefined);
  return (found as T | undefined) ?? null;
}
