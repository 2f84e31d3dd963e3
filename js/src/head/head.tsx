// Head panel: the selected head as matrix or lines, and the list of what the pinned token attends to.
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { columnMeans, type Item } from "../compute/grid";
import { isLong } from "../compute/windows";
import { MEASURES, type Measure, type Traits } from "../generated/vocabulary";
import { scaleEnd } from "../paint/format";
import { Button, type Choice, choicesOf, Segmented, Select, wordChoices } from "../parts/controls";
import { Deferred, NextFrame } from "../parts/deferred";
import { specialNames } from "../parts/nouns";
import { Place } from "../parts/token";
import { useWidth } from "../parts/width";
import { LISTED } from "../state/pin";
import { useView, type View } from "../state/view";
import { headingWords, meanHeading } from "./cellwords";
import { FIND_FROM, Find } from "./find";
import { Lines } from "./lines";
import { ListFooter } from "./listfooter";
import { Zoomed } from "./long/longmap";
import { Matrix } from "./matrix";
import { AboveList } from "./patches";
import { Running } from "./running";
import { currentScale } from "./scale";

const KEYS_BESIDE = 8; // keys beside the head
const LONG_TOKEN = 8; // letters of a token that take the room of its bar
const [LIST_BELOW, LONG_LIST_BELOW] = [544, 700]; // px, where the list stands below; of a long text, whose picture needs more

const AXES = {
  matrix: "rows look, columns are looked at",
  lines: "left looks, right is looked at",
  text: "shaded by one of them",
};

/** `maps`: the choice among the attentions of an encoder-decoder. */
export function HeadPanel({ maps }: { maps?: ComponentChildren }) {
  const view = useView();
  const { synced, overview, grid } = view;
  const scale = currentScale(view);
  const frame = useRef<HTMLElement>(null);
  const long = isLong(grid.rows.length, grid.cols.length);
  const narrow = useWidth(frame) < (long ? LONG_LIST_BELOW : LIST_BELOW);
  const map = overview.map === "self" ? "" : ` of the ${overview.map} map`;
  return (
    <section class="bl-panel bl-head" aria-label="Head view" ref={frame}>
      <header class="bl-panel-head">
        <h3 data-testid="head-title" title={`${scale.title}${map}; ${AXES[synced.mode.value]}`}>
          {scale.name}
        </h3>
        {maps}
        {grid.rows.length > FIND_FROM && (
          <Deferred>
            <Find />
          </Deferred>
        )}
        <Segmented
          label="head view"
          value={synced.mode.value}
          choices={choicesOf({ lines: "Lines", matrix: "Matrix", text: "Text" })}
          onChange={(mode) => synced.put({ mode })}
        />
        <Shows />
      </header>
      {grid.rows.length === 0 || grid.cols.length === 0 ? (
        <p class="bl-empty">No tokens are left to show: undo “hide {specialNames(overview)}” or the pair filter.</p>
      ) : (
        <div class={narrow ? "bl-head-body bl-narrow" : "bl-head-body"}>
          <HeadPicture mode={synced.mode.value} long={long} />
          <NextFrame>
            <RowList most={narrow ? LISTED : KEYS_BESIDE} />
          </NextFrame>
        </div>
      )}
    </section>
  );
}

/** What is drawn of the head, or of all heads of its layer together: one menu. */
function Shows() {
  const { synced, overview } = useView();
  const { measures, layer_maps } = overview;
  if (measures.length + layer_maps.length < 2) return null;
  const ofHead = wordChoices(measures, MEASURES);
  const ofLayer = layer_maps.map(({ name, label, about }) => ({
    value: name,
    label, // alone: a long one is cut
    group: "All heads of the layer",
    title: about,
  }));
  const { measure, layer_map } = synced;
  return (
    <Select
      label="shows"
      value={layer_map.value || measure.value}
      choices={[...ofHead, ...ofLayer] as Choice<string>[]}
      onChange={(name) =>
        synced.put(
          measures.includes(name as Measure) ? { measure: name as Measure, layer_map: "" } : { layer_map: name },
        )
      }
    />
  );
}

function HeadPicture({ mode, long }: { mode: Traits["mode"]; long: boolean }) {
  if (mode === "text") return <Running />;
  if (mode === "lines") return <Lines />;
  return long ? <Zoomed /> : <Matrix />;
}

/** The row of the pinned query, else the column of the pinned key, else the means over queries; the largest first. */
function itemsOf({ grid, row, col }: View, means?: ArrayLike<number>): Item[] {
  const { rows, cols, values } = grid;
  const ofColumn = row === null && col !== null;
  const numbers = row !== null ? values.row(row) : ofColumn ? values.column(col) : means;
  if (!numbers) return [];
  const items = (ofColumn ? rows : cols).map((unit, n) => ({ unit, n, value: numbers[n]! }));
  return items.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

/** The largest `most`, and what is pinned wherever it stands. */
export function RowList({ most: listed }: { most: number }) {
  const view = useView();
  const { grid, row, col, synced } = view;
  const means = useMemo(() => columnMeans(grid.values), [grid]);
  const items = useMemo(() => itemsOf(view, means), [grid, means, row, col]);
  const scale = currentScale(view);
  const peak = scaleEnd(Math.abs(items[0]?.value ?? 0), scale.digits);
  const barOf = (value: number) => Math.abs(Number(value.toFixed(scale.digits))) / peak; // a number that reads 0 has no bar
  const ofColumn = row === null && col !== null;
  const pinned = items.findIndex(({ n }) => !ofColumn && n === col);
  const bars = items.filter(({ value }) => barOf(value) > 0).length; // what reads 0.000 is among the others
  const room = Math.min(listed, Math.max(bars, 1));
  const listing =
    pinned < room ? items.slice(0, room) : [...items.slice(0, Math.min(room, listed - 1)), items[pinned]!];
  const side = ofColumn ? grid.rows : grid.cols;
  return (
    <aside class="bl-list" aria-label="Largest weights" data-testid="row-list">
      <h4>
        <Heading />
      </h4>
      <Deferred>
        <AboveList items={items} />
      </Deferred>
      <ol class={listing.some(({ unit }) => unit.label.length > LONG_TOKEN) ? "bl-long" : ""}>
        {listing.map(({ n, value }, place) => (
          <li key={place}>
            <Button
              class={!ofColumn && n === col ? "bl-bar bl-pinned" : "bl-bar"}
              onClick={() => synced.put({ [ofColumn ? "query" : "key"]: side[n]!.pieces[0] })}
            >
              <Place units={side} n={n} />
              <span class="bl-bar-track">
                <span
                  class={value < 0 ? "bl-minus" : scale.signed ? "bl-plus" : ""}
                  style={{ "--part": `${100 * barOf(value)}%` }}
                />
              </span>
              <span class="bl-number">{scale.text(value)}</span>
            </Button>
          </li>
        ))}
      </ol>
      <Deferred>
        <ListFooter items={items} rest={items.filter((item) => !listing.includes(item))} ofColumn={ofColumn} />
      </Deferred>
    </aside>
  );
}

/** Whose numbers they are, in the measure's own words. */
function Heading() {
  const view = useView();
  const { grid, row, col, shownHead } = view;
  if (row === null && col === null) return <>{meanHeading(view)}</>;
  const token = (
    <b class="bl-selected">
      <Place units={row !== null ? grid.rows : grid.cols} n={row ?? col!} />
    </b>
  );
  return <>{headingWords(shownHead, token, row === null)}</>;
}
