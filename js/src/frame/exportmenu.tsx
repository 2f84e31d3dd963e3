// Export menu: figures of what is shown as SVG and PNG, its numbers as CSV, the whole view as a page of its own.

import { signal } from "@preact/signals";
import { download, fileName, pngFromSvg } from "../export/download";
import { shadesOf } from "../head/running";
import { NEEDS_PYTHON } from "../kernel/needs";
import { Button, Check, choicesOf, Menu, Segmented } from "../parts/controls";
import type { Sheet } from "../parts/paper";
import { lessonOf } from "../state/lesson";
import { settingsOf } from "../state/snapshot";
import { useView, type View } from "../state/view";
import { openTab } from "../tabs/opentab";
import { tabOf } from "../tabs/tabs";
import { atlasFigure, headCsv, headFigure, screenFigure, tabCsv, tabFigure } from "./export";
import { LiveFile } from "./livefile";
import { Share } from "./share";
import { screenOf } from "./thisscreen";

/** How figures are to look, as the reader chose it for all views of the document. */
const wish = signal<Sheet>({ mm: 0, points: 8, dark: false, caption: false, selection: false });
const PRINT = 600 / 96; // pixels of a PNG for each CSS pixel, where it has a width: 600 to the inch

type Make = () => string | Blob | Promise<string | Blob>;
type Kind = [extension: string, make: Make, title?: string, refused?: string];

/** Make a file and hand it over; what goes wrong is said in the view. */
async function save(view: View, what: string, extension: string, make: Make): Promise<void> {
  const { overview, layer, head } = view.shownHead;
  const headName = what === "atlas" ? [] : [`L${layer}H${head}`];
  try {
    const name = fileName(["bertlens", overview.model.split("/").at(-1)!, ...headName, what], extension);
    download(name, await make());
  } catch (error) {
    view.link.say("export", `not exported: ${(error as Error).message}`);
  }
}

type MakeSvg = () => string | Promise<string>;

const asSvg = (make: MakeSvg): Kind => ["svg", make];
const asPng = (make: MakeSvg): Kind => ["png", async () => pngFromSvg(await make(), wish.value.mm ? PRINT : 2)];

/** Why there is no file of the kernel's; undefined where there is. */
const refusal = (view: View): string | undefined =>
  hasKernel(view) ? undefined : view.link.kernel.value ? NEEDS_PYTHON : view.link.needs.value;

const asPdf = (view: View, make: Make): Kind => [
  "pdf",
  make,
  "Letters and paths, made by the kernel; without selection and caption",
  refusal(view),
];

const fromKernel = async ({ request, shownHead: { overview } }: View, sheet: Record<string, unknown>) => {
  const { buffers } = await request("pdf", { trace: overview.trace, map: overview.map, sheet });
  return new Blob([buffers[0] as BlobPart]);
};

const screenPdf = (view: View): Kind =>
  asPdf(view, async () => fromKernel(view, { ...wish.value, drawn: await screenOf(view, wish.value) }));

/** Of the map or of the running text that is shown. */
const headPdf = (view: View): Kind =>
  asPdf(view, async () => {
    const shades = view.synced.mode.value === "text" ? shadesOf(view) : null;
    const by = { query: null, key: null, ...(shades ? { [shades.to ? "key" : "query"]: shades.unit.pieces[0] } : {}) };
    const { mm, points, dark } = wish.value;
    return fromKernel(view, { mm, points, dark, ...by });
  });

/** Whether there is Python behind the view, not a page alone. */
const hasKernel = ({ link }: View): boolean => link.kernel.value && !link.page.value;

/** One line: what is exported, and a button for each kind of file. */
function Files({ label, what, files }: { label: string; what: string; files: Kind[] }) {
  const view = useView();
  return (
    <div class="bl-menu-line">
      <span>{label}</span>
      {files.map(([extension, make, title, refused]) => (
        <Button
          key={extension}
          title={refused ?? title}
          disabled={refused !== undefined}
          onClick={() => save(view, what, extension, make)}
        >
          {extension.toUpperCase()}
        </Button>
      ))}
    </div>
  );
}

