// One head in the atlas: its thumbnail with the gate's letter, what it says on hover, and what a click does.

import { useComputed } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { MEASURES } from "../generated/vocabulary";
import { dataUri, png } from "../paint/bitmap";
import { cssColor, inkOn } from "../paint/colormap";
import { headLabel, paperName } from "../paint/format";
import { coloursOf } from "../paint/palette";
import { Button } from "../parts/controls";
import { restOf, sentenceText } from "../parts/phrasing";
import { hideTip, showTip } from "../parts/tooltip";
import type { HeadValue } from "../state/headvalue";
import type { Thumbs } from "../state/overview";
import { useView, type View } from "../state/view";
import { atLength, gateSign, useByWeight } from "./gatemarks";
import { changeColour, isOff, type Says } from "./headvalues";

/** The value of the last colour when all thumbnails share one scale: 1 for weights, else the largest of all. */
export const commonScale = ({ measure, max }: Thumbs) =>
  measure === "weight" ? 1 : max.reduce((a, b) => Math.max(a, b), 1e-9);

/** The entries of one head's thumbnail; `common` is the value of the last colour where all share one scale, else 0. */
export function thumbnail({ measure, data, max }: Thumbs, n: number, size: number, common: number): Uint8Array {
  const entries = data.subarray(n * size, (n + 1) * size);
  const zero = MEASURES[measure].signed ? 127.5 : 0;
  return common ? entries.map((v) => Math.round(zero + ((v - zero) * max[n]!) / common)) : entries;
}

interface PictureProps {
  thumbs: Thumbs;
  n: number;
  hidden: boolean;
}

function Picture({ thumbs, n, hidden }: PictureProps) {
  const { dark, page, overview } = useView();
  const common = page.commonScale.value ? commonScale(thumbs) : 0;
  const src = useMemo(() => {
    const [rows, cols] = overview.thumbShape;
    const colours = coloursOf(MEASURES[thumbs.measure].signed, dark);
    return dataUri(png(thumbnail(thumbs, n, rows * cols, common), cols, rows, colours));
  }, [thumbs.data, n, dark, common]); // what comes later into the same data is of other heads
  return (
    <img
      class="bl-pixels"
      src={src}
      style={{ display: hidden ? "none" : "" }}
      alt=""
      draggable={false}
      decoding="sync"
    />
  );
}

/** In the place of a picture that is still to come, or that a page without a kernel does not hold. */
const NoPicture = () => <span class="bl-fill bl-muted">{useView().link.kernel.value ? "…" : "–"}</span>;

/** The picture by the measure shown; those that were shown before stay, hidden: measures are gone back to. */
export function Thumbnail({ n }: { n: number }) {
  const view = useView();
  const thumbs = useComputed(() => view.shownHead.thumbs).value;
  const pictures = useRef(new Map<string, Thumbs>()).current;
  if (pictures.get("weight")?.data !== view.overview.thumbs.data) pictures.clear(); // another text
  pictures.set("weight", view.overview.thumbs).set(thumbs.measure, thumbs);
  if (thumbs.pending?.includes(Math.floor(n / view.overview.n_heads))) return <NoPicture />;
  return (
    <>
      {[...pictures.values()].map((one) => (
        <Picture key={one.measure} thumbs={one} n={n} hidden={one.measure !== thumbs.measure} />
      ))}
    </>
  );
}

function toggleOverlay({ synced }: View, layer: number, head: number): void {
  const without = synced.heads.value.filter(([l, h]) => l !== layer || h !== head);
  if (without.length < synced.heads.value.length) synced.put({ heads: without });
  else synced.put({ heads: [...without, [layer, head]], mode: "lines" });
}

interface HeadButtonProps {
  layer: number;
  head: number;
  stat: HeadValue | null; // of its colour
  by: HeadValue | null; // by which heads are in order
  gate?: string;
  says: Says;
}

/** The class of a head that steps back, since it has another gate than the chosen one, or that is hidden, being below the least value. */
function useStep({ layer, head, stat, gate }: HeadButtonProps): string {
  const { page } = useView();
  const minimum = page.atlasMinimum.value;
  if (minimum > 0 && stat && !(Math.abs(stat.of(layer, head)) >= minimum * stat.peak)) return "bl-below";
  return page.gateFilter.value && gate && gate !== page.gateFilter.value ? "bl-back" : "";
}

