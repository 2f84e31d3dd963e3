// Corpus view: what every head does over a corpus, and whether the sentence at hand is typical of it.
import { useSignal } from "@preact/signals";
import { cssColor } from "../paint/colormap";
import { weightTable } from "../paint/palette";
import { Chart, inks, MARGIN, markerPath, scale, series } from "../parts/chart";
import { Segmented, Select } from "../parts/controls";
import { signed } from "../parts/format";
import { Legend } from "../parts/legend";
import { useAnswer } from "../state/answer";
import { headLabel } from "../state/store";
import { showTip, useView, type View } from "./context";

/** The kernel's answer to "survey". */
interface Survey {
  names: string[]; // statistics
  by: ("weight" | "norm")[];
  texts: number;
  tokens: number;
  about: string; // model, options, date
  gates: string[][]; // [layer][head] most frequent label
  shares: number[][]; // [layer][head] its share of the texts
  relations: {
    relation: string;
    direction: string;
    layer: number;
    head: number;
    accuracy: number;
    offset_accuracy: number;
    n: number;
  }[];
  values: Record<string, Float32Array>; // by -> (K·L·H) corpus averages
  spreads: Record<string, Float32Array>; // by -> (K·L·H) standard deviation from text to text
  sentence: Record<string, Float32Array>; // by -> (K·L·H) of the trace shown
  map: Float32Array | null; // (L·H·2)
}

type By = "weight" | "norm";

