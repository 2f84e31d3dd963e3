// Geometry view: the cone of the stream from layer to layer, the lengths of a head's vectors, ranks and symmetry.
import { Chart, Drawing, inks, MARGIN, scale, series } from "../parts/chart";
import { share } from "../parts/format";
import { Numbers, number } from "../parts/numbers";
import { useAnswer } from "../state/answer";
import { headLabel } from "../state/store";
import { useView, type View } from "./context";
import { RankTable, Spectrum, useSpectra } from "./spectra";

type Row = Record<string, number | null>;

interface Histograms {
  layer: number;
  head: number;
  edges: number[];
  counts: Record<string, number[]>;
  bounds: Record<string, number | null>; // σ_max(W) · max ‖x‖ + ‖b‖: no norm passes it
}

export function Geometry() {
  const view = useView();
  const { store } = view;
  const rows = useAnswer(store, "geometry", ({ fields }) => fields.rows as Row[]);
  const spectra = useSpectra(view);
  if (!rows)
    return (
      <p class="bl-empty">{store.kernel.value ? "measuring the stream …" : "The geometry view needs the kernel."}</p>
    );
  return (
    <div data-testid="geometry">
      <div class="bl-norms">
        <section>
          <header class="bl-panel-head">
            <h3>Cone index through the stream</h3>
            <span class="bl-muted">I/n of unit vectors: 1 = all tokens point one way; click a layer</span>
          </header>
          <Cone view={view} rows={rows} />
          <ul class="bl-key">
            <li>● layer’s input and output</li>
            <li>│ heads, least to most, ◆ their mean</li>
            <li>○ concatenation, after W_O</li>
          </ul>
          <p class="bl-note">
            With {rows[0]?.tokens} tokens, special ones counted; independent directions would give 1/√n ={" "}
            {number(rows[0]?.chance)}.
          </p>
        </section>
        <NormHistograms view={view} />
        {spectra && <Spectrum view={view} found={spectra} />}
      </div>
      <div class="bl-wide-tables">
        <section>
          <header class="bl-panel-head">
            <h3>What each step changes</h3>
            <span class="bl-muted">‖Δ‖/‖x‖, cosine of Δ with x, change of I/n</span>
          </header>
          <Steps view={view} rows={rows} />
        </section>
        {spectra && <RankTable view={view} found={spectra} />}
      </div>
    </div>
  );
}

/** The places of a layer in the stream, left to right. */
const PLACES = ["cone_input", "cone_heads", "cone_concatenation", "cone_attention", "cone_output"];

function Cone({ view, rows }: { view: View; rows: Row[] }) {
  const { store } = view;
  const dark = view.dark.value;
  const { ink, muted, grid, select, accent, panel } = inks(dark);
  const L = rows.length;
  const [width, height] = [Math.max(420, 64 * L + 60), 270];
  const y = scale(0, 1, height - MARGIN.bottom, MARGIN.top);
  const x = scale(0, 4 * L, MARGIN.left + 6, width - MARGIN.right - 6);
  x.ticks = [];
  const points = rows.flatMap((row, l) =>
    PLACES.slice(l === 0 ? 0 : 1).map((name) => ({
      name,
      l,
      at: x(4 * l + PLACES.indexOf(name)),
      value: row[name] ?? Number.NaN,
    })),
  );
  const chance = rows[0]?.chance;
  return (
    <div class="bl-scroll">
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel=""
        yLabel="I/n"
        label="Cone index through the stream"
        dark={dark}
      >
        {rows.map((_, l) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the atlas chooses a layer by keyboard
          <g key={l} class="bl-band" onClick={() => store.synced.put({ layer: l })}>
            <rect
              x={x(4 * l)}
              y={MARGIN.top}
              width={x(4) - x(0)}
              height={height - MARGIN.bottom - MARGIN.top}
              fill={l === store.shown.value.layer ? select : grid}
              fill-opacity={l === store.shown.value.layer ? 0.1 : l % 2 ? 0.35 : 0}
            />
            <text
              x={x(4 * l + 2)}
              y={height - MARGIN.bottom + 15}
              font-size="11"
              text-anchor="middle"
              fill={l === store.shown.value.layer ? select : muted}
            >
              L{l}
            </text>
          </g>
        ))}
        {chance != null && (
          <>
            <line x1={x(0)} x2={x(4 * L)} y1={y(chance)} y2={y(chance)} stroke={muted} stroke-dasharray="4 3" />
            <text x={x(4 * L)} y={y(chance) - 5} font-size="11" text-anchor="end" fill={muted}>
              chance 1/√n
            </text>
          </>
        )}
        {rows.map((row, l) => (
          <line
            key={l}
            x1={x(4 * l + 1)}
            x2={x(4 * l + 1)}
            y1={y(row.cone_heads_min ?? 0)}
            y2={y(row.cone_heads_max ?? 0)}
            stroke={select}
            stroke-opacity="0.45"
            stroke-width="4"
          />
        ))}
        <path
          d={`M${points.map((p) => `${p.at} ${y(p.value)}`).join("L")}`}
          fill="none"
          stroke={accent}
          stroke-width="1.5"
        />
        {points.map((p) => (
          <circle
            key={`${p.l}${p.name}`}
            cx={p.at}
            cy={y(p.value)}
            r={p.name === "cone_input" || p.name === "cone_output" ? 5 : 4}
            fill={p.name === "cone_heads" ? select : p.name.endsWith("put") ? ink : panel}
            stroke={accent}
          >
            <title>{`L${p.l}, ${p.name.slice(5)}: ${share(p.value)}`}</title>
          </circle>
        ))}
      </Chart>
    </div>
  );
}

