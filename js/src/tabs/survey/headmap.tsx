// Map of heads: near where their attention over the corpus is alike.

import { useState } from "preact/hooks";
import { largestSize } from "../../compute/largest";
import * as phrases from "../../generated/phrases";
import { cssColor } from "../../paint/colormap";
import { headLabel, number, percent, signed, upTo } from "../../paint/format";
import { headColour, inks, layerMarker, weightColours } from "../../paint/palette";
import { Drawing, Marks, markerPath } from "../../parts/chart";
import { choicesOf, Segmented } from "../../parts/controls";
import { Legend } from "../../parts/legend";
import { Section } from "../../parts/section";
import { tipped } from "../../parts/tooltip";
import { useView } from "../../state/view";
import { type Choice, labelOf, type MapTrust, mostly, type Near } from "./corpusheads";

const [WIDTH, HEIGHT, MARGIN] = [440, 330, 14];
const MOST_NAMES = 36; // heads that are all named

interface Spot {
  layer: number;
  head: number;
  x: number;
  y: number;
}

/** The heads in pixels; distances mean something, so that both directions have one scale. */
function spotsOf({ data, places }: HeadMapProps): Spot[] {
  const axis = (which: number) => data.all.map((_, n) => places[2 * n + which]!);
  const [xs, ys] = [axis(0), axis(1)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const unit = Math.min((WIDTH - 2 * MARGIN) / (right - left || 1), (HEIGHT - 2 * MARGIN) / (high - low || 1));
  return data.all.map(([layer, head], n) => ({
    layer,
    head,
    x: WIDTH / 2 + (xs[n]! - (left + right) / 2) * unit,
    y: HEIGHT / 2 - (ys[n]! - (low + high) / 2) * unit,
  }));
}

type HeadMapProps = Choice & { places: Float32Array; trust: MapTrust };

export function HeadMap(props: HeadMapProps) {
  const { data, name, by, average, pick, trust } = props;
  const view = useView();
  const { dark, shownHead } = view;
  const [byLayer, setByLayer] = useState(true);
  const { select, muted } = inks(dark);
  const spots = spotsOf(props);
  const value = (l: number, h: number) => data.mean(name, by, average, l, h);
  const peak = largestSize(spots.map(({ layer, head }) => value(layer, head))) || 1e-9;
  const colours = weightColours(dark);
  const isChosen = ({ layer, head }: Spot) => layer === shownHead.layer && head === shownHead.head;
  const ordered = [...spots.filter((spot) => !isChosen(spot)), ...spots.filter(isChosen)]; // that one on top
  const fill = ({ layer, head }: Spot) =>
    byLayer ? headColour(layer, dark) : cssColor(value(layer, head), 0, peak, colours);
  const tip = (l: number, h: number) => (
    <>
      <b>{headLabel(l, h)}</b> {labelOf(name)} {number(value(l, h), 3)}, {mostly(data, l, h)}
      <br />
      nearest by distance: {nearText(data.nearest(l, h))}
    </>
  );
  const table = () => ({
    columns: ["head", "gate in most texts", labelOf(name), "nearest by distance"],
    rows: spots.map(({ layer: l, head: h }) => [
      headLabel(l, h),
      data.gates[l]![h]!,
      value(l, h),
      nearText(data.nearest(l, h)),
    ]),
  });
  return (
    <Section
      title="Map of heads"
      about="near = alike attention (Jensen-Shannon, metric scaling); click a head"
      aside={
        <Segmented
          label="colour"
          value={byLayer ? "layer" : "statistic"}
          choices={choicesOf({ layer: "Layer", statistic: labelOf(name) })}
          onChange={(chosen) => setByLayer(chosen === "layer")}
        />
      }
    >
      <Drawing width={WIDTH} height={HEIGHT} label="Map of heads by Jensen-Shannon divergence" table={table}>
        <ToNearest {...props} spots={spots} />
        {ordered.map((spot) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the same heads are buttons in the grid and the table
          <path
            key={`${spot.layer}-${spot.head}`}
            data-map-head={`${spot.layer}-${spot.head}`}
            d={markerPath(layerMarker(spot.layer), spot.x, spot.y, isChosen(spot) ? 8 : 5.5)}
            fill={fill(spot)}
            stroke={isChosen(spot) ? select : muted}
            stroke-width={isChosen(spot) ? 2.5 : 0.8}
            fill-opacity="0.95"
            onClick={() => pick(spot.layer, spot.head)}
            {...tipped(view, () => tip(spot.layer, spot.head))}
          />
        ))}
        <g font-size="9.5" fill={muted} pointer-events="none">
          {spots.map(
            (spot) =>
              (isChosen(spot) || spots.length <= MOST_NAMES) && (
                <SpotName key={headLabel(spot.layer, spot.head)} {...spot} />
              ),
          )}
        </g>
      </Drawing>
      {!byLayer && <Legend low="0.00" high={signed(peak)} label={labelOf(name)} colours={colours} />}
      <MarkerKey layers={data.n_layers} fill={(layer) => (byLayer ? headColour(layer, dark) : muted)} />
      <p class="bl-muted" data-testid="map-trust">
        {trustText(trust, spots.length)} Lines: {headLabel(shownHead.layer, shownHead.head)} to its nearest by distance,{" "}
        {nearText(data.nearest(shownHead.layer, shownHead.head))}.
      </p>
    </Section>
  );
}

const nearText = (heads: Near[]) =>
  heads.map(({ layer, head, apart }) => `${headLabel(layer, head)} (${signed(apart, 3)})`).join(", ");

/** What the stress says: how far drawn distances are off, beside a map that has nothing to show. */
export const trustText = ({ stress, even_stress, nearest_kept }: MapTrust, heads: number) =>
  `Stress ${signed(stress)}: ${phrases.DISTANCES({ share: percent(stress) })} of the true ones (root mean square; ` +
  `${percent(even_stress)} if all heads were equally far apart). The nearest head drawn is the nearest by distance ` +
  `for ${nearest_kept} of ${heads} heads.`;

/** Thin lines from the head shown to the heads that are nearest to it, wherever the map has put them. */
function ToNearest({ data, spots }: HeadMapProps & { spots: Spot[] }) {
  const { dark, shownHead } = useView();
  const at = (layer: number, head: number) => spots[layer * data.n_heads + head]!;
  const from = at(shownHead.layer, shownHead.head);
  return (
    <g stroke={inks(dark).select} stroke-width="1.2" stroke-dasharray="3 3">
      {data.nearest(shownHead.layer, shownHead.head).map(({ layer, head }) => (
        <path key={`${layer}-${head}`} d={`M${from.x} ${from.y}L${at(layer, head).x} ${at(layer, head).y}`} />
      ))}
    </g>
  );
}

/** A head's name beside it; files end at the edge. */
const SpotName = ({ layer, head, x, y }: Spot) => (
  <text x={x > WIDTH - 60 ? x - 11 : x + 11} y={y - 5} text-anchor={x > WIDTH - 60 ? "end" : "start"}>
    {headLabel(layer, head)}
  </text>
);

/** Every layer's marker and colour. */
const MarkerKey = ({ layers, fill }: { layers: number; fill: (layer: number) => string }) => (
  <Marks
    label="Layers"
    marks={upTo(layers).map((layer) => ({ text: `L${layer}`, kind: layerMarker(layer), fill: fill(layer) }))}
  />
);
