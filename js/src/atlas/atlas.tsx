// Atlas: every head of every layer as a thumbnail, with one measure summed up per layer and per head.
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { sorted } from "../compute/sorted";
import { GATES, type HeadName, MEASURES, type Measure } from "../generated/vocabulary";
import { counted, meanOf, upTo } from "../paint/format";
import { Button } from "../parts/controls";
import { Deferred } from "../parts/deferred";
import { onGridKey } from "../parts/gridkeys";
import { describeAll } from "../parts/phrasing";
import type { HeadValue } from "../state/headvalue";
import type { Overview } from "../state/overview";
import { useView } from "../state/view";
import { FindHeads } from "./findheads";
import { type Gates, useGates } from "./gatemarks";
import { HeadButton } from "./headbutton";
import { changeColour, type Says, useHeadValue, useSentences } from "./headvalues";

const ALL_HEADS =
  "Of a head's weight, mean over the rows of this text. Evenly: what rows would give that are even over all they see. A neighbour: the one before, or the one after.";
const HEADS_PER_ROW = 12; // sorted heads in a row

/** The layers and heads to show: all, or those that the include arguments name. */
export const included = ({ n_layers, n_heads }: Overview, layers: number[] | null, heads: number[] | null) => ({
  layers: upTo(n_layers).filter((l) => layers === null || layers.includes(l)),
  heads: upTo(n_heads).filter((h) => heads === null || heads.includes(h)),
});

/** Heads of one gate together, the clearest first. */
function byGate(heads: HeadName[], { names, labels, full }: Gates): HeadName[] {
  const order = Object.keys(GATES);
  const score = ([l, h]: HeadName) => {
    const at = (l * labels.full[0]!.length + h) * names.length;
    const scores = full.subarray(at, at + names.length);
    return scores[names.indexOf(labels.full[l]![h]!)] ?? Math.max(...scores);
  };
  return sorted(sorted(heads, score, true), ([l, h]) => order.indexOf(labels.full[l]![h]!), false);
}

/** Heads of each gate. */
function countsOf(gates: Gates | null, heads: HeadName[]): Record<string, number> {
  const labels = gates ? heads.map(([l, h]) => gates.labels.full[l]![h]!) : [];
  const count = (name: string) => labels.filter((label) => label === name).length;
  return Object.fromEntries(sorted([...new Set(labels)], count, true).map((label) => [label, count(label)]));
}

export function Atlas() {
  const view = useView();
  const { page, synced, overview } = view;
  const measure = useComputed(() => view.shownHead.thumbs.measure).value;
  const { layers, heads } = included(overview, synced.include_layers.value, synced.include_heads.value);
  const gatesSoFar = useGates();
  const gates = gatesSoFar?.pending?.length ? null : gatesSoFar; // of all layers: for counts and for the order
  const order = page.atlasOrder.value;
  const isPlain = order === "position" || order === "gate";
  const changeName = changeColour(view); // colours and bars show it, whatever the order
  const stat = useHeadValue(changeName || (isPlain ? page.atlasStat.value : order));
  const by = useHeadValue(isPlain ? page.atlasStat.value : order);
  const says = useSentences();
  const allHeads = layers.flatMap((l) => heads.map((h): HeadName => [l, h]));
  const labels = gatesSoFar?.labels.full;
  const byValue = () => (by ? sorted(allHeads, ([l, h]) => by.of(l, h), order !== "row") : allHeads); // a sharp row has a small entropy
  const names = order === "position" ? null : order !== "gate" ? byValue() : gates ? byGate(allHeads, gates) : allHeads;
  return (
    <section class="bl-panel bl-atlas" aria-label="Atlas of heads">
      <header class="bl-panel-head">
        <h3>{allHeads.length === 1 ? "1 head" : `${counted(allHeads.length)} heads`}</h3>
        {measure !== "weight" && <span class="bl-muted">{MEASURES[measure].symbol}</span>}
        <AllHeads heads={allHeads} by={measure} />
        <Deferred instead={<span class="bl-button bl-wait">Find heads that … ▾</span>}>
          <FindHeads counts={countsOf(gates, allHeads)} value={stat} />
        </Deferred>
      </header>
      {stat && (changeName || page.atlasFill.value) && (
        <p class="bl-muted bl-colours" data-testid="colours">
          colour: {stat.label}
        </p>
      )}
      <SpanStrip overview={overview} />
      <div class="bl-scroll">
        <Grid {...{ layers, heads, names, stat, by, labels, says }} />
      </div>
    </section>
  );
}

/** The whole picture in a sentence. */
function AllHeads({ heads, by }: { heads: HeadName[]; by: Measure }) {
  const words = describeAll(useView().overview, heads);
  return (
    <p
      class="bl-muted bl-all-heads"
      style={{ visibility: by === "weight" ? undefined : "hidden" }} // it is of weights; its room stays
      data-testid="all-heads"
      title={words && ALL_HEADS}
    >
      {words}
    </p>
  );
}

interface GridProps {
  layers: number[];
  heads: number[];
  names: HeadName[] | null; // in another order than by layer and head
  stat: HeadValue | null; // of colours and bars
  by: HeadValue | null; // of the order
  labels?: string[][];
  says: Says;
}

