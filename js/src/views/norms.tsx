// Norm view: weight against norm. What a head looks at, and how much of that it passes on, per kind of token.
import { useMemo } from "preact/hooks";
import { entry } from "../paint/colormap";
import { weightTable } from "../paint/palette";
import { Chart, inks, Key, MARGIN, markerPath, scale, series } from "../parts/chart";
import { Select } from "../parts/controls";
import { percent, share } from "../parts/format";
import { HeatChart } from "../parts/heatchart";
import { Legend } from "../parts/legend";
import { number } from "../parts/numbers";
import { Token, visibleText } from "../parts/token";
import { useAnswer } from "../state/answer";
import { headLabel } from "../state/store";
import { showTip, useView, type View } from "./context";

const MOST_POINTS = 2000;

/** The kernel's answer to "norm_view". */
export interface NormView {
  categories: string[];
  category: Int32Array; // (S) of every token, an index into `categories`
  shares: Float32Array; // (L·2·C) mean share of attention, of norm
  methods: string[];
  mixing: Float32Array; // (M·L·S)
  norms: Float32Array; // (L·H·S) ‖f(x)‖
  pooled: (number | null)[]; // (C) Spearman's ρ of α and ‖f(x)‖, all heads of all layers together
  within: Float32Array; // (L·H·C) and each head's own; NaN where a head has too few points
  per: string; // what a point of ρ is: "cell" or "key"
}

export function Norms() {
  const view = useView();
  const { store } = view;
  const data = useAnswer(store, "norm_view", ({ fields, arrays }) => ({
    ...(fields as object as NormView),
    category: arrays.category!.data as Int32Array,
    shares: arrays.shares!.data as Float32Array,
    mixing: arrays.mixing!.data as Float32Array,
    norms: arrays.norms!.data as Float32Array,
    within: arrays.within!.data as Float32Array,
  }));
  if (!data)
    return <p class="bl-empty">{store.kernel.value ? "computing the norms …" : "The norm view needs the kernel."}</p>;
  const { layer, head, picture } = store.shown.value;
  const dark = view.dark.value;
  /** "separator" says less than "separator [SEP]": name the template's tokens. */
  const names = data.categories.map((name, c) => {
    const at = data.category.indexOf(c);
    return at >= 0 && picture.queries.special[at] ? `${name} ${visibleText(picture.queries.tokens[at]!)}` : name;
  });
  return (
    <div class="bl-norms" data-testid="norms">
      <section>
        <header class="bl-panel-head">
          <h3>Weight against norm</h3>
          <span class="bl-muted">{headLabel(layer, head)}, one point per query and key; click a point to pin it</span>
        </header>
        <Scatter view={view} data={data} />
        <Key names={names} dark={dark} />
        <Cancelling data={data} names={names} layer={layer} head={head} />
      </section>
      <section>
        <header class="bl-panel-head">
          <h3>Share by kind of token</h3>
          <span class="bl-muted">
            per layer: left bar attention α, right bar norm ‖αf(x)‖, mean over heads and queries
          </span>
        </header>
        <Shares data={data} layer={layer} dark={dark} />
        <Mixing data={data} />
      </section>
    </div>
  );
}

