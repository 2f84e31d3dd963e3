// Neuron view: how the pinned query's vector and every key's vector make the score, neuron by neuron.
import { useCallback, useMemo } from "preact/hooks";
import { rowWeights, type Slice, scores } from "../compute/attention";
import { contrast, contrastSet, products, reuse } from "../compute/neurons";
import { paint as paintValues } from "../paint/colormap";
import { signedTable } from "../paint/palette";
import { Check, Select } from "../parts/controls";
import { percent, px, scalingText, share, signed } from "../parts/format";
import { Legend } from "../parts/legend";
import { Pixels } from "../parts/pixels";
import { Token, visibleText } from "../parts/token";
import type { Focus } from "../state/display";
import type { KeyOrder, NeuronOrder, Page } from "../state/page";
import { headLabel } from "../state/store";
import { showTip, useView, type View } from "./context";

const ROW = 22; // px, also in the style sheet
const LINES_A_ROW = 11; // pixel lines of a strip's canvas for one key, the last two left blank
const FIRST_KEYS = 16;

interface Rows {
  keys: number[]; // the keys shown, in order
  hidden: number;
}

/** The keys listed: those that the filters leave, the most attended first in line, and always the one in focus. */
function chooseKeys(page: Page, focus: Focus, left: number[], weights: Float64Array, points: Float64Array): Rows {
  const visible = left.includes(focus.key) ? left : [...left, focus.key];
  const by = (values: Float64Array) => (a: number, b: number) => values[b]! - values[a]! || a - b;
  const order: Record<KeyOrder, (a: number, b: number) => number> = {
    position: (a, b) => a - b,
    attention: by(weights),
    score: by(points),
  };
  const chosen = new Set(
    page.allKeys.value ? visible : [focus.key, ...[...visible].sort(by(weights)).slice(0, FIRST_KEYS)],
  );
  const keys = visible.filter((j) => chosen.has(j)).sort(order[page.keyOrder.value]);
  return { keys, hidden: visible.length - keys.length };
}

/** The key pieces that the pair filter and "hide special" leave. */
const keyPieces = (view: View) => view.display.grid.value.cols.flatMap((unit) => unit.pieces);

/** The order of the columns: indices of neurons. */
export function neuronOrder(order: NeuronOrder, contributions: Float64Array, query: Float32Array): number[] {
  const neurons = Array.from({ length: contributions.length }, (_, n) => n);
  if (order === "contribution") neurons.sort((a, b) => contributions[b]! - contributions[a]! || a - b);
  if (order === "query") neurons.sort((a, b) => Math.abs(query[b]!) - Math.abs(query[a]!) || a - b);
  return neurons;
}

function largest(values: Float32Array): number {
  let most = 0;
  for (const value of values) if (Math.abs(value) > most) most = Math.abs(value);
  return most;
}

export function Neurons() {
  const { slice, picture } = useView().store.shown.value;
  if (!slice.q || !slice.k) return <p class="bl-empty">No neuron view here: {picture.why_no_neurons}</p>;
  return <NeuronBody slice={slice} q={slice.q} k={slice.k} />;
}

