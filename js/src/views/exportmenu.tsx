// Export menu: figures of what is shown as SVG and PNG, its numbers as CSV, the whole view as a page of its own.
import { download, fileName, pngFromSvg } from "../export/download";
import { Menu } from "../parts/controls";
import { useView, type View } from "./context";
import { openTab } from "./explorer";
import { atlasFigure, headCsv, headFigure, tabCsv, tabFigure } from "./exports";
import { Share } from "./share";
import { tabOf } from "./tabs";

type Make = () => string | Blob | Promise<string | Blob>;

/** Make a file and hand it over; what goes wrong is said in the view. */
async function save(view: View, what: string, extension: string, make: Make): Promise<void> {
  const { overview, layer, head } = view.shown;
  const of = what === "atlas" ? [] : [`L${layer}H${head}`];
  try {
    const name = fileName(["bertlens", overview.model.split("/").at(-1)!, ...of, what], extension);
    download(name, await make());
  } catch (error) {
    view.link.say("export", `not exported: ${(error as Error).message}`);
  }
}

const asSvg = (make: () => string): [extension: string, make: Make] => ["svg", make];
const asPng = (make: () => string): [extension: string, make: Make] => ["png", () => pngFromSvg(make())];

/** One line: what is exported, and a button for each kind of file. */
function Files({ label, what, files }: { label: string; what: string; files: [extension: string, make: Make][] }) {
  const view = useView();
  return (
    <div class="bl-menu-line">
      <span>{label}</span>
      {files.map(([extension, make]) => (
        <button type="button" key={extension} onClick={() => save(view, what, extension, make)}>
          {extension.toUpperCase()}
        </button>
      ))}
    </div>
  );
}

/** The tab that is open, if it has something to show. */
function TabFiles() {
  const view = useView();
  const tab = openTab(view);
  if (tab?.why_not !== "") return null;
  const draw = () => tabFigure(view, tab);
  const figures = tabOf(tab.name).figure ? [asSvg(draw), asPng(draw)] : [];
  return <Files label="Open tab" what={tab.name} files={[...figures, ["csv", () => tabCsv(view, tab)]]} />;
}

export function ExportMenu() {
  const view = useView();
  const { synced, request } = view;
  const { layer } = view.shown;
  const has = (name: string) => synced.parts.value.includes(name);
  const head = () => headFigure(view);
  const atlas = () => atlasFigure(view);
  const page = (layers: number[] | null) =>
    save(view, "page", "html", async () => {
      const { buffers } = await request("html", { layers });
      return new Blob([buffers[0] as BlobPart]);
    });
  const live = view.link.kernel.value;
  return (
    <Menu label="Export">
      {has("head") && <Files label="Head view" what="head" files={[asSvg(head), asPng(head)]} />}
      {has("atlas") && <Files label="Atlas" what="atlas" files={[asSvg(atlas), asPng(atlas)]} />}
      <TabFiles />
      {has("head") && (
        <button type="button" onClick={() => save(view, "attention", "csv", () => headCsv(view))}>
          Numbers of this head (CSV)
        </button>
      )}
      <button type="button" disabled={!live} onClick={() => page(null)}>
        Page without kernel (HTML)
      </button>
      <button type="button" disabled={!live} onClick={() => page([layer])}>
        Page with layer {layer} only (HTML)
      </button>
      <Share />
      <p>Each with model, text, head, measure and versions.</p>
    </Menu>
  );
}
