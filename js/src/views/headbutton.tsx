// One head in the atlas: its thumbnail with the gate's letter, what it says on hover, and what a click does.
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { MEASURES } from "../compute/measure";
import { dataUri, png } from "../paint/bitmap";
import { signedTable, weightTable } from "../paint/palette";
import { percent } from "../parts/format";
import { describe, type Statistic } from "../parts/sentence";
import { gateSign } from "../state/gates";
import type { Picture } from "../state/picture";
import { headLabel, type Shown } from "../state/store";
import type { HeadName } from "../state/synced";
import { showTip, useView } from "./context";

/** A statistic of a head as the atlas prints it. */
export const number = (stat: Statistic, value: number) =>
  Number.isNaN(value) ? "–" : stat.percent ? percent(value) : value.toFixed(2);

/** The name of a head that counts from 1. */
export const paperName = (layer: number, head: number) => `${layer + 1}-${head + 1}`;

function Thumbnail({ p, layer, head, common }: { p: Picture; layer: number; head: number; common: number }) {
  const { dark, store } = useView();
  const { data, max, measure } = useComputed(() => store.shown.value.thumbs).value;
  const { rows, cols } = p.thumbs;
  const { signed } = MEASURES[measure];
  const table = signed ? signedTable(dark.value) : weightTable(dark.value);
  const n = layer * p.n_heads + head;
  const picture = useMemo(() => {
    const bytes = data.subarray(n * rows * cols, (n + 1) * rows * cols);
    const gain = common ? max[n]! / common : 1;
    const zero = signed ? 127.5 : 0;
    const entries = common ? bytes.map((v) => Math.round(zero + (v - zero) * gain)) : bytes;
    return dataUri(png(entries, cols, rows, table));
  }, [data, n, table, common, signed]);
  return <img class="bl-pixels" src={picture} alt="" draggable={false} decoding="sync" />;
}

/** The gate's letter in the corner of a thumbnail. */
function Corner({ label }: { label: string | undefined }) {
  if (!label) return null;
  const [letter, mark] = gateSign(label);
  return (
    <span class="bl-gate bl-corner" aria-hidden="true">
      {letter}
      {mark}
    </span>
  );
}

export function HeadButton(props: {
  p: Picture;
  name: HeadName;
  stat: Statistic | undefined;
  gate: string | undefined;
}) {
  const { p, stat, gate } = props;
  const [layer, head] = props.name;
  const view = useView();
  const { page, store } = view;
  const { synced } = store;
  // computed: of all these buttons only those that change are drawn again
  const chosen = useComputed(() => synced.layer.value === layer && synced.head.value === head).value;
  const overlaid = useComputed(() => synced.heads.value.some(([l, h]) => l === layer && h === head)).value && !chosen;
  const value = stat ? p.statistic(layer, head, stat.name) : Number.NaN;
  const recedes =
    (stat !== undefined && page.atlasMinimum.value > 0 && value < page.atlasMinimum.value * statMaximum(p, stat)) ||
    (page.gateFilter.value !== "" && gate !== undefined && gate !== page.gateFilter.value);
  const sentence = describe(p, layer, head);
  const label = `${headLabel(layer, head)} (paper: ${paperName(layer, head)}). ${gate ? `${gate}. ` : ""}${sentence}`;
  const tip = (event: { currentTarget: Element }) =>
    showTip(
      view,
      event.currentTarget,
      <>
        <b>{headLabel(layer, head)}</b> <span class="bl-muted">(paper: {paperName(layer, head)})</span> {gate}
        <br />
        {sentence}
      </>,
    );
  const untip = () => {
    view.tip.value = null;
  };
  return (
    <div role="gridcell" aria-selected={chosen}>
      <button
        type="button"
        class={`bl-thumb${chosen ? " bl-chosen" : ""}${overlaid ? " bl-overlaid" : ""}${recedes ? " bl-recedes" : ""}`}
        data-head={`${layer}-${head}`}
        tabIndex={chosen ? 0 : -1}
        aria-label={label}
        onClick={(event) => {
          if (event.shiftKey || event.ctrlKey || event.metaKey) toggleOverlay(view, layer, head);
          else synced.put({ layer, head, layer_map: "" });
        }}
        onPointerEnter={tip}
        onFocus={tip}
        onPointerLeave={untip}
        onBlur={untip}
      >
        {Number.isNaN(p.statistic(layer, head, "entropy")) ? (
          <span class="bl-nan">NaN</span>
        ) : (
          <Thumbnail
            p={p}
            layer={layer}
            head={head}
            common={page.commonScale.value ? commonScale(store.shown.value) : 0}
          />
        )}
        <Corner label={gate} />
        {page.atlasOrder.value !== "position" && stat && (
          <span class="bl-thumb-caption">
            {headLabel(layer, head)}
            <b>{number(stat, value)}</b>
          </span>
        )}
      </button>
    </div>
  );
}

/** The value of the last colour when all thumbnails share one scale: 1 for weights, else the largest of all. */
export const commonScale = ({ thumbs }: Shown) =>
  thumbs.measure === "weight" ? 1 : thumbs.max.reduce((a, b) => Math.max(a, b), 1e-9);

/** The largest value that any head has. */
export function statMaximum(p: Picture, stat: Statistic): number {
  let most = 0;
  for (let l = 0; l < p.n_layers; l++)
    for (let h = 0; h < p.n_heads; h++) most = Math.max(most, p.statistic(l, h, stat.name) || 0);
  return most;
}

function toggleOverlay(view: ReturnType<typeof useView>, layer: number, head: number): void {
  const { synced } = view.store;
  const without = synced.heads.value.filter(([l, h]) => l !== layer || h !== head);
  const had = without.length < synced.heads.value.length;
  synced.put({ heads: had ? without : [...without, [layer, head]], ...(had ? {} : { mode: "lines" as const }) });
}
