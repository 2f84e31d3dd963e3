// The view of labelled examples is loaded apart, by views of a task alone: a saved page has its code, else the kernel
// gives it. What it shares with the bundle is handed to it.
import { useEffect, useState } from "preact/hooks";
import type { Numbers } from "../../parts/picturetable";
import { useView, type View } from "../../state/view";
import type { Apart } from "./index";
import { SHARED } from "./shared";

const NAME = Symbol.for(TASK_KEY);
const page = globalThis as unknown as Record<symbol, ((shared: typeof SHARED) => Apart) | undefined>;
let loading: Promise<Apart> | null = null;
let made: Apart | null = null;

async function load({ request }: View): Promise<Apart> {
  if (!page[NAME]) {
    const { code } = (await request("task_code", {})).fields as { code: string };
    const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    try {
      await import(address);
    } finally {
      URL.revokeObjectURL(address);
    }
  }
  made = page[NAME]!(SHARED);
  return made;
}

/** Once for a document; what failed is tried again. */
function loaded(view: View): Promise<Apart> {
  loading ??= load(view).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

export const exampleNumbers = async (view: View): Promise<Numbers> => (await loaded(view)).numbers(view);

export function Examples() {
  const view = useView();
  const [apart, set] = useState(made);
  const [why, say] = useState("");
  useEffect(() => {
    if (!apart) loaded(view).then(set, (error: Error) => say(error.message));
  }, []);
  if (!apart) return <p class="bl-empty">{why || "loading the examples …"}</p>;
  return (
    <>
      <style>{apart.style}</style>
      <apart.Task />
    </>
  );
}