export function Grid(props: GridProps) {
  const { layers, heads, names } = props;
  const { root, synced } = useView();
  const cells = names ?? layers.flatMap((l) => heads.map((h): HeadName => [l, h]));
  const cols = names ? Math.min(heads.length, HEADS_PER_ROW) : heads.length;
  const position = () => {
    const at = cells.findIndex(([l, h]) => l === synced.layer.value && h === synced.head.value);
    return { row: Math.floor(at / cols), col: at % cols };
  };
  const grid = { rows: Math.ceil(cells.length / cols), cols, count: names?.length };
  const move = onGridKey(grid, position, ({ row, col }) => {
    const [layer, head] = cells[row * cols + col]!;
    synced.put({ layer, head });
    root.current?.querySelector<HTMLElement>(`[data-head="${layer}-${head}"]`)?.focus();
  });
  return (
    <div
      class={names ? "bl-grid bl-sorted" : "bl-grid"}
      role="grid"
      tabIndex={-1}
      aria-label={`${layers.length} layers by ${heads.length} heads`}
      aria-rowcount={layers.length}
      aria-colcount={heads.length}
      style={{ "--columns": cols, "--rows": grid.rows }}
      onKeyDown={move}
    >
      {names ? (
        <div role="row" class="bl-row bl-wrap">
          <Buttons {...props} cells={names} />
        </div>
      ) : (
        <ByPosition {...props} />
      )}
    </div>
  );
}

const Buttons = ({ cells, stat, by, labels, says }: GridProps & { cells: HeadName[] }) => (
  <>
    {cells.map(([l, h]) => (
      <HeadButton key={`${l}-${h}`} layer={l} head={h} stat={stat} by={by} gate={labels?.[l]?.[h]} says={says} />
    ))}
  </>
);

const ByPosition = (props: GridProps) => (
  <>
    <div role="row" class="bl-row">
      <span role="columnheader">
        <span class="bl-hidden">layer</span>
      </span>
      {props.heads.map((h) => (
        <span key={h} role="columnheader" class="bl-axis">
          {h}
        </span>
      ))}
    </div>
    {props.layers.map((l) => (
      <div key={l} role="row" class="bl-row">
        <RowHeader layer={l}>
          <Summary {...props} layers={[l]} name={`Layer ${l}`} />
        </RowHeader>
        <Buttons {...props} cells={props.heads.map((h): HeadName => [l, h])} />
      </div>
    ))}
    {useView().page.atlasBars.value && (
      <div role="row" class="bl-row">
        <span role="rowheader">
          <span class="bl-hidden">mean</span>
        </span>
        {props.heads.map((h) => (
          <div key={h} role="gridcell">
            <Summary {...props} heads={[h]} name={`Head ${h}`} />
          </div>
        ))}
      </div>
    )}
  </>
);

/** The layer's name; where there are maps of whole layers, a button that opens one. */
function RowHeader({ layer, children }: { layer: number; children: ComponentChildren }) {
  const { synced, overview } = useView();
  const open = synced.layer.value === layer && synced.layer_map.value !== "";
  const mapName = synced.layer_map.value || "attnresln-n";
  const word = overview.layer_maps.find(({ name }) => name === mapName) ?? overview.layer_maps[0];
  return (
    <span role="rowheader" class="bl-axis">
      {word && synced.parts.value.includes("head") ? (
        <Button
          class="bl-layer"
          aria-pressed={open}
          title={`Layer ${layer} as a whole: ${word.label}`}
          onClick={() => synced.put(open ? { layer_map: "" } : { layer, layer_map: word.name })}
        >
          L{layer}
        </Button>
      ) : (
        `L${layer}`
      )}
      {children}
    </span>
  );
}

/** Mean of a statistic over some heads, as a bar against the largest head. */
function Summary({ layers, heads, stat, name }: GridProps & { name: string }) {
  const { atlasBars } = useView().page;
  if (!atlasBars.value || !stat || stat.absent) return null;
  const values = layers.flatMap((l) => heads.map((h) => stat.of(l, h)));
  const mean = meanOf(values);
  const text = `${name}, mean ${stat.label}: ${stat.text(mean)}`;
  return (
    <span class="bl-summary" role="img" aria-label={text} title={text}>
      <span style={{ "--part": `${(100 * Math.abs(mean)) / stat.peak}%` }} />
    </span>
  );
}

/** Named runs of tokens along the top of the thumbnails. */
function SpanStrip({ overview: { spans, queries } }: { overview: Overview }) {
  const percentOf = (n: number) => `${(100 * n) / queries.tokens.length}%`;
  if (spans.length === 0) return null;
  return (
    <div class="bl-span-strip" role="img" aria-label={`Tokens run through ${spans.map(([name]) => name).join(", ")}`}>
      {spans.map(([name, start, end], n) => (
        <span
          key={start}
          class={n % 2 ? "bl-span bl-odd" : "bl-span"}
          style={{ left: percentOf(start), width: percentOf(end - start) }}
          title={`${name}: tokens ${start} to ${end - 1}, along each side of a thumbnail`}
        >
          {end - start > queries.tokens.length / 24 ? name : ""}
        </span>
      ))}
    </div>
  );
}
