// What the head view displays: the shown head's weights as a grid of pieces or words, filtered as chosen, and the
// query and key in focus. Everything is derived; nothing here is state of its own.
import { computed, type ReadonlySignal } from "@preact/signals";
import { type Grid, grid, spanUnits, type TokenSide, type Unit, units } from "../compute/grid";
import { type Cells, isLong } from "../compute/windows";
import type { Synced } from "../kernel/synced";
import type { Overview } from "./overview";
import { type Focus, focusOf } from "./pin";
import type { ShownHead } from "./shownhead";
import type { Store } from "./store";

export interface HeadGrid {
  grid: ReadonlySignal<Grid>;
  overlays: ReadonlySignal<Grid[]>; // of shown.overlays
  row: ReadonlySignal<number | null>; // the pinned query's row, null while none is pinned or it is filtered out
  col: ReadonlySignal<number | null>;
  /** A query and a key as pieces, and whether the user chose them. */
  focus: ReadonlySignal<Focus>;
}

const FILTERS = { all: null, AA: [0, 0], BB: [1, 1], AB: [0, 1], BA: [1, 0] } as const;

/** The units of both sides that the filters leave. */
function sidesOf({ pair, square, spans, queries, keyside }: Overview, synced: Synced): { rows: Unit[]; cols: Unit[] } {
  const kind = synced.units.value;
  const hidden = synced.hide_special.value;
  const segments = pair && square ? FILTERS[synced.pair_filter.value] : null;
  const filter = (side: TokenSide, segment: number | undefined) => {
    const list = kind === "spans" && spans.length > 0 ? spanUnits(side, spans) : units(side, kind === "words");
    return list.filter((u) => !(hidden && u.special) && (segment === undefined || u.segment === segment));
  };
  return { rows: filter(queries, segments?.[0]), cols: filter(keyside, segments?.[1]) };
}

/** Whether the rows of what is left are scaled to 1: only weights are shares of a row. */
export const renormalized = (synced: Synced, { measure, layerMap }: ShownHead) =>
  synced.renormalize.value && synced.hide_special.value && measure === "weight" && !layerMap;

const find = (list: Unit[], piece: number | null) => {
  const n = list.findIndex(({ pieces }) => piece !== null && pieces.includes(piece));
  return n < 0 ? null : n;
};

export function createHeadGrid({ synced, shownHead }: Store): HeadGrid {
  let memo = shownHead.peek().overview;
  const overview = computed(() => {
    const now = shownHead.value.overview; // one that only has more pictures has the same tokens
    memo = now.queries === memo.queries && now.keyside === memo.keyside ? memo : now;
    return memo;
  });
  const weights = computed(() => shownHead.value.weights);
  const sides = computed(() => sidesOf(overview.value, synced));
  const scaled = computed(() => renormalized(synced, shownHead.value));
  const clearestOne = computed(() => clearestQuery(overview.value, weights.value));
  const grids = new WeakMap<Cells, { grid: Grid; inputs: unknown[] }>(); // each made once for the same sides and scale
  const gridOf = (values: Cells) => {
    const inputs = [sides.value, scaled.value];
    const memo = grids.get(values);
    const isSame = memo?.inputs.every((input, n) => input === inputs[n]);
    if (isSame && (memo!.grid.values.swept.value === null || Number.isFinite(memo!.grid.peak))) return memo!.grid;
    const now = isSame
      ? { ...memo!.grid, ...memo!.grid.values.swept.value! }
      : grid(values, sides.value.rows, sides.value.cols, { renormalize: scaled.value });
    grids.set(values, { grid: now, inputs });
    return now;
  };
  return {
    grid: computed(() => gridOf(shownHead.value.layerMap?.values ?? shownHead.value.values)),
    overlays: computed(() => shownHead.value.overlays.map(({ values }) => gridOf(values))),
    row: computed(() => find(sides.value.rows, synced.query.value)),
    col: computed(() => find(sides.value.cols, synced.key.value)),
    focus: computed(() =>
      focusOf(
        synced,
        overview.value,
        () => clearestOne.value,
        (query) => weights.value.row(query),
      ),
    ),
  };
}

const clearest = new WeakMap<Cells, number>();

/** Until a query is pinned: the word whose attention to another word is clearest; in a long text the first word. */
function clearestQuery(overview: Overview, weights: Cells): number {
  if (isLong(weights.rows, weights.cols)) return Math.max(0, overview.queries.special.indexOf(0));
  if (!clearest.has(weights)) clearest.set(weights, findClearest(overview, weights.matrix!));
  return clearest.get(weights)!;
}

function findClearest({ queries, keyside, square }: Overview, weights: Float32Array): number {
  const K = keyside.tokens.length;
  let [best, peak] = [0, -1];
  for (let n = 0; n < weights.length; n++) {
    if (!(weights[n]! > peak)) continue; // hardly any cell is looked at any closer
    const [i, j] = [Math.floor(n / K), n % K];
    if (!queries.special[i] && !keyside.special[j] && !(square && i === j)) [best, peak] = [i, weights[n]!];
  }
  return best;
}