/** The head's value as a colour and a number. */
function Fill({ value, stat, mark }: { value: number; stat: HeadValue; mark?: string }) {
  const { dark, page } = useView();
  const { peak } = stat;
  if (Number.isNaN(value)) return <span class="bl-fill bl-muted">{stat.text(value)}</span>;
  const background = cssColor(value, stat.signed ? -peak : 0, peak, coloursOf(stat.signed, dark));
  return (
    <span class="bl-fill" style={{ background, color: inkOn(background) }} data-mark={mark}>
      {page.atlasOrder.value === "position" && stat.text(value)}
    </span>
  );
}

/** chosen, overlaid, stepping back: of all these buttons only those that change are drawn again. */
function useClasses(props: HeadButtonProps): string[] {
  const view = useView();
  const { synced, overview } = view;
  const { layer, head } = props;
  const isSelected = useComputed(() => synced.layer.value === layer && synced.head.value === head).value;
  const ofLayer = useComputed(() => synced.layer_map.value !== "").value; // then no head is shown
  const overlaid = useComputed(() => synced.heads.value.some(([l, h]) => l === layer && h === head)).value;
  const off = isOff(overview, layer, head);
  return [
    "bl-thumb",
    off ? "bl-off" : "",
    isSelected ? (ofLayer ? "bl-current" : "bl-chosen") : overlaid ? "bl-overlaid" : "",
    useStep(props),
  ];
}

export function HeadButton(props: HeadButtonProps) {
  const { layer, head, stat, by, gate } = props;
  const view = useView();
  const { overview } = view;
  const classes = useClasses(props);
  const isSelected = classes.includes("bl-chosen");
  const absent = overview.pending.includes(layer) && !view.link.kernel.value;
  const [label, paper] = [headLabel(layer, head), paperName(layer, head)];
  const sentence = absent
    ? { lead: `${label} is not in this page`, share: "", next: "", more: [] }
    : props.says(layer, head);
  const byWeight = useByWeight();
  const says = gate && `${gate} ${atLength(overview.queries.tokens.length)}${byWeight}`;
  const order = view.page.atlasOrder.value;
  const text = (value: HeadValue | null) => value?.text(value.of(layer, head));
  const filled = stat && !stat.absent && (view.page.atlasFill.value || changeColour(view));
  const caption = order === "position" ? filled && text(stat) : order === "gate" && gate ? gateSign(gate) : text(by);
  const content = (
    <>
      <b>{sentence.lead}</b>
      {restOf(sentence)}
      <br />
      <span class="bl-muted">{[says, paper, ...sentence.more].filter(Boolean).join(" · ")}</span>
    </>
  );
  const tip = (event: { currentTarget: Element }) => showTip(view, event.currentTarget, content);
  return (
    <div role="gridcell" aria-selected={isSelected}>
      <Button
        class={classes.join(" ")}
        data-head={`${layer}-${head}`}
        tabIndex={isSelected || classes.includes("bl-current") ? 0 : -1}
        aria-label={`${label}${caption ? ` ${caption},` : ""}${sentenceText(sentence).slice(label.length)} ${says ? `${says}, ` : ""}${paper}`}
        onClick={(event) => {
          if (event.shiftKey || event.ctrlKey || event.metaKey) toggleOverlay(view, layer, head);
          else view.synced.put({ layer, head, layer_map: "" });
        }}
        onPointerEnter={tip}
        onFocus={tip}
        onPointerLeave={() => hideTip(view)}
        onBlur={() => hideTip(view)}
      >
        {overview.pending.includes(layer) ? (
          <NoPicture />
        ) : Number.isNaN(overview.statistic(layer, head, "entropy")) ? (
          <span class="bl-nan">NaN</span>
        ) : filled ? (
          <Fill value={stat.of(layer, head)} stat={stat} mark={stat.mark?.(layer, head)} />
        ) : (
          <Thumbnail n={layer * overview.n_heads + head} />
        )}
        {order !== "position" && (
          <span class="bl-thumb-caption">
            <i>L</i>
            {layer}·<i>H</i>
            {head}
            <b>{caption}</b>
          </span>
        )}
      </Button>
    </div>
  );
}