function NeuronBody({ slice, q: queries, k: keyVectors }: { slice: Slice; q: Float32Array; k: Float32Array }) {
  const view = useView();
  const { store, page, display, dark } = view;
  const { weights, picture, layer, head } = store.shown.value;
  const focus = display.focus.value;
  const { query, key } = focus;
  const facts = useMemo(() => {
    const parts = contrast(slice, query, key);
    return {
      points: scores(slice, query),
      alpha: rowWeights(slice, query),
      parts,
      carried: contrastSet(parts),
    };
  }, [slice, query, key]);
  const used = useMemo(() => reuse(slice, query, key, weights), [slice, query, key, weights]);
  const { points, alpha, parts, carried } = facts;
  const d = slice.d;
  const q = queries.subarray(query * d, (query + 1) * d);
  const order = neuronOrder(page.neuronOrder.value, parts, q);
  const left = keyPieces(view);
  const { keys, hidden } = chooseKeys(page, focus, left, alpha, points);
  const table = signedTable(dark.value);

  const kValues = new Float32Array(keys.length * d);
  const qkValues = new Float32Array(keys.length * d);
  keys.forEach((j, row) => {
    const product = products(slice, query, j);
    order.forEach((n, col) => {
      kValues[row * d + col] = keyVectors[j * d + n]!;
      qkValues[row * d + col] = product[n]!;
    });
  });
  const qValues = Float32Array.from(order, (n) => q[n]!);
  const vectorScale = Math.max(largest(qValues), largest(kValues)) || 1;
  const productScale = largest(qkValues) || 1;
  const q_token = picture.queries.tokens[query]!;
  const k_token = picture.keyside.tokens[key]!;
  const set = new Set(carried.set);
  const mostPoint = Math.max(...keys.map((j) => Math.abs(points[j]!)).filter(Number.isFinite), 1e-9);
  const inSet = order.map((n) => set.has(n));
  const byContribution = page.neuronOrder.value === "contribution";

  const neuronTip = (event: PointerEvent, columns: number, rows: number) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const n = order[Math.floor(((event.clientX - box.left) / box.width) * columns)];
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const j = rows === 1 ? key : keys[row];
    if (n === undefined || j === undefined) return;
    const k = keyVectors[j * d + n]!;
    showTip(
      view,
      event,
      <>
        neuron {n}, key <Token text={picture.keyside.tokens[j]!} />
        <br />
        <span class="bl-number">
          q {signed(q[n]!, 3)} × k {signed(k, 3)} = {signed(q[n]! * k, 3)}
        </span>
        <br />
        <span class="bl-muted">
          {signed(parts[n]!, 3)} of the contrast {signed(carried.net)} to {visibleText(k_token)}
          {set.has(n) ? ", one of the marked" : ""}
        </span>
      </>,
    );
  };
  const strip = (values: Float32Array, rows: number, scale: number, label: string) => (
    <Strip
      values={values}
      rows={rows}
      columns={d}
      scale={scale}
      table={table}
      label={label}
      onMove={(event) => neuronTip(event, d, rows)}
      onLeave={() => {
        view.tip.value = null;
      }}
    />
  );
  const pinKey = (j: number) => store.synced.put({ query, key: j });

  return (
    <div class="bl-neurons" data-testid="neurons">
      <header class="bl-panel-head">
        <h3>
          How “<Token text={q_token} />” gets its attention
        </h3>
        <span class="bl-muted">
          {focus.pinnedQuery ? "query pinned" : "clearest word of this head; click a token to choose your own"} ·{" "}
          {headLabel(layer, head)}
        </span>
      </header>
      <p class="bl-note" data-testid="contrast">
        {Number.isNaN(carried.n80) ? (
          <>
            “<Token text={k_token} />” scores no higher than the other keys on average (contrast {signed(carried.net)}):
            no set of neurons carries it.
          </>
        ) : (
          <>
            <b>
              {carried.n80} of {d} neurons
            </b>{" "}
            carry 80 % of what sets “<Token text={k_token} />” apart from the other keys (contrast {signed(carried.net)}
            ); {percent(used.jaccard)} of them are shared with other queries’ sets on average (chance{" "}
            {percent(used.chance)}).
          </>
        )}
      </p>
      <div class="bl-controls">
        <Select<NeuronOrder>
          label="neurons"
          value={page.neuronOrder.value}
          choices={[
            { value: "contribution", label: "by contribution" },
            { value: "index", label: "by index" },
            { value: "query", label: "by |q|" },
          ]}
          onChange={(value) => {
            page.neuronOrder.value = value;
          }}
        />
        <Select<KeyOrder>
          label="keys"
          value={page.keyOrder.value}
          choices={[
            { value: "position", label: "by position" },
            { value: "attention", label: "by attention" },
            { value: "score", label: "by score" },
          ]}
          onChange={(value) => {
            page.keyOrder.value = value;
          }}
        />
        {left.length > FIRST_KEYS + 1 && (
          <Check
            label={
              page.allKeys.value ? `all ${left.length} keys` : `all keys (${hidden} with less attention are hidden)`
            }
            checked={page.allKeys.value}
            onChange={(value) => {
              page.allKeys.value = value;
            }}
          />
        )}
      </div>
      <div class="bl-scroll bl-neurons-scroll">
        <div class="bl-neuron-grid">
          <span class="bl-th">key token</span>
          <span class="bl-th">
            k <small>key vector</small>
          </span>
          <span class="bl-th">
            q × k <small>elementwise</small>
          </span>
          <span class="bl-th" title="q·k times the factor of the model">
            q·k {scalingText(slice.scaling)} <small>score</small>
          </span>
          <span class="bl-th">
            α <small>softmax</small>
          </span>

          <span class="bl-neuron-token bl-selected">
            query “<Token text={q_token} />”
          </span>
          <div class="bl-query-strip">
            {strip(qValues, 1, vectorScale, `Query vector of ${visibleText(q_token)}, ${d} neurons`)}
          </div>
          <div class="bl-bracket" aria-hidden="true">
            {byContribution && !Number.isNaN(carried.n80) ? (
              <span style={{ width: `${(100 * carried.n80) / d}%` }} />
            ) : (
              inSet.map(
                (marked, col) => marked && <i key={order[col]} style={{ left: `${(100 * (col + 0.5)) / d}%` }} />,
              )
            )}
            {!Number.isNaN(carried.n80) && <em>{carried.n80} neurons = 80 %</em>}
          </div>
          <span class="bl-muted bl-strip-name">← q (query vector)</span>
          <span />

          <div class="bl-neuron-tokens">
            {keys.map((j) => (
              <button
                type="button"
                key={j}
                class={j === key ? "bl-neuron-token bl-pinned" : "bl-neuron-token"}
                aria-pressed={j === key && focus.pinnedKey}
                title={`key ${j}: click to pin`}
                onClick={() => pinKey(j)}
              >
                <Token text={picture.keyside.tokens[j]!} />
              </button>
            ))}
          </div>
          {strip(kValues, keys.length, vectorScale, `Key vectors, ${keys.length} keys by ${d} neurons`)}
          {strip(qkValues, keys.length, productScale, `Elementwise products of query and keys, ${keys.length} by ${d}`)}
          <div>
            {keys.map((j) => (
              <div key={j} class={j === key ? "bl-score bl-pinned" : "bl-score"}>
                <span class="bl-score-track">
                  <span
                    class={points[j]! < 0 ? "bl-negative" : "bl-positive"}
                    style={{
                      "--part": `${Number.isFinite(points[j]!) ? (50 * Math.abs(points[j]!)) / mostPoint : 0}%`,
                    }}
                  />
                </span>
                <span class="bl-number" data-score={j}>
                  {points[j] === Number.NEGATIVE_INFINITY ? "masked" : signed(points[j]!)}
                </span>
              </div>
            ))}
          </div>
          <div>
            {keys.map((j) => (
              <div key={j} class={j === key ? "bl-score bl-pinned" : "bl-score"}>
                <span class="bl-bar-track">
                  <span style={{ "--part": `${100 * alpha[j]!}%` }} />
                </span>
                <span class="bl-number" data-alpha={j}>
                  {share(alpha[j]!)}
                </span>
              </div>
            ))}
          </div>
        </div>
      </div>
      <div class="bl-legends">
        <Legend low={signed(-vectorScale)} high={`+${signed(vectorScale)}`} label="q and k" table={table} />
        <Legend low={signed(-productScale)} high={`+${signed(productScale)}`} label="q × k" table={table} />
      </div>
      <Formula slice={slice} points={points} alpha={alpha} focus={focus} q={q_token} k={k_token} />
    </div>
  );
}

