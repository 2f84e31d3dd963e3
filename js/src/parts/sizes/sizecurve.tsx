// Would a smaller part of the model do? The measure after each layer, or with the first dimensions: one curve with its band.
import { useRef } from "preact/hooks";
import type { SizeFields, SizeRow } from "../../generated/answers";
import { number } from "../../paint/format";
import { inks, seriesColour } from "../../paint/palette";
import { Chart, Key, MARGIN, scale } from "../chart";
import { curvePath } from "../curve";
import { useWidth } from "../width";

const [HEIGHT, WIDEST, PLACE] = [210, 640, 34]; // px; of a number below the curve
const DIGITS = 3;
const NAMES = { centred: "centred", drawn: "as many drawn", untrained: "untrained" };

/** At every `step`th of its places a number: so many as there is room for. */
const ticksOf = (places: number[], width: number) => {
  const step = Math.ceil((places.length * PLACE) / width);
  return places.filter((_, n) => n % step === 0);
};

export function SizeCurve({ sizes: { by, measure, rows }, dark }: { sizes: SizeFields; dark: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const width = Math.min(WIDEST, useWidth(box));
  const plain = rows.filter(({ centred }) => !centred);
  const isLayers = by === "layer";
  const placeOf = ({ at }: SizeRow) => (isLayers ? at : Math.log2(at));
  const reference = plain[0]!.mean - plain[0]!.difference;
  const ends = (row: SizeRow, end: "low" | "high") => reference + (row[end] ?? row.difference);
  const curves = (Object.keys(NAMES) as (keyof typeof NAMES)[]).flatMap((name) => {
    const points: [SizeRow, number][] =
      name === "centred"
        ? rows.filter(({ centred }) => centred).map((row) => [row, row.mean])
        : plain.flatMap((row) => (row[name] === undefined ? [] : [[row, row[name]]]));
    return points.length > 0 ? [{ name, points }] : [];
  });
  const heights = [
    reference,
    ...plain.flatMap((row) => [row.mean, ends(row, "low"), ends(row, "high")]),
    ...curves.flatMap(({ points }) => points.map(([, value]) => value)),
  ];
  const places = plain.map(placeOf);
  const x = scale(Math.min(...places), Math.max(...places), MARGIN.left + 8, width - MARGIN.right - 8, 0);
  const y = scale(Math.min(...heights), Math.max(...heights), HEIGHT - MARGIN.bottom, MARGIN.top);
  const { ink } = inks(dark);
  const colours = [seriesColour(0, dark), ...curves.map((_, n) => seriesColour(n + 1, dark))];
  const band = [
    ...plain.map((row): [number, number] => [x(placeOf(row)), y(ends(row, "high"))]),
    ...plain.map((row): [number, number] => [x(placeOf(row)), y(ends(row, "low"))]).reverse(),
  ];
  const referenceName = isLayers ? "the last layer" : "all dimensions";
  return (
    <div ref={box} style={{ width: "100%" }} data-testid={`curve-${by}`}>
      <Chart
        {...{ width, height: HEIGHT, y, dark }}
        x={Object.assign(x, { ticks: ticksOf(places, width - MARGIN.left) })}
        xTicks={(place) => String(isLayers ? place : Math.round(2 ** place))}
        xLabel={isLayers ? "layer" : "dimensions"}
        yLabel={measure}
        label={isLayers ? `${measure} after each layer` : `${measure} with the first dimensions`}
        table={() => ({ columns: ["part", measure], rows: plain.map(({ at, mean }) => [at, mean]) })}
      >
        <path d={`${curvePath(band)}z`} fill={colours[0]} fill-opacity="0.18" style={{ cursor: "auto" }} />
        <line
          x1={MARGIN.left}
          x2={width - MARGIN.right}
          y1={y(reference)}
          y2={y(reference)}
          stroke={ink}
          stroke-dasharray="4 3"
        />
        {curves.map(({ name, points }, n) => (
          <path
            key={name}
            d={curvePath(points.map(([row, value]) => [x(placeOf(row)), y(value)]))}
            fill="none"
            stroke={colours[n + 1]}
            stroke-dasharray="5 3"
          />
        ))}
        <path
          d={curvePath(plain.map((row) => [x(placeOf(row)), y(row.mean)]))}
          fill="none"
          stroke={colours[0]}
          stroke-width="2"
          data-curve
        />
      </Chart>
      <Key
        names={[isLayers ? "as it is" : "the first ones", ...curves.map(({ name }) => NAMES[name])]}
        colours={colours}
      />
      <p class="bl-muted">
        Line: {referenceName}, {number(reference, DIGITS)}. Band: the interval of the difference beside it, Holm.
      </p>
    </div>
  );
}
