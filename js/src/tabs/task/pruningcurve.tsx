// The pruning curve: accuracy with more and more heads switched off.
import { useRef } from "preact/hooks";
import { seriesColour } from "../../paint/palette";
import { Chart, Key, MARGIN, scale } from "../../parts/chart";
import { curvePath } from "../../parts/curve";
import { useWidth } from "../../parts/width";
import { useView } from "../../state/view";
import type { PruningCurve } from "./examples";

const HEIGHT = 170; // px
const NAMES: Record<string, string> = {
  estimate: "smallest estimates first (95 %)",
  effect: "smallest effects first (95 %)",
  random: "at random (mean and range of 3 orders)",
};

export function Curve({ curve: { said: sentence, quality, rows } }: { curve: PruningCurve }) {
  const { dark } = useView();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const orders = [...new Set(rows.map(({ order }) => order))];
  const headCount = Math.max(...rows.map(({ off }) => off));
  const x = scale(0, headCount, MARGIN.left, width - MARGIN.right);
  const y = scale(Math.min(0, ...rows.map(({ low }) => low)), 1, HEIGHT - MARGIN.bottom, MARGIN.top);
  const colours = orders.map((_, n) => seriesColour(n, dark));
  return (
    <div ref={box} data-testid="task-curve">
      <p>{sentence}</p>
      <Chart
        {...{ width, height: HEIGHT, x, y, dark }}
        xLabel="heads off"
        yLabel={quality}
        label={`${quality === "accuracy" ? "Accuracy" : `${quality}’s correlation`} with more and more heads switched off`}
        table={() => ({
          columns: ["order", "heads off", quality, "low", "high"],
          rows: rows.map((one) => [one.order, one.off, one.value, one.low, one.high]),
        })}
      >
        {orders.map((order, n) => {
          const points = rows.filter((one) => one.order === order);
          const band = [
            ...points.map((one): [number, number] => [x(one.off), y(one.high)]),
            ...points.map((one): [number, number] => [x(one.off), y(one.low)]).reverse(),
          ];
          return (
            <g key={order}>
              <path d={`${curvePath(band)}z`} fill={colours[n]} fill-opacity="0.18" />
              <path
                d={curvePath(points.map((one) => [x(one.off), y(one.value)]))}
                fill="none"
                stroke={colours[n]}
                stroke-width="2"
                stroke-dasharray={n ? "5 3" : undefined}
              />
            </g>
          );
        })}
      </Chart>
      <Key names={orders.map((order) => NAMES[order] ?? order)} colours={colours} />
    </div>
  );
}
