// What is shown: one record that caption, controls and pixels read, changed only when all that is selected is here.
import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import { CELLS, type Slice, sliceFrom } from "../compute/attention";
import { type Cells, heldCells, isLong, measuredCells, weightCells } from "../compute/windows";
import type { HeadName, Measure } from "../generated/vocabulary";
import type { Answers, Kind } from "../kernel/answers";
import type { Link } from "../kernel/link";
import type { Synced } from "../kernel/synced";
import type { Arrays } from "../kernel/wire";
import { headLabel } from "../paint/format";
import { decodeOverview, type LayerMap, type Overview, overviewFrom, type Thumbs, thumbsFrom } from "./overview";

/** One head as it was answered: the kernel's slice and the attention recomputed from it. */
interface HeadAnswer {
  slice: Slice;
  weights: Cells; // (S·K), row = query
}

/** One head, ready to draw. */
export interface HeadData extends HeadAnswer {
  layer: number;
  head: number;
  measure: Measure;
  norms: Float32Array | null; // ‖f(x_j)‖, (K); null while only weights are shown
  values: Cells; // (S·K) the measure shown
}

export interface ShownHead extends HeadData {
  overview: Overview;
  thumbs: Thumbs;
  layerMap: { word: LayerMap; values: Cells } | null; // instead of a head: a map of the whole layer
  overlays: HeadData[]; // further heads drawn over it as lines
  refused: string; // why further heads are not drawn
}

const NORMS: Kind<Float32Array, "norms"> = {
  op: "norms",
  spoken: true,
  read: ({ arrays }) => arrays.norms.data,
};
const LAYER_MAP: Kind<Cells, "layer_map"> = {
  op: "layer_map",
  spoken: true,
  read: ({ arrays: { values } }) => heldCells(values.data, values.shape[1]!),
};

const headFrom = (fields: Record<string, unknown>, arrays: Arrays): HeadAnswer => {
  const slice = sliceFrom(fields, arrays);
  return { slice, weights: weightCells(slice) };
};

const HEAD: Kind<HeadAnswer, "head"> = {
  op: "head",
  spoken: true,
  read: ({ fields, arrays }) => headFrom(fields, arrays),
  bytes: ({ slice, weights }) => (isLong(slice.S, slice.K) ? CELLS : 0) + 3 * (weights.matrix?.byteLength ?? 0), // as much again for each other measure of them
};
const THUMBS: Kind<Thumbs, "thumbs"> = {
  op: "thumbs",
  spoken: true,
  layered: true,
  read: ({ arrays, pending }, { measure }) => ({ ...thumbsFrom(measure as Measure, arrays), pending }),
};
const OVERVIEW: Kind<Overview> = {
  op: "overview",
  spoken: true,
  read: ({ fields, arrays }) => overviewFrom(fields, arrays),
};

/** Heads by measure. Of an overlaid head the weights and the last other measure; of the selected one every measure. */
const headCache = new WeakMap<Cells, Partial<Record<Measure, HeadData>>>();

/** A head with the measure, null until all of it is here. ‖f(x)‖ comes for a layer's heads at once. */
function headData(
  answers: Answers,
  overview: Overview,
  [layer, head]: HeadName,
  measure: Measure,
  isMain = true,
): HeadData | null {
  const isOpen = overview.head.layer === layer && overview.head.head === head;
  const opening = isOpen ? () => headFrom(overview.head, overview.headArrays) : undefined;
  const answer = answers.get(HEAD, overview, { layer, head }, opening);
  const ofLayer = measure === "weight" ? null : answers.get(NORMS, overview, { layer });
  if (answer.state !== "answered" || (ofLayer && ofLayer.state !== "answered")) return null;
  const { slice, weights } = answer.value;
  const byMeasure = headCache.get(weights);
  if (byMeasure?.[measure]) return byMeasure[measure];
  const { K } = slice;
  const norms = ofLayer?.value.subarray(head * K, (head + 1) * K) ?? null;
  const values = measuredCells(weights, norms, measure);
  const data = { slice, weights, layer, head, measure, norms, values };
  headCache.set(weights, isMain ? { ...byMeasure, [measure]: data } : { weight: byMeasure?.weight, [measure]: data });
  return data;
}

/** The thumbnails of a measure, null until they are here; those of the weights came with the overview. */
function thumbsOf(answers: Answers, overview: Overview, measure: Measure): Thumbs | null {
  if (measure === "weight") return overview.thumbs;
  const answer = answers.get(THUMBS, overview, { measure });
  return answer.state === "answered" ? answer.value : null;
}