const NAMES: Record<string, string> = { query: "‖q‖", key: "‖k‖", value: "‖v‖", context: "‖context‖" };

function NormHistograms({ view }: { view: View }) {
  const { store } = view;
  const { layer, head } = store.shown.value;
  const dark = view.dark.value;
  const found = useAnswer(store, "histograms", ({ fields }) => fields as unknown as Histograms, { layer, head });
  const [width, band, top] = [440, 66, 16];
  const kinds = Object.keys(NAMES);
  const height = band * kinds.length + 40;
  const { muted, grid, ink } = inks(dark);
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Lengths of its vectors</h3>
        <span class="bl-muted">
          {found ? headLabel(found.layer, found.head) : ""}, one count per token, the same bins in all rows
        </span>
      </header>
      {found && (
        <Drawing width={width} height={height} label="Histograms of vector norms">
          {kinds.map((kind, row) => {
            const counts = found.counts[kind]!;
            const most = Math.max(...counts, 1);
            const bin = (width - 90) / counts.length;
            const floor = top + band * (row + 1) - 8;
            return (
              <g key={kind}>
                <text x="0" y={floor - 18} font-size="12" fill={ink}>
                  {NAMES[kind]}
                </text>
                <text x="0" y={floor - 4} font-size="11" fill={muted}>
                  max {most}
                </text>
                {counts.map((count, n) => (
                  <rect
                    key={n}
                    x={80 + n * bin + 0.5}
                    width={bin - 1}
                    y={floor - (count / most) * (band - 20)}
                    height={(count / most) * (band - 20)}
                    fill={series(dark)[3 - row]}
                  >
                    <title>{`${found.edges[n]!.toFixed(2)} to ${found.edges[n + 1]!.toFixed(2)}: ${count} tokens`}</title>
                  </rect>
                ))}
                <line x1="80" x2={width - 10} y1={floor} y2={floor} stroke={grid} />
              </g>
            );
          })}
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <text
              key={part}
              x={80 + part * (width - 90)}
              y={height - 8}
              font-size="11"
              text-anchor="middle"
              fill={muted}
            >
              {(found.edges.at(-1)! * part).toFixed(1)}
            </text>
          ))}
        </Drawing>
      )}
      {found && (
        <p class="bl-muted">
          No norm can pass σ_max(W)·max‖x‖ + ‖b‖:{" "}
          {["query", "key", "value"].map((kind) => `${NAMES[kind]} ${number(found.bounds[kind], 1)}`).join(", ")}
        </p>
      )}
    </section>
  );
}

function Steps({ view, rows }: { view: View; rows: Row[] }) {
  const columns: [string, string][] = [
    ["norm_input", "‖x‖"],
    ["attention_ratio", "attention ‖Δ‖/‖x‖"],
    ["attention_cosine", "cos"],
    ["attention_cone", "Δ I/n"],
    ["mlp_ratio", "MLP ‖Δ‖/‖x‖"],
    ["mlp_cosine", "cos"],
    ["mlp_cone", "Δ I/n"],
    ["participation", "participation ratio"],
    ["kurtosis", "kurtosis"],
  ];
  return (
    <Numbers
      head={["layer", ...columns.map(([, label]) => label)]}
      rows={rows.map((row, l) => [`L${l}`, ...columns.map(([name]) => number(row[name]))])}
      pinned={view.store.shown.value.layer}
    />
  );
}