export function SurveyTab() {
  const view = useView();
  const { store, dark } = view;
  const { layer, head, picture } = store.shown.value;
  const name = useSignal("previous");
  const by = useSignal<By>("weight");
  const data = useAnswer(store, "survey", ({ fields, arrays }): Survey => {
    const given = fields as unknown as Survey;
    const get = (kind: string) =>
      Object.fromEntries(given.by.map((b) => [b, arrays[`${kind}.${b}`]!.data as Float32Array]));
    return {
      ...given,
      values: get("values"),
      spreads: get("spreads"),
      sentence: get("sentence"),
      map: (arrays.map?.data as Float32Array) ?? null,
    };
  });
  if (!data)
    return <p class="bl-empty">{store.kernel.value ? "reading the survey …" : "The corpus view needs the kernel."}</p>;
  const { n_layers: L, n_heads: H } = picture;
  const k = data.names.indexOf(name.value);
  const of = (kind: Record<string, Float32Array>, l: number, h: number, b: By = by.value, s = k) =>
    kind[b]![(s * L + l) * H + h]!;
  const all = Array.from({ length: L * H }, (_, n): [number, number] => [Math.floor(n / H), n % H]);
  const values = all.map(([l, h]) => of(data.values, l, h));
  const finite = values.filter((v) => !Number.isNaN(v));
  const [lo, hi] = [Math.min(0, ...finite), Math.max(1e-9, ...finite)];
  const table = weightTable(dark.value);
  const pick = (l: number, h: number) => store.synced.put({ layer: l, head: h, layer_map: "" });
  return (
    <div data-testid="survey">
      <div class="bl-controls">
        <Select
          label="statistic"
          value={name.value}
          choices={data.names.map((value) => ({ value, label: value.replaceAll("_", " ") }))}
          onChange={(value) => {
            name.value = value;
          }}
        />
        {data.by.length > 1 && (
          <Segmented<By>
            label="rows by"
            value={by.value}
            choices={[
              { value: "weight", label: "Weight α" },
              { value: "norm", label: "Norm ‖αf(x)‖" },
            ]}
            onChange={(value) => {
              by.value = value;
            }}
          />
        )}
        <span class="bl-muted">
          {data.texts} texts, {data.tokens} tokens; mean over texts · {data.about}
        </span>
      </div>
      <div class="bl-norms">
        <section>
          <header class="bl-panel-head">
            <h3>All heads</h3>
            <span class="bl-muted">{name.value.replaceAll("_", " ")}, corpus mean; click a head</span>
          </header>
          <div class="bl-survey-grid" style={{ "--columns": H }}>
            {all.map(([l, h], n) => (
              <button
                type="button"
                key={n}
                class={l === layer && h === head ? "bl-chosen" : ""}
                style={{ background: cssColor(values[n]!, lo, hi, table) }}
                aria-label={`${headLabel(l, h)}: ${signed(values[n]!, 3)}`}
                onClick={() => pick(l, h)}
                onPointerEnter={(event) =>
                  showTip(
                    view,
                    event.currentTarget,
                    <>
                      <b>{headLabel(l, h)}</b> {signed(values[n]!, 3)} ± {signed(of(data.spreads, l, h), 3)}
                      <br />
                      mostly {data.gates[l]![h]} ({Math.round(100 * data.shares[l]![h]!)} % of texts)
                    </>,
                  )
                }
                onPointerLeave={() => {
                  view.tip.value = null;
                }}
              />
            ))}
          </div>
          <Legend
            low={signed(lo)}
            high={signed(hi)}
            label={`${name.value.replaceAll("_", " ")}, layers down, heads across`}
            table={table}
          />
          <Profile
            view={view}
            layers={L}
            mean={(l, b) => mean(Array.from({ length: H }, (_, h) => of(data.values, l, h, b)))}
            by={data.by}
            name={name.value}
          />
        </section>
        <section>
          <header class="bl-panel-head">
            <h3>Does the story hold?</h3>
            <span class="bl-muted">
              {headLabel(layer, head)}: this sentence (◆) against the corpus (mean, and two standard deviations from
              text to text)
            </span>
          </header>
          <div class="bl-story">
            {data.names.map((statistic, s) => (
              <Story
                key={statistic}
                name={statistic.replaceAll("_", " ")}
                mean={of(data.values, layer, head, by.value, s)}
                spread={of(data.spreads, layer, head, by.value, s)}
                here={of(data.sentence, layer, head, by.value, s)}
                top={
                  Math.max(
                    ...all.map(([l, h]) => of(data.values, l, h, by.value, s) || 0),
                    of(data.sentence, layer, head, by.value, s) || 0,
                  ) * 1.05
                }
              />
            ))}
          </div>
          <p class="bl-note">
            Gate over the corpus: {data.gates[layer]![head]} in {Math.round(100 * data.shares[layer]![head]!)} % of the
            texts.
          </p>
        </section>
        {data.map && <HeadMap view={view} map={data.map} heads={H} pick={pick} />}
        <section>
          <header class="bl-panel-head">
            <h3>Heads by {name.value.replaceAll("_", " ")}</h3>
          </header>
          <div class="bl-scroll bl-table-scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">head</th>
                  <th scope="col">corpus</th>
                  <th scope="col">± sd</th>
                  <th scope="col">here</th>
                  <th scope="col">gate</th>
                </tr>
              </thead>
              <tbody>
                {[...all]
                  .sort((a, b) => (of(data.values, b[0], b[1]) || 0) - (of(data.values, a[0], a[1]) || 0))
                  .map(([l, h]) => (
                    <tr key={`${l}-${h}`} class={l === layer && h === head ? "bl-pinned" : ""}>
                      <td>
                        <button type="button" class="bl-link" onClick={() => pick(l, h)}>
                          {headLabel(l, h)}
                        </button>
                      </td>
                      {[data.values, data.spreads, data.sentence].map((kind, c) => (
                        <td key={c} class="bl-number">
                          {signed(of(kind, l, h), 3)}
                        </td>
                      ))}
                      <td>{data.gates[l]![h]}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        </section>
        {data.relations.length > 0 && <Relations data={data} layer={layer} head={head} pick={pick} />}
      </div>
    </div>
  );
}

function mean(values: number[]): number {
  const there = values.filter((v) => !Number.isNaN(v));
  return there.reduce((a, b) => a + b, 0) / there.length;
}

function Story(props: { name: string; mean: number; spread: number; here: number; top: number }) {
  const { name, mean: middle, spread, here, top } = props;
  if (Number.isNaN(middle)) return null;
  const at = (value: number) => `${100 * Math.max(0, Math.min(1, value / (top || 1)))}%`;
  const z = spread > 0 ? (here - middle) / spread : 0;
  return (
    <>
      <span>{name}</span>
      <span class="bl-story-track">
        <i style={{ left: at(middle - 2 * spread), right: `calc(100% - ${at(middle + 2 * spread)})` }} />
        <b style={{ left: at(middle) }} />
        <em style={{ left: at(here) }}>◆</em>
      </span>
      <span class="bl-number" title="this sentence, and the corpus">
        {signed(here)} <span class="bl-muted">{signed(middle)}</span> {Math.abs(z) > 2 ? "unusual" : ""}
      </span>
    </>
  );
}

function Profile(props: {
  view: View;
  layers: number;
  mean: (layer: number, by: By) => number;
  by: By[];
  name: string;
}) {
  const dark = props.view.dark.value;
  const [width, height] = [440, 190];
  const lines = props.by.map((b) => Array.from({ length: props.layers }, (_, l) => props.mean(l, b)));
  const most = Math.max(1e-9, ...lines.flat().filter((v) => !Number.isNaN(v)));
  const x = scale(
    0,
    Math.max(1, props.layers - 1),
    MARGIN.left + 8,
    width - MARGIN.right,
    Math.min(props.layers - 1, 12),
  );
  const y = scale(0, most * 1.1, height - MARGIN.bottom, MARGIN.top, 4);
  const colors = [series(dark)[3]!, series(dark)[0]!];
  return (
    <>
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel="layer"
        yLabel={props.name.replaceAll("_", " ")}
        label="Mean over the heads of each layer"
        dark={dark}
        xTicks={(l) => (Number.isInteger(l) ? `L${l}` : "")}
      >
        {lines.map((line, n) => (
          <g key={n}>
            <path
              d={`M${line.map((v, l) => `${x(l)} ${y(v || 0)}`).join("L")}`}
              fill="none"
              stroke={colors[n]}
              stroke-width="2"
              stroke-dasharray={n ? "5 3" : undefined}
            />
            {line.map((v, l) => (
              <path key={l} d={markerPath(n, x(l), y(v || 0), 3.5)} fill={colors[n]}>
                <title>{`L${l}: ${signed(v, 3)}`}</title>
              </path>
            ))}
          </g>
        ))}
      </Chart>
      <p class="bl-muted">Mean over heads per layer: ● by weight{props.by.length > 1 ? ", ■ dashed by norm" : ""}</p>
    </>
  );
}

function HeadMap({
  view,
  map,
  heads,
  pick,
}: {
  view: View;
  map: Float32Array;
  heads: number;
  pick: (l: number, h: number) => void;
}) {
  const { layer, head, picture } = view.store.shown.value;
  const dark = view.dark.value;
  const size = 320;
  const points = Array.from({ length: map.length / 2 }, (_, n) => [map[2 * n]!, map[2 * n + 1]!] as const);
  const reach = Math.max(...points.flat().map(Math.abs), 1e-9) * 1.1;
  const x = scale(-reach, reach, 10, size - 10);
  const { select, muted } = inks(dark);
  const table = weightTable(dark);
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Map of heads</h3>
        <span class="bl-muted">
          near = alike attention (Jensen-Shannon, metric scaling); darker = later layer; click a head
        </span>
      </header>
      <svg
        class="bl-chart"
        width={size}
        height={size}
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label="Map of heads by Jensen-Shannon divergence"
      >
        {points.map(([px, py], n) => {
          const [l, h] = [Math.floor(n / heads), n % heads];
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the same heads are buttons in the grid and the table
            <path
              key={n}
              d={markerPath(l, x(px), x(py), l === layer && h === head ? 7 : 4.5)}
              fill={cssColor(0.25 + (0.75 * l) / Math.max(1, picture.n_layers - 1), 0, 1, table)}
              stroke={l === layer && h === head ? select : muted}
              stroke-width={l === layer && h === head ? 2.5 : 0.5}
              fill-opacity="0.9"
              onClick={() => pick(l, h)}
            >
              <title>{headLabel(l, h)}</title>
            </path>
          );
        })}
      </svg>
    </section>
  );
}

function Relations(props: { data: Survey; layer: number; head: number; pick: (l: number, h: number) => void }) {
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Syntax</h3>
        <span class="bl-muted">the best head per relation against always guessing the same distance</span>
      </header>
      <div class="bl-scroll bl-table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">relation</th>
              <th scope="col">direction</th>
              <th scope="col">best head</th>
              <th scope="col">accuracy</th>
              <th scope="col">baseline</th>
              <th scope="col">n</th>
            </tr>
          </thead>
          <tbody>
            {props.data.relations.map((r) => (
              <tr
                key={r.relation + r.direction}
                class={r.layer === props.layer && r.head === props.head ? "bl-pinned" : ""}
              >
                <td>{r.relation}</td>
                <td>{r.direction}</td>
                <td>
                  <button type="button" class="bl-link" onClick={() => props.pick(r.layer, r.head)}>
                    {headLabel(r.layer, r.head)}
                  </button>
                </td>
                <td class="bl-number">{signed(100 * r.accuracy, 1)}</td>
                <td class="bl-number">{signed(100 * r.offset_accuracy, 1)}</td>
                <td class="bl-number">{r.n}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
