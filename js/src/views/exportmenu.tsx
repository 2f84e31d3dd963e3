// Export menu: pictures of what is shown as SVG and PNG, its numbers as CSV, the whole view as a page of its own.
import { Menu } from "../parts/controls";
import { type Extras, load } from "../state/extras";
import { useView } from "./context";

export function ExportMenu() {
  const view = useView();
  const { store } = view;
  const { picture, layer, head, slice } = store.shown.value;
  const panels = store.synced.panels.value;
  const name = (what: string) => [
    "bertlens",
    picture.model.split("/").at(-1)!,
    ...(what === "atlas" ? [] : [`L${layer}H${head}`]),
    what,
  ];
  /** Make a file and hand it over; what goes wrong is said in the view. */
  const save =
    (what: string, extension: string, make: (extras: Extras) => string | Blob | Promise<string | Blob>) => async () => {
      try {
        const extras = await load(store);
        extras.download(extras.fileName(name(what), extension), await make(extras));
      } catch (error) {
        store.link.value = { state: "error", text: `not exported: ${(error as Error).message}` };
      }
    };
  const figures = [
    { what: "head", label: "Head view", make: "headFigure", there: panels.includes("head") },
    { what: "atlas", label: "Atlas", make: "atlasFigure", there: panels.includes("atlas") },
    {
      what: "neurons",
      label: "Neurons",
      make: "neuronFigure",
      there: panels.includes("neurons") && slice.q !== undefined,
    },
  ] as const;
  const open = store.synced.view.value;
  const tab = panels.includes(open) && ["norms", "gates", "geometry", "survey"].includes(open) ? open : null;
  const page = (layers: number[] | null) =>
    save("page", "html", async () => {
      const { buffers } = await store.request("html", { layers });
      return new Blob([buffers[0] as BlobPart]);
    });
  return (
    <Menu label="Export">
      {figures.map(
        ({ what, label, make, there }) =>
          there && (
            <div key={what} class="bl-menu-line">
              <span>{label}</span>
              <button type="button" onClick={save(what, "svg", (extras) => extras[make](view))}>
                SVG
              </button>
              <button type="button" onClick={save(what, "png", (extras) => extras.pngFromSvg(extras[make](view)))}>
                PNG
              </button>
            </div>
          ),
      )}
      {tab && (
        <div class="bl-menu-line">
          <span>Open tab</span>
          <button type="button" onClick={save(tab, "svg", (extras) => extras.tabFigure(view, tab))}>
            SVG
          </button>
          <button type="button" onClick={save(tab, "csv", (extras) => extras.tabCsv(view, tab))}>
            CSV
          </button>
        </div>
      )}
      {panels.includes("head") && (
        <button type="button" onClick={save("attention", "csv", (extras) => extras.headCsv(view))}>
          Numbers of this head (CSV)
        </button>
      )}
      <button type="button" disabled={!store.kernel.value} onClick={page(null)}>
        Page without kernel (HTML)
      </button>
      <button type="button" disabled={!store.kernel.value} onClick={page([layer])}>
        Page with layer {layer} only (HTML)
      </button>
      <p>Each with model, text, head, measure and versions.</p>
    </Menu>
  );
}
