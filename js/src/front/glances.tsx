// Where nothing is hidden: the heads in which a word looks furthest, past its neighbours. The view opens on the first.
import { useEffect } from "preact/hooks";
import { Thumbnail } from "../atlas/headbutton";
import type { Unit } from "../compute/grid";
import { LIMITS } from "../generated/vocabulary";
import { movedBy, placeIn } from "../kernel/opened";
import { headLabel } from "../paint/format";
import { Button } from "../parts/controls";
import { wordName } from "../parts/token";
import { rowsOf, unitValues } from "../state/rows";
import { useView, type View } from "../state/view";
import { short } from "./claims";
import { isUntouched } from "./opening";
import { CHIPS, usePreview } from "./preview";
import { isLettered, type Words, wordsOf } from "./sentence/wordrow";
import { AllHeads, InFull } from "./strip";
import { isUnfoldedForGood } from "./unfolded";

interface Glance {
  layer: number;
  head: number;
  weight: number; // the largest of the word's row on one other word that is not beside it
  to: Unit;
}

/** The word that is pinned, else the last. */
function wordIn({ focus }: View, { units, markers }: Words): number {
  const pinned = focus.pinnedQuery ? units.findIndex(({ pieces }) => pieces.includes(focus.query)) : -1;
  return pinned >= 0 && !markers[pinned] ? pinned : units.findLastIndex(isLettered);
}

/** Of all heads whose rows are here, the largest weight first; null before they are, or where there is nothing past the
 * neighbours. */
function glancesOf(view: View, words: Words, asker: number): Glance[] | null {
  const { overview } = view;
  const { units } = words;
  const far = units.flatMap((unit, n) => (isLettered(unit) && Math.abs(n - asker) > 1 ? [n] : []));
  const isShort = overview.queries.tokens.length <= LIMITS.typed;
  const rows = asker >= 0 && far.length > 0 && isShort ? rowsOf(view, overview, units[asker]!) : null;
  if (rows?.state !== "answered") return null;
  const K = overview.keyside.tokens.length;
  const { weight } = rows.value;
  const glances = Array.from({ length: weight.length / K }, (_, n): Glance => {
    const row = unitValues(weight.subarray(n * K, (n + 1) * K), units, false);
    const to = far.reduce((best, at) => (row[at]! > row[best]! ? at : best));
    const head = n % overview.n_heads;
    return { layer: (n - head) / overview.n_heads, head, weight: row[to]!, to: units[to]! };
  });
  return glances.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
}

/** How dark each head is on the map, 0 to 1. */
function cellsOf(glances: Glance[], n_heads: number): number[] {
  const cells: number[] = [];
  for (const { layer, head, weight } of glances) cells[layer * n_heads + head] = (0.9 * weight) / glances[0]!.weight;
  return Array.from(cells, (cell) => cell ?? 0);
}

export function Glances() {
  const view = useView();
  const { synced, overview, history } = view;
  const words = wordsOf(overview);
  const asker = wordIn(view, words);
  const glances = glancesOf(view, words, asker);
  const first = glances?.find(
    ({ layer, head }) =>
      (synced.include_layers.value?.includes(layer) ?? true) && (synced.include_heads.value?.includes(head) ?? true),
  );
  const mayMove = isUntouched(view);
  const query = words.units[asker]?.pieces[0] ?? -1;
  useEffect(() => {
    if (!first || !isUntouched(view)) return;
    const { layer, head } = first;
    if (layer === synced.layer.peek() && head === synced.head.peek() && query === synced.query.peek()) return;
    synced.put(movedBy(placeIn(synced), { layer, head, query, key: null }));
    history.absorb();
  }, [first && `${first.layer} ${first.head} ${query}`, mayMove]);
  return (
    <section class="bl-heads-here" data-testid="strip" aria-label="Heads in which a word looks furthest">
      {glances && glances.length > 0 && (
        <h3>
          <span>
            Where <i class="bl-text-word">{wordName(words.units[asker]!)}</i> looks, past its neighbours
          </span>
          <span class="bl-muted">
            {" "}
            the largest weight on one other word, of {overview.n_layers * overview.n_heads} heads
          </span>
        </h3>
      )}
      <div class="bl-head-chips">
        {glances?.length ? (
          glances
            .slice(0, CHIPS)
            .map((glance) => <Chip key={`${glance.layer}-${glance.head}`} {...{ glance, query }} />)
        ) : (
          <div class="bl-no-chips" />
        )}
        {!isUnfoldedForGood(view) && <AllHeads matter={null} cells={glances && cellsOf(glances, overview.n_heads)} />}
      </div>
      <InFull />
    </section>
  );
}

/** One head: a click shows it. */
function Chip({ glance: { layer, head, weight, to }, query }: { glance: Glance; query: number }) {
  const { overview, shownHead, synced } = useView();
  const handlers = usePreview(layer, head, query);
  const isShown = shownHead.layer === layer && shownHead.head === head && !shownHead.layerMap;
  return (
    <Button
      class="bl-head-chip"
      aria-pressed={isShown}
      data-strip-head={`${layer}-${head}`}
      title={weight.toFixed(4)}
      {...handlers}
      onClick={() => synced.put({ layer, head, layer_map: "", query, key: null })}
    >
      <span class="bl-head-picture">
        <Thumbnail n={layer * overview.n_heads + head} />
      </span>
      <b>{headLabel(layer, head)}</b>
      <span class="bl-head-change">
        <span class="bl-number">{short(weight)}</span>
      </span>
      <span class="bl-head-does">
        at <i class="bl-text-word">{wordName(to)}</i>
      </span>
    </Button>
  );
}