/** Spearman's ρ of weight and norm per kind of token: pooled, and within heads. They answer different questions. */
function Cancelling(props: { data: NormView; names: string[]; layer: number; head: number }) {
  const { data, names, layer, head } = props;
  const C = data.categories.length;
  const heads = data.within.length / C;
  const { n_heads } = useView().store.shown.value.picture;
  const mean = (c: number) => {
    const own = Array.from({ length: heads }, (_, h) => data.within[h * C + c]!).filter((r) => !Number.isNaN(r));
    return own.length > 0 ? own.reduce((a, b) => a + b, 0) / own.length : null;
  };
  return (
    <div class="bl-note">
      <p>
        Spearman’s ρ of α and ‖f(x)‖, one point per {data.per === "cell" ? "query and key" : "key"}. Negative: where
        heads look most, they take least. Pooled over heads and within heads can differ: heads differ in scale.
      </p>
      <div class="bl-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">kind</th>
              <th scope="col">pooled</th>
              <th scope="col">within heads, mean</th>
              <th scope="col">{headLabel(layer, head)}</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name, c) => (
              <tr key={name}>
                <td>{name}</td>
                <td class="bl-number">{number(data.pooled[c])}</td>
                <td class="bl-number">{number(mean(c))}</td>
                <td class="bl-number">{number(data.within[(layer * n_heads + head) * C + c])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Scatter({ view, data }: { view: View; data: NormView }) {
  const { store } = view;
  const { layer, head, weights, slice, picture } = store.shown.value;
  const dark = view.dark.value;
  const { S, K } = slice;
  const norms = data.norms.subarray((layer * picture.n_heads + head) * K, (layer * picture.n_heads + head + 1) * K);
  const most = norms.reduce((a, b) => Math.max(a, b), 0);
  const [width, height] = [480, 300];
  const x = scale(0, most * 1.05, MARGIN.left, width - MARGIN.right);
  const y = scale(0, 1, height - MARGIN.bottom, MARGIN.top);
  const cells = Array.from({ length: S * K }, (_, n) => n);
  if (cells.length > MOST_POINTS) {
    cells.sort((a, b) => weights[b]! - weights[a]!);
    cells.length = MOST_POINTS;
  }
  const { muted, select } = inks(dark);
  const { query, key } = view.display.focus.value;
  const place = (n: number) => ({ i: Math.floor(n / K), j: n % K });
  const point = (n: number, r: number) => {
    const { j } = place(n);
    return markerPath(data.category[j]!, x(norms[j]!), y(weights[n]!), r);
  };
  return (
    <>
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel="‖f(x)‖ of the key"
        yLabel="α"
        label={`α against the norm of f(x), ${headLabel(layer, head)}`}
        dark={dark}
      >
        {[0.1, 0.25, 0.5, 1].map((part) => {
          const product = part * most;
          const steps = Array.from({ length: 40 }, (_, n) => product + ((most * 1.05 - product) * n) / 39);
          return (
            <path
              key={part}
              d={`M${steps.map((s) => `${x(s)} ${y(product / s)}`).join("L")}`}
              fill="none"
              stroke={muted}
              stroke-dasharray="3 4"
              opacity="0.6"
            />
          );
        })}
        {cells.map((n) => {
          const { i, j } = place(n);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the same cells are reachable by keyboard in the matrix
            <path
              key={n}
              d={point(n, 3)}
              fill={series(dark)[data.category[j]!]}
              fill-opacity="0.65"
              onClick={() => store.synced.put({ query: i, key: j })}
              onPointerEnter={(event) =>
                showTip(
                  view,
                  event,
                  <>
                    <Token text={picture.queries.tokens[i]!} /> → <Token text={picture.keyside.tokens[j]!} />
                    <br />α {share(weights[n]!)} × ‖f(x)‖ {share(norms[j]!)} = <b>{share(weights[n]! * norms[j]!)}</b>
                  </>,
                )
              }
              onPointerLeave={() => {
                view.tip.value = null;
              }}
            />
          );
        })}
        <path d={point(query * K + key, 5)} fill="none" stroke={select} stroke-width="2.5" />
      </Chart>
      <p class="bl-muted">
        Dashed: equal ‖αf(x)‖.{S * K > MOST_POINTS && ` The ${MOST_POINTS} largest of ${S * K} weights.`}
      </p>
    </>
  );
}

function Shares({ data, layer, dark }: { data: NormView; layer: number; dark: boolean }) {
  const C = data.categories.length;
  const L = data.shares.length / (2 * C);
  const [width, height] = [Math.max(320, 50 * L + 60), 220];
  const y = scale(0, 1, height - MARGIN.bottom, MARGIN.top);
  const x = scale(0, L, MARGIN.left, width - MARGIN.right);
  x.ticks = [];
  const step = x(1) - x(0);
  const bar = Math.min(18, step * 0.36);
  const { muted, select } = inks(dark);
  return (
    <div class="bl-scroll">
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel=""
        yLabel="share"
        label="Shares by kind of token"
        dark={dark}
      >
        {Array.from({ length: L }, (_, l) => {
          const middle = x(l + 0.5);
          return (
            <g key={l}>
              {[0, 1].map((which) => {
                let below = 0;
                return data.categories.map((name, c) => {
                  const part = data.shares[(l * 2 + which) * C + c]!;
                  const top = y(below + part);
                  const tall = y(below) - top;
                  below += part;
                  return (
                    <rect
                      key={`${which}${name}`}
                      x={middle + (which ? 1 : -bar - 1)}
                      y={top}
                      width={bar}
                      height={Math.max(0, tall)}
                      fill={series(dark)[c]}
                      fill-opacity={which ? 1 : 0.6}
                    >
                      <title>{`L${l}, ${which ? "norm" : "attention"}, ${name}: ${percent(part)}`}</title>
                    </rect>
                  );
                });
              })}
              <text
                x={middle}
                y={height - MARGIN.bottom + 15}
                font-size="11"
                text-anchor="middle"
                fill={l === layer ? select : muted}
                font-weight={l === layer ? 700 : 400}
              >
                L{l}
              </text>
            </g>
          );
        })}
      </Chart>
    </div>
  );
}

/** Mixing ratio of every layer and token as a heat map. */
function Mixing({ data }: { data: NormView }) {
  const view = useView();
  const { page, store } = view;
  const { picture } = store.shown.value;
  const tokens = picture.queries.tokens;
  const S = tokens.length;
  const L = picture.n_layers;
  const m = Math.max(0, data.methods.indexOf(page.mixing.value));
  const values = useMemo(() => data.mixing.subarray(m * L * S, (m + 1) * L * S), [data, m, L, S]);
  const table = weightTable(view.dark.value);
  const entries = useMemo(() => Uint8Array.from(values, (v) => Math.max(0, entry(v, 0, 1))), [values]);
  const mean = (l: number) => values.subarray(l * S, (l + 1) * S).reduce((a, b) => a + b, 0) / S;
  return (
    <>
      <header class="bl-panel-head">
        <h3>Mixing ratio</h3>
        <span class="bl-muted">how much of a token’s output comes from other tokens; 0 only itself, 1 only others</span>
        <Select
          label="by"
          value={data.methods[m]!}
          choices={data.methods.map((value) => ({ value, label: value }))}
          onChange={(value) => {
            page.mixing.value = value;
          }}
        />
      </header>
      <HeatChart
        label={`Mixing ratio ${data.methods[m]}, ${L} layers by ${S} tokens`}
        rows={Array.from({ length: L }, (_, l) => `L${l} ${percent(mean(l))}`)}
        cols={tokens}
        entries={entries}
        palette={table}
        width={Math.max(360, Math.min(18 * S, 440))}
        height={18 * L}
        dark={view.dark.value}
        onHover={(cell, event) => {
          if (!cell) {
            view.tip.value = null;
            return;
          }
          const { row: l, col: token } = cell;
          showTip(
            view,
            event,
            <>
              L{l}, <Token text={tokens[token]!} /> <b class="bl-number">{share(values[l * S + token]!)}</b>
            </>,
          );
        }}
        onPick={({ row, col }) => store.synced.put({ layer: row, query: col })}
      />
      <Legend
        low="0"
        high="1"
        label="mixing ratio; layers down, tokens across; the mean beside the layer"
        table={table}
      />
    </>
  );
}