/** Why so many heads cannot be drawn over one another, "" where they can. */
function tooMany({ queries, keyside, head_dim }: Overview, heads: number, limit: number): string {
  const [S, K] = [queries.tokens.length, keyside.tokens.length];
  const needed = 4 * ((isLong(S, K) ? 0 : (2 * heads + 1) * S * K) + heads * (S + K) * (head_dim ?? 0));
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  if (heads < 2 || needed <= limit) return "";
  return `${heads} heads of ${K.toLocaleString("en")} tokens need ${megabytes(needed)}, the page holds ${megabytes(limit)}: fewer heads`;
}

/** The record of what is selected, null until all of it is here, all of it asked for at once; "refused": no such map. */
function complete(
  overview: Overview,
  synced: Synced,
  answers: Answers,
  before: ShownHead,
): ShownHead | "refused" | null {
  const exists = ([l, h]: HeadName) => l >= 0 && l < overview.n_layers && h >= 0 && h < overview.n_heads;
  const choice: HeadName = [synced.layer.value, synced.head.value];
  const selection: HeadName = exists(choice) ? choice : [overview.head.layer, overview.head.head];
  const extras = synced.heads.value.filter((name) => exists(name) && String(name) !== String(selection));
  const refused = tooMany(overview, 1 + extras.length, answers.limit);
  const measure = overview.measures.includes(synced.measure.value) ? synced.measure.value : "weight";
  const word = overview.layer_maps.find(({ name }) => name === synced.layer_map.value);
  const heads = [selection, ...(refused ? [] : extras)].map((name, n) =>
    headData(answers, overview, name, measure, n === 0),
  );
  const map = word && answers.get(LAYER_MAP, overview, { layer: selection[0], kind: word.name });
  const thumbs = thumbsOf(answers, overview, measure);
  if (map?.state === "refused") return "refused";
  if (heads.includes(null) || (map && map.state !== "answered")) return null;
  const [main, ...overlays] = heads as [HeadData, ...HeadData[]];
  return {
    ...main,
    overview,
    overlays,
    refused,
    layerMap: word && map ? { word, values: map.value } : null,
    thumbs: thumbs ?? (before.overview === overview ? before.thumbs : overview.thumbs),
  };
}

/** An overview as it was sent, and with the thumbnails and statistics that have arrived since. */
export type Grown = Signal<{ sent: Overview; now: Overview }>;

export function createShownHead(
  synced: Synced,
  answers: Answers,
  link: Link,
  until: AbortSignal,
  sent: ReadonlySignal<Overview> = computed(() => decodeOverview(synced.overview.value)), // as the kernel put it into the trait
): { shownHead: ReadonlySignal<ShownHead>; grown: Grown } {
  const initial = (overview: Overview): ShownHead => ({
    ...headData(answers, overview, [overview.head.layer, overview.head.head], "weight")!,
    overview,
    thumbs: overview.thumbs,
    layerMap: null,
    overlays: [],
    refused: "",
  });
  const shownHead = signal(untracked(() => initial(sent.value)));

  const grown: Grown = signal({ sent: sent.peek(), now: sent.peek() });

  /** Other maps of the trace are asked for when they are chosen; until they are here, those shown stay. */
  const overviewOf = (before: Overview): Overview => {
    const { trace, map, maps } = sent.value;
    const choice = synced.map.value;
    if (choice === map || !maps.includes(choice)) return sent.value;
    const answer = answers.get(OVERVIEW, { trace, map: choice }, {});
    return answer.state === "answered" ? answer.value : before.trace === trace ? before : sent.value;
  };
  /** A map of a layer that cannot be had: what is shown again has its own name. */
  const goBack = ({ layer, head, layerMap }: ShownHead) =>
    untracked(() => synced.put({ layer, head, layer_map: layerMap?.word.name ?? "" }));
  /** A saved page has one head: what is selected is again what is shown. */
  const stay = ({ layer, head, overview: { map } }: ShownHead) => {
    link.say("saved", `this page holds only ${headLabel(layer, head)}: run the notebook for others`);
    untracked(() => synced.put({ layer, head, heads: [], measure: "weight", layer_map: "", map }));
  };
  const follow = effect(() => {
    const previous = shownHead.peek();
    const came = overviewOf(grown.peek().sent);
    const isOther = grown.value.sent !== came;
    const overview = isOther ? came : grown.value.now;
    const next = complete(overview, synced, answers, previous);
    if (next && next !== "refused") shownHead.value = next;
    else if (link.saved.value) stay(previous);
    else if (next === "refused" && !isOther) goBack(previous);
    else if (isOther) shownHead.value = initial(overview);
    if (isOther) grown.value = { sent: came, now: came };
  });
  until.addEventListener("abort", follow);
  return { shownHead, grown };
}
