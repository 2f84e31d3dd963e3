// What the head view displays: the shown head's weights as a grid of pieces or words, filtered as chosen, and the
// query and key in focus. Everything is derived; nothing here is state of its own.
import { computed, type ReadonlySignal } from "@preact/signals";
import { type Grid, grid, spanUnits, type Unit, units } from "../compute/grid";
import type { Picture, Side } from "./picture";
import type { HeadData, Shown, Store } from "./store";
import type { Synced } from "./synced";

/** A query and a key as pieces, and whether the user chose them. */
export interface Focus {
  query: number;
  key: number;
  pinnedQuery: boolean;
  pinnedKey: boolean;
}

export interface Display {
  grid: ReadonlySignal<Grid>;
  overlays: ReadonlySignal<{ data: HeadData; grid: Grid }[]>;
  row: ReadonlySignal<number | null>; // the pinned query's row, null while none is pinned or it is filtered out
  col: ReadonlySignal<number | null>;
  focus: ReadonlySignal<Focus>;
}

const FILTERS = { all: null, AA: [0, 0], BB: [1, 1], AB: [0, 1], BA: [1, 0] } as const;

function displayed(p: Picture, synced: Synced): { rows: Unit[]; cols: Unit[] } {
  const kind = synced.units.value;
  const pair = p.pair && p.square ? FILTERS[synced.pair_filter.value] : null;
  const hide = synced.hide_special.value;
  const left = (side: Side, segment: number | undefined) => {
    const all = kind === "spans" && p.spans.length > 0 ? spanUnits(side, p.spans) : units(side, kind === "words");
    return all.filter((u) => !(hide && u.special) && (segment === undefined || u.segment === segment));
  };
  return { rows: left(p.queries, pair?.[0]), cols: left(p.keyside, pair?.[1]) };
}

/** The largest weight of a row, and of which piece: the key that a reader would ask about first. */
export function strongestKey(weights: Float32Array, width: number, query: number): number {
  let best = 0;
  for (let j = 1; j < width; j++) if (weights[query * width + j]! > weights[query * width + best]!) best = j;
  return best;
}

/** Whether the rows of what is left are scaled to 1: only weights are shares of a row. */
export const renormalized = (synced: Synced, { measure, layerMap }: Shown) =>
  synced.hide_special.value && synced.renormalize.value && measure === "weight" && !layerMap;

export function createDisplay(store: Store): Display {
  const { synced, shown } = store;
  const sides = computed(() => displayed(shown.value.picture, synced));
  const gridOf = (data: HeadData, values = data.values) =>
    grid(values, data.slice.S, data.slice.K, sides.value.rows, sides.value.cols, {
      renormalize: renormalized(synced, shown.value),
    });
  const main = computed(() => gridOf(shown.value, shown.value.layerMap?.values));
  const find = (list: Unit[], piece: number | null) => {
    const n = piece === null ? -1 : list.findIndex((u) => u.pieces.includes(piece));
    return n < 0 ? null : n;
  };
  return {
    grid: main,
    overlays: computed(() => shown.value.overlays.map((data) => ({ data, grid: gridOf(data) }))),
    row: computed(() => find(sides.value.rows, synced.query.value)),
    col: computed(() => find(sides.value.cols, synced.key.value)),
    focus: computed(() => {
      const { slice, weights, picture } = shown.value;
      const asked = synced.query.value;
      const pinnedQuery = asked !== null && asked >= 0 && asked < slice.S;
      const query = pinnedQuery ? asked : clearestQuery(picture, weights, slice.S, slice.K);
      const wanted = synced.key.value;
      const pinnedKey = wanted !== null && wanted >= 0 && wanted < slice.K;
      return { query, key: pinnedKey ? wanted : strongestKey(weights, slice.K, query), pinnedQuery, pinnedKey };
    }),
  };
}

/** Until a query is pinned: the word whose attention to another word is clearest. */
function clearestQuery(p: Picture, weights: Float32Array, S: number, K: number): number {
  let best = 0;
  let most = -1;
  for (let i = 0; i < S; i++) {
    if (p.queries.special[i]) continue;
    for (let j = 0; j < K; j++) {
      if (p.keyside.special[j] || (p.square && i === j)) continue;
      if (weights[i * K + j]! > most) {
        most = weights[i * K + j]!;
        best = i;
      }
    }
  }
  return best;
}
