// Layer by layer: a statistic by weight and by norm, mixing ratios, the cone, ‖f(x)‖ by kind of token.

import { meanOf, number, signed, upTo } from "../../paint/format";
import { seriesColour } from "../../paint/palette";
import { Chart, MARGIN, Marks, markerPath, type Scale, scale } from "../../parts/chart";
import { Select } from "../../parts/controls";
import { curvePath } from "../../parts/curve";
import { Section } from "../../parts/section";
import { useView } from "../../state/view";
import { type By, type Choice, labelOf } from "./corpusheads";

const GROUPS: Record<string, [label: string, unit: string]> = {
  mixing: ["mixing ratio by method", "share that comes from other tokens"],
  cone: ["cone index of the stream", "I/n"],
  length: ["‖f(x)‖ by kind of token", "mean ‖f(x)‖"],
  frequency: ["frequency effect", "Spearman’s ρ of a piece’s frequency rank and ‖f(x)‖"],
};
const BY: Record<By, string> = { weight: "by weight α", norm: "by norm ‖αf(x)‖" };
const DASHES = ["", "6 3", "2 3", "9 3 2 3", "4 4"];
const [WIDTH, HEIGHT] = [440, 230];

interface Curve {
  name: string;
  values: number[];
  pale?: boolean;
}

const groupOf = (column: string) => column.split(" ")[0]!;

/** The mean over heads of the statistic chosen, by weight and by norm, or the quantities of a group. */
function curvesOf({ data, name, by, average, layers: group }: Choice): Curve[] {
  const mean = (which: By, l: number) => meanOf(upTo(data.n_heads).map((h) => data.mean(name, which, average, l, h)));
  const layers = upTo(data.n_layers);
  if (group === "statistic")
    return data.by.map((one) => ({ name: BY[one], values: layers.map((l) => mean(one, l)), pale: one !== by }));
  return Object.entries(data.layers[average])
    .filter(([column]) => groupOf(column) === group)
    .map(([column, values]) => ({
      name: column.slice(group.length + 1) || column,
      values: values.map((v) => v ?? Number.NaN),
    }))
    .filter(({ values }) => !values.every(Number.isNaN));
}

const colour = (n: number, dark: boolean) => seriesColour(n + 3, dark);

export function LayerCurves(props: Choice) {
  const { data, name, average, layers: group, put } = props;
  const { dark, shownHead } = useView();
  const curves = curvesOf(props);
  const columns = Object.keys(data.layers[average]).map(groupOf);
  const groups = Object.keys(GROUPS).filter((value) => columns.includes(value));
  const choices = groups.map((value) => ({ value, label: GROUPS[value]![0] }));
  return (
    <Section
      title="Layer by layer"
      aside={
        <Select
          label="show"
          value={group}
          choices={[{ value: "statistic", label: labelOf(name) }, ...choices]}
          onChange={(value) => put({ layers: value })}
        />
      }
    >
      <Curves
        curves={curves}
        title={GROUPS[group]?.[1] ?? `${labelOf(name)}, mean over heads`}
        layers={data.n_layers}
      />
      <Marks
        marks={[
          ...curves.map((curve, n) => ({
            text: `${curve.name} ${number(curve.values[shownHead.layer], 3)}`,
            kind: n,
            fill: colour(n, dark),
          })),
          { text: `numbers: layer ${shownHead.layer}` },
        ]}
      />
    </Section>
  );
}

function Curves({ curves, title, layers }: { curves: Curve[]; title: string; layers: number }) {
  const { dark, shownHead } = useView();
  const finite = curves.flatMap((c) => c.values).filter((v) => !Number.isNaN(v));
  const [lo, hi] = [Math.min(0, ...finite), Math.max(1e-9, ...finite)];
  const x = scale(0, Math.max(1, layers - 1), MARGIN.left + 10, WIDTH - MARGIN.right - 6, 12);
  x.ticks = layers > 14 ? x.ticks.filter(Number.isInteger) : upTo(layers);
  const y = scale(lo, hi + 0.08 * (hi - lo), HEIGHT - MARGIN.bottom, MARGIN.top);
  const table = () => ({
    columns: ["layer", ...curves.map(({ name }) => name)],
    rows: upTo(layers).map((l) => [`L${l}`, ...curves.map(({ values }) => values[l]!)]),
  });
  return (
    <Chart
      {...{ x, y, dark, width: WIDTH, height: HEIGHT }}
      xLabel=""
      yLabel={title}
      label={`${title}, layer by layer`}
      table={table}
      xTicks={(l) => `L${l}`}
    >
      <rect
        x={x(shownHead.layer) - 12}
        y={MARGIN.top}
        width="24"
        height={HEIGHT - MARGIN.top - MARGIN.bottom}
        fill={seriesColour(0, dark)}
        fill-opacity="0.1"
      />
      {curves.map((curve, n) => (
        <Line key={curve.name} {...curve} n={n} x={x} y={y} />
      ))}
    </Chart>
  );
}

/** One curve with its markers, broken where there is no number. */
function Line({ name, values, pale, n, x, y }: Curve & { n: number; x: Scale; y: Scale }) {
  const fill = colour(n, useView().dark);
  return (
    <g fill={fill} stroke-opacity={pale ? 0.6 : 1}>
      <path
        d={curvePath(values.map((v, l) => [x(l), y(v)]))}
        fill="none"
        stroke={fill}
        stroke-width="2"
        stroke-dasharray={DASHES[n % DASHES.length]}
      />
      {values.map(
        (v, l) =>
          !Number.isNaN(v) && (
            <path key={l} d={markerPath(n, x(l), y(v), 4)}>
              <title>{`L${l}, ${name}: ${signed(v, 3)}`}</title>
            </path>
          ),
      )}
    </g>
  );
}
