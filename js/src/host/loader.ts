// What a view in a Jupyter kernel carries instead of the bundle, which all views of the kernel share: it is in one model
// that they name. Where that cannot be had, the kernel is asked. Code and style are put into a document once.
import type { AnyModel, AnyWidget, InitializeProps, RenderProps } from "@anywidget/types";
import type { Traits } from "../generated/vocabulary";
import { ask } from "../kernel/kernel";
import { fromBase64 } from "../kernel/wire";

type Model = AnyModel<Traits & { bundle: string }>;
type Packed = string | DataView<ArrayBuffer>; // text in Colab, and where the kernel is asked

const page = globalThis as unknown as Record<symbol, Promise<AnyWidget> | undefined>;
const LOADING = Symbol.for(`${BUNDLE_KEY} loading`);

async function find(model: Model, signal: AbortSignal): Promise<Packed> {
  try {
    const holder = await model.widget_manager.get_model(model.get("bundle").replace("IPY_MODEL_", ""));
    const packed = holder.get("packed") as Packed | undefined;
    if (packed) return packed;
  } catch {
    // a host without models of models
  }
  return (await ask(model, "bundle", {}, signal)).fields.packed as string;
}

async function load(model: Model, signal: AbortSignal): Promise<AnyWidget> {
  const packed = await find(model, signal);
  const unpacked = new Blob([typeof packed === "string" ? fromBase64(packed) : packed])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  const { code, style } = (await new Response(unpacked).json()) as { code: string; style: string };
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return ((await import(address)) as { default: AnyWidget }).default;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The widget, loaded once for a document by the first view; where that fails or goes away, each other tries in turn. */
async function shared(model: Model, signal: AbortSignal): Promise<AnyWidget> {
  const loading = page[LOADING];
  if (loading) return loading.catch(() => shared(model, signal));
  const bundle = load(model, signal);
  page[LOADING] = bundle;
  bundle.catch(() => {
    page[LOADING] = undefined;
  });
  return bundle;
}

export default {
  /** JupyterLab 4.6 holds on to the models of views that were closed: not to their bytes. */
  initialize({ model, signal }: InitializeProps<Traits>) {
    signal?.addEventListener("abort", () => {
      (model.get("overview") as Partial<Traits["overview"]>).data = undefined;
    });
  },
  async render(props: RenderProps<Traits>) {
    const signal = props.signal ?? new AbortController().signal;
    const widget = (await shared(props.model as unknown as Model, signal)) as {
      render(props: RenderProps<Traits>): () => void;
    };
    return signal.aborted ? undefined : widget.render(props);
  },
};
