// Map of heads: near where their attention over the corpus is alike.
import { cssColor } from "../../paint/colormap";
import { inks, weightColours } from "../../paint/palette";
import { Drawing, Marker, markerPath } from "../../parts/chart";
import { headLabel, number, signed, upTo } from "../../parts/format";
import { Legend } from "../../parts/legend";
import { Section } from "../../parts/section";
import { tipped, useView } from "../context";
import { type Choice, labelOf, mostly, sizeOf } from "./data";

const [WIDTH, HEIGHT, MARGIN] = [440, 330, 14];
const MOST_NAMES = 36; // heads that are all named

/** The heads in pixels; distances mean something, so that both directions have one scale. */
function spotsOf({ data, places }: HeadMapProps) {
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

type HeadMapProps = Choice & { places: Float32Array };

export function HeadMap(props: HeadMapProps) {
  const { data, name, by, average, pick } = props;
  const view = useView();
  const { dark, shown } = view;
  const { select, muted } = inks(dark);
  const spots = spotsOf(props);
  const value = (l: number, h: number) => data.mean(name, by, average, l, h);
  const most = sizeOf(spots.map(({ layer, head }) => value(layer, head)));
  const colours = weightColours(dark);
  const isChosen = ({ layer, head }: (typeof spots)[number]) => layer === shown.layer && head === shown.head;
  const ordered = [...spots.filter((spot) => !isChosen(spot)), ...spots.filter(isChosen)]; // that one on top
  const tip = (l: number, h: number) => (
    <>
      <b>{headLabel(l, h)}</b> {labelOf(name)} {number(value(l, h), 3)}, {mostly(data, l, h)}
    </>
  );
  return (
    <Section title="Map of heads" about="near = alike attention (Jensen-Shannon, metric scaling); click a head">
      <Drawing width={WIDTH} height={HEIGHT} label="Map of heads by Jensen-Shannon divergence">
        {ordered.map((spot) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the same heads are buttons in the grid and the table
          <path
            key={`${spot.layer}-${spot.head}`}
            data-map-head={`${spot.layer}-${spot.head}`}
            d={markerPath(spot.layer, spot.x, spot.y, isChosen(spot) ? 8 : 5.5)}
            fill={cssColor(value(spot.layer, spot.head), 0, most, colours)}
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
      <Legend low="0.00" high={signed(most)} label={labelOf(name)} colours={colours} />
      <MarkerKey layers={data.n_layers} fill={muted} />
    </Section>
  );
}

/** A head's name beside it; files end at the edge. */
const SpotName = ({ layer, head, x, y }: ReturnType<typeof spotsOf>[number]) => (
  <text x={x > WIDTH - 60 ? x - 11 : x + 11} y={y - 5} text-anchor={x > WIDTH - 60 ? "end" : "start"}>
    {headLabel(layer, head)}
  </text>
);

/** Which layers have which marker. */
const MarkerKey = ({ layers, fill }: { layers: number; fill: string }) => (
  <ul class="bl-key" aria-label="Markers">
    {upTo(Math.min(4, layers)).map((n) => (
      <li key={n}>
        <Marker kind={n} fill={fill} />
        {upTo(layers)
          .filter((l) => l % 4 === n)
          .map((l) => `L${l}`)
          .join(", ")}
      </li>
    ))}
  </ul>
);