function Strip(props: {
  values: Float32Array;
  rows: number;
  columns: number;
  scale: number;
  table: Uint8Array;
  label: string;
  onMove: (event: PointerEvent) => void;
  onLeave: () => void;
}) {
  const { values, rows, columns, scale, table } = props;
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      const line = new Uint8ClampedArray(4 * columns);
      for (let row = 0; row < rows; row++) {
        paintValues(values.subarray(row * columns, (row + 1) * columns), -scale, scale, table, line);
        for (let y = 0; y < LINES_A_ROW - 2; y++) out.set(line, 4 * columns * (row * LINES_A_ROW + y));
      }
    },
    [values, rows, columns, scale, table],
  );
  return (
    <div
      class="bl-strip"
      style={{ height: px(rows * ROW) }}
      onPointerMove={props.onMove}
      onPointerLeave={props.onLeave}
    >
      <Pixels width={columns} height={rows * LINES_A_ROW} paint={paint} label={props.label} />
    </div>
  );
}

/** From q·k to α with this cell's numbers. */
function Formula(props: {
  slice: Slice;
  points: Float64Array;
  alpha: Float64Array;
  focus: Focus;
  q: string;
  k: string;
}) {
  const { slice, points, alpha, focus } = props;
  const score = points[focus.key]!;
  const pair = (
    <b>
      <Token text={props.q} /> → <Token text={props.k} />
    </b>
  );
  if (score === Number.NEGATIVE_INFINITY)
    return <p class="bl-formula">{pair} masked: this model does not let the query see this key, so α = 0.</p>;
  let dot = 0;
  for (let n = 0; n < slice.d; n++) dot += slice.q![focus.query * slice.d + n]! * slice.k![focus.key * slice.d + n]!;
  const bias = score - dot * slice.scaling;
  const seen = points.filter((s) => s !== Number.NEGATIVE_INFINITY);
  const most = seen.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const shift = most > 20 ? most : 0; // keeps the exponentials readable; softmax does not change
  const sum = seen.reduce((total, s) => total + Math.exp(s - shift), 0);
  return (
    <p class="bl-formula bl-number" data-testid="formula">
      {pair} q·k = {signed(dot)} → {scalingText(slice.scaling)} = <b>{signed(dot * slice.scaling)}</b>
      {Math.abs(bias) > 1e-6 && (
        <>
          {" "}
          + bias {signed(bias)} = <b>{signed(score)}</b>
        </>
      )}{" "}
      → softmax over {seen.length} keys: e
      <sup>
        {signed(score)}
        {shift ? ` − ${signed(shift)}` : ""}
      </sup>{" "}
      / {sum.toPrecision(4)} = <b data-testid="formula-alpha">{share(alpha[focus.key]!)}</b>
    </p>
  );
}
