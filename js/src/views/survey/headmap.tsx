// Map of heads: near where their attention over the corpus is alike.
import { cssColor } from "../../paint/colormap";
import { weightTable } from "../../paint/palette";
import { Drawing, inks, Marker, markerPath } from "../../parts/chart";
import { signed } from "../../parts/format";
import { Legend } from "../../parts/legend";
import { number } from "../../parts/numbers";
import { headLabel } from "../../state/store";
import { showTip, useView } from "../context";
import { type Choice, labelOf } from "./data";
import { allHeads } from "./grid";

export function HeadMap({ data, name, by, average, pick, map }: Choice & { map: Float32Array }) {
  const view = useView();
  const { layer, head } = view.store.shown.value;
  const dark = view.dark.value;
  const [width, height, margin] = [440, 330, 14];
  const all = allHeads(data);
  const xs = all.map((_, n) => map[2 * n]!);
  const ys = all.map((_, n) => map[2 * n + 1]!);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // distances mean something: one scale for both directions
  const unit = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  const x = (value: number) => width / 2 + (value - (left + right) / 2) * unit;
  const y = (value: number) => height / 2 - (value - (low + high) / 2) * unit;
  const { select, muted } = inks(dark);
  const table = weightTable(dark);
  const values = all.map(([l, h]) => data.mean(name, by, average, l, h));
  const most = Math.max(1e-9, ...values.filter((v) => !Number.isNaN(v)));
  const isChosen = (n: number) => n === layer * data.n_heads + head;
  const order = all.map((_, n) => n).sort((a, b) => Number(isChosen(a)) - Number(isChosen(b))); // it lies on top
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Map of heads</h3>
        <span class="bl-muted">near = alike attention (Jensen-Shannon, metric scaling); click a head</span>
      </header>
      <Drawing width={width} height={height} label="Map of heads by Jensen-Shannon divergence">
        {order.map((n) => {
          const [l, h] = all[n]!;
          const chosen = isChosen(n);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the same heads are buttons in the grid and the table
            <path
              key={n}
              data-map-head={`${l}-${h}`}
              d={markerPath(l, x(xs[n]!), y(ys[n]!), chosen ? 8 : 5.5)}
              fill={cssColor(values[n]!, 0, most, table)}
              stroke={chosen ? select : muted}
              stroke-width={chosen ? 2.5 : 0.8}
              fill-opacity="0.95"
              onClick={() => pick(l, h)}
              onPointerEnter={(event) =>
                showTip(
                  view,
                  event as unknown as PointerEvent,
                  <>
                    <b>{headLabel(l, h)}</b> {labelOf(name)} {number(values[n]!, 3)}, mostly {data.gates[l]![h]}
                  </>,
                )
              }
              onPointerLeave={() => {
                view.tip.value = null;
              }}
            />
          );
        })}
        <g font-size="9.5" fill={muted}>
          {order
            .filter((n) => isChosen(n) || all.length <= 36)
            .map((n) => {
              const side = x(xs[n]!) > width - 60 ? -1 : 1; // exports end at the edge
              return (
                <text
                  key={n}
                  x={x(xs[n]!) + 11 * side}
                  y={y(ys[n]!) - 5}
                  text-anchor={side < 0 ? "end" : "start"}
                  pointer-events="none"
                >
                  {headLabel(...all[n]!)}
                </text>
              );
            })}
        </g>
      </Drawing>
      <Legend low="0.00" high={signed(most)} label={labelOf(name)} table={table} />
      <ul class="bl-key" aria-label="Markers">
        {Array.from({ length: Math.min(4, data.n_layers) }, (_, n) => (
          <li key={n}>
            <Marker kind={n} fill={muted} />
            {Array.from({ length: data.n_layers }, (_, l) => l)
              .filter((l) => l % 4 === n)
              .map((l) => `L${l}`)
              .join(", ")}
          </li>
        ))}
      </ul>
    </section>
  );
}
