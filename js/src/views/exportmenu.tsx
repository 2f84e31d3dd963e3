// Export menu: figures of what is shown as SVG and PNG, its numbers as CSV, the whole view as a page of its own.
import { Menu } from "../parts/controls";
import { type Extras, load, loaded } from "../state/extras";
import { useView, type View } from "./context";
import { openTab } from "./explorer";

type Make = (extras: Extras) => string | Blob | Promise<string | Blob>;

/** Make a file and hand it over; what goes wrong is said in the view. */
async function save(view: View, what: string, extension: string, make: Make): Promise<void> {
  const { overview, layer, head } = view.shown;
  const of = what === "atlas" ? [] : [`L${layer}H${head}`];
  try {
    const extras = await load(view);
    const name = extras.fileName(["bertlens", overview.model.split("/").at(-1)!, ...of, what], extension);
    extras.download(name, await make(extras));
  } catch (error) {
    view.link.say("export", `not exported: ${(error as Error).message}`);
  }
}

const asSvg = (make: (extras: Extras) => string): [extension: string, make: Make] => ["svg", make];
const asPng = (make: (extras: Extras) => string): [extension: string, make: Make] => [
  "png",
  (extras) => extras.pngFromSvg(make(extras)),
];

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

/** The tab that is open, if it has something to show; its body is here already, and knows what it draws. */
function TabFiles() {
  const view = useView();
  const tab = openTab(view);
  const extras = loaded.value;
  if (tab?.why_not !== "" || extras.state !== "answered") return null;
  const draw = (extras: Extras) => extras.tabFigure(view, tab);
  const figures = extras.value.tabOf(tab.name).figure ? [asSvg(draw), asPng(draw)] : [];
  return <Files label="Open tab" what={tab.name} files={[...figures, ["csv", (extras) => extras.tabCsv(view, tab)]]} />;
}

export function ExportMenu() {
  const view = useView();
  const { synced, request } = view;
  const { layer } = view.shown;
  const has = (name: string) => synced.parts.value.includes(name);
  const head = (extras: Extras) => extras.headFigure(view);
  const atlas = (extras: Extras) => extras.atlasFigure(view);
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
        <button type="button" onClick={() => save(view, "attention", "csv", (extras) => extras.headCsv(view))}>
          Numbers of this head (CSV)
        </button>
      )}
      <button type="button" disabled={!live} onClick={() => page(null)}>
        Page without kernel (HTML)
      </button>
      <button type="button" disabled={!live} onClick={() => page([layer])}>
        Page with layer {layer} only (HTML)
      </button>
      <p>Each with model, text, head, measure and versions.</p>
    </Menu>
  );
}
