// Export menu: pictures of what is shown as SVG and PNG, its numbers as CSV, the whole view as a page of its own.
import { download, fileName } from "../export/download";
import { pngFromSvg } from "../export/png";
import { Menu } from "../parts/controls";
import { useView } from "./context";
import { atlasFigure, headCsv, headFigure, neuronFigure } from "./figures";

export function ExportMenu() {
  const view = useView();
  const { store } = view;
  const { picture, layer, head, slice } = store.shown.value;
  const panels = store.synced.panels.value;
  const name = (what: string, extension: string) =>
    fileName(
      ["bertlens", picture.model.split("/").at(-1)!, ...(what === "atlas" ? [] : [`L${layer}H${head}`]), what],
      extension,
    );
  const attempt = (work: () => void | Promise<void>) => async () => {
    try {
      await work();
    } catch (error) {
      store.link.value = { state: "error", text: `not exported: ${(error as Error).message}` };
    }
  };
  const figures = [
    { what: "head", label: "Head view", svg: headFigure, there: panels.includes("head") },
    { what: "atlas", label: "Atlas", svg: atlasFigure, there: panels.includes("atlas") },
    {
      what: "neurons",
      label: "Neurons",
      svg: neuronFigure,
      there: panels.includes("neurons") && slice.q !== undefined,
    },
  ].filter(({ there }) => there);
  const page = (layers: number[] | null) =>
    attempt(async () => {
      const { buffers } = await store.request("html", { layers });
      download(name("page", "html"), new Blob([buffers[0]! as BlobPart]));
    });
  return (
    <Menu label="Export">
      {figures.map(({ what, label, svg }) => (
        <div key={what} class="bl-menu-line">
          <span>{label}</span>
          <button type="button" onClick={attempt(() => download(name(what, "svg"), svg(view)))}>
            SVG
          </button>
          <button type="button" onClick={attempt(async () => download(name(what, "png"), await pngFromSvg(svg(view))))}>
            PNG
          </button>
        </div>
      ))}
      {panels.includes("head") && (
        <button type="button" onClick={attempt(() => download(name("attention", "csv"), headCsv(view)))}>
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
