// Layer by layer: a statistic by weight and by norm, mixing ratios, the cone, ‖f(x)‖ by kind of token.
import { Chart, MARGIN, Marker, markerPath, scale, series } from "../../parts/chart";
import { Select } from "../../parts/controls";
import { signed } from "../../parts/format";
import { number } from "../../parts/numbers";
import { useView } from "../context";
import { type By, type Choice, labelOf } from "./data";

const GROUPS: Record<string, [label: string, unit: string]> = {
  mixing: ["mixing ratio by method", "share that comes from other tokens"],
  cone: ["cone index of the stream", "I/n"],
  length: ["‖f(x)‖ by kind of token", "mean ‖f(x)‖"],
  frequency: ["frequency effect", "Spearman’s ρ of a piece’s frequency rank and ‖f(x)‖"],
};

const BY: Record<By, string> = { weight: "by weight α", norm: "by norm ‖αf(x)‖" };

interface Curve {
  name: string;
  values: number[];
}

export function LayerCurves({ data, name, by, average, layers: group, put }: Choice) {
  const view = useView();
  const { layer } = view.store.shown.value;
  const dark = view.dark.value;
  const layers = Array.from({ length: data.n_layers }, (_, l) => l);
  const quantities = data.layers[average];
  const columns = Object.keys(quantities);
  const there = Object.keys(GROUPS).filter((g) => columns.some((column) => column.split(" ")[0] === g));
  const ofHeads = (which: By): Curve => ({
    name: BY[which],
    values: layers.map((l) => {
      const values = Array.from({ length: data.n_heads }, (_, h) => data.mean(name, which, average, l, h));
      const counted = values.filter((v) => !Number.isNaN(v));
      return counted.reduce((a, b) => a + b, 0) / counted.length;
    }),
  });
  const curves: Curve[] =
    group === "statistic"
      ? data.by.map(ofHeads)
      : columns
          .filter((column) => column.split(" ")[0] === group)
          .map((column) => ({
            name: column.split(" ").slice(1).join(" ") || column,
            values: quantities[column]!.map((v) => v ?? Number.NaN),
          }))
          .filter((curve) => !curve.values.every(Number.isNaN));
  const [width, height] = [440, 230];
  const finite = curves.flatMap((c) => c.values).filter((v) => !Number.isNaN(v));
  const [lo, hi] = [Math.min(0, ...finite), Math.max(1e-9, ...finite)];
  const x = scale(0, Math.max(1, data.n_layers - 1), MARGIN.left + 10, width - MARGIN.right - 6, 12);
  x.ticks = data.n_layers > 14 ? x.ticks.filter(Number.isInteger) : layers;
  const y = scale(lo, hi + 0.08 * (hi - lo), height - MARGIN.bottom, MARGIN.top);
  const colours = series(dark);
  const colour = (n: number) => colours[(n + 3) % colours.length]!;
  const title = group === "statistic" ? `${labelOf(name)}, mean over heads` : GROUPS[group]![1];
  const isPale = (curve: Curve) => group === "statistic" && curve.name !== BY[by];
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Layer by layer</h3>
        <Select
          label="show"
          value={group}
          choices={[
            { value: "statistic", label: labelOf(name) },
            ...there.map((value) => ({ value, label: GROUPS[value]![0] })),
          ]}
          onChange={(value) => put({ layers: value })}
        />
      </header>
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel=""
        yLabel={title}
        label={`${title}, layer by layer`}
        dark={dark}
        xTicks={(l) => `L${l}`}
      >
        <rect
          x={x(layer) - 12}
          y={MARGIN.top}
          width="24"
          height={height - MARGIN.top - MARGIN.bottom}
          fill={colours[0]}
          fill-opacity="0.1"
        />
        {curves.map((curve, n) => (
          <g key={curve.name} stroke-opacity={isPale(curve) ? 0.6 : 1}>
            <path
              d={curve.values
                .map((v, l) =>
                  Number.isNaN(v) ? "" : `${l && !Number.isNaN(curve.values[l - 1]!) ? "L" : "M"}${x(l)} ${y(v)}`,
                )
                .join("")}
              fill="none"
              stroke={colour(n)}
              stroke-width="2"
              stroke-dasharray={["", "6 3", "2 3", "9 3 2 3", "4 4"][n % 5]}
            />
            {curve.values.map(
              (v, l) =>
                !Number.isNaN(v) && (
                  <path key={l} d={markerPath(n, x(l), y(v), 4)} fill={colour(n)}>
                    <title>{`L${l}, ${curve.name}: ${signed(v, 3)}`}</title>
                  </path>
                ),
            )}
          </g>
        ))}
      </Chart>
      <ul class="bl-key">
        {curves.map((curve, n) => (
          <li key={curve.name}>
            <Marker kind={n} fill={colour(n)} />
            {curve.name} <span class="bl-number bl-muted">{number(curve.values[layer]!, 3)}</span>
          </li>
        ))}
        <li class="bl-muted">numbers: layer {layer}</li>
      </ul>
    </section>
  );
}