/** The tab that is open, if it has something to show. */
function TabFiles() {
  const view = useView();
  const tab = openTab(view);
  if (tab?.why_not !== "") return null;
  const { figure, pdf } = tabOf(tab.name);
  const draw = () => tabFigure(view, tab, wish.value);
  const figures = figure ? [asSvg(draw), asPng(draw)] : [];
  if (pdf) figures.push(asPdf(view, () => pdf(view)));
  return <Files label="Open tab" what={tab.name} files={[...figures, ["csv", () => tabCsv(view, tab)]]} />;
}

/** The sheet that figures are drawn on. */
function Wish() {
  const { mm, points, dark, caption, selection } = wish.value;
  const put = (change: Partial<Sheet>) => {
    wish.value = { ...wish.value, ...change };
  };
  return (
    <div class="bl-wish" data-stays>
      <Segmented
        label="width"
        value={String(mm)}
        choices={choicesOf({ 0: "as drawn", 85: "85 mm", 180: "180 mm" })}
        onChange={(value) => put({ mm: Number(value) })}
      />
      {mm > 0 && (
        <Segmented
          label="letters, pt"
          value={String(points)}
          choices={["7", "8", "9"].map((value) => ({ value, label: value }))}
          onChange={(value) => put({ points: Number(value) })}
        />
      )}
      <Check label="dark" value={dark} onChange={(value) => put({ dark: value })} />
      <Check label="selection" value={selection} onChange={(value) => put({ selection: value })} />
      <Check label="caption" value={caption} onChange={(value) => put({ caption: value })} />
    </div>
  );
}

export function ExportMenu() {
  const view = useView();
  const { synced, request } = view;
  const { layer } = view.shownHead;
  const has = (name: string) => synced.parts.value.includes(name);
  const head = () => headFigure(view, wish.value);
  const atlas = () => atlasFigure(view, wish.value);
  /** A page that the kernel writes. */
  const written = (what: string, op: string, fields: Record<string, unknown> = {}) =>
    save(view, what, "html", async () => new Blob([(await request(op, fields)).buffers[0] as BlobPart]));
  const kernel = hasKernel(view);
  const why = refusal(view);
  const screen = () => screenFigure(view, wish.value);
  const hasFront = has("header") && !view.overview.patches && (has("head") || has("atlas"));
  return (
    <Menu label="Export" stays>
      {hasFront && <Files label="This screen" what="screen" files={[asSvg(screen), asPng(screen), screenPdf(view)]} />}
      <Wish />
      {has("head") && <Files label="Head view" what="head" files={[asSvg(head), asPng(head), headPdf(view)]} />}
      {has("atlas") && <Files label="Atlas" what="atlas" files={[asSvg(atlas), asPng(atlas)]} />}
      <TabFiles />
      {has("head") && (
        <Button onClick={() => save(view, "attention", "csv", () => headCsv(view))}>Numbers of this head (CSV)</Button>
      )}
      <Button
        disabled={!kernel}
        title={why}
        onClick={() => written("page", "html", { layers: null, settings: settingsOf(view) })}
      >
        Page without kernel (HTML)
      </Button>
      <Button
        disabled={!kernel}
        title={why}
        onClick={() => written("page", "html", { layers: [layer], settings: settingsOf(view) })}
      >
        Page with layer {layer} only (HTML)
      </Button>
      {kernel && <LiveFile save={() => written("live", "html", { live: true, settings: settingsOf(view) })} />}
      {kernel && lessonOf(synced) && (
        <Button
          title="For print: of each step a still picture, its question and lines to write on; solutions on pages of their own. It may take half a minute."
          onClick={() => written("handout", "handout")}
        >
          Hand-out of the lesson (HTML)
        </Button>
      )}
      <Share />
      {why && <p>Grey: {why}</p>}
      <p>SVG and CSV hold model, text, head, measure and versions.</p>
    </Menu>
  );
}
