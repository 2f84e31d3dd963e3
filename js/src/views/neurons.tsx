// Neuron view: how the pinned query's vector and every key's vector make the score, neuron by neuron.
import { useCallback, useMemo } from "preact/hooks";
import type { Slice } from "../compute/attention";
import { reuse } from "../compute/neurons";
import { paint as paintValues } from "../paint/colormap";
import { signedTable } from "../paint/palette";
import { Check, Select } from "../parts/controls";
import { percent, px, scalingText, share, signed } from "../parts/format";
import { Legend } from "../parts/legend";
import { Pixels } from "../parts/pixels";
import { Token, visibleText } from "../parts/token";
import {
  type CellFacts,
  cellFacts,
  type KeyOrder,
  type NeuronOrder,
  type NeuronSheet,
  neuronSheet,
  softmaxSteps,
} from "../state/neurons";
import { headLabel } from "../state/store";
import { showTip, useView, type View } from "./context";

const ROW = 22; // px, also in the style sheet
const LINES_A_ROW = 11; // pixel lines of a strip's canvas for one key, the last two left blank
const LISTABLE = 17; // keys that need no "all keys" switch

export function Neurons() {
  const { slice, picture } = useView().store.shown.value;
  if (!slice.q) return <p class="bl-empty">No neuron view here: {picture.why_no_neurons}</p>;
  return <NeuronBody slice={slice} />;
}

/** The sheet as the view's choices ask for it; also what an export prints. */
export function sheetOf(view: View, facts: CellFacts): NeuronSheet {
  const { page, store, display } = view;
  return neuronSheet(store.shown.value.slice, facts, {
    neurons: page.neuronOrder.value,
    keys: page.keyOrder.value,
    all: page.allKeys.value,
    left: display.grid.value.cols.flatMap((unit) => unit.pieces),
  });
}

function NeuronBody({ slice }: { slice: Slice }) {
  const view = useView();
  const { store, page, display } = view;
  const { weights, picture, layer, head } = store.shown.value;
  const focus = display.focus.value;
  const facts = useMemo(() => cellFacts(slice, focus.query, focus.key), [slice, focus.query, focus.key]);
  const used = useMemo(() => reuse(slice, focus.query, focus.key, weights), [slice, focus.query, focus.key, weights]);
  const sheet = sheetOf(view, facts);
  const { carried } = facts;
  const query = picture.queries.tokens[focus.query]!;
  const key = picture.keyside.tokens[focus.key]!;
  const keysLeft = sheet.keys.length + sheet.hidden;
  const table = signedTable(view.dark.value);
  return (
    <div class="bl-neurons" data-testid="neurons">
      <header class="bl-panel-head">
        <h3>
          How “<Token text={query} />” gets its attention
        </h3>
        <span class="bl-muted">
          {focus.pinnedQuery ? "query pinned" : "clearest word of this head; choose a query to see another"} ·{" "}
          {headLabel(layer, head)}
        </span>
      </header>
      <p class="bl-note" data-testid="contrast">
        {Number.isNaN(carried.n80) ? (
          <>
            “<Token text={key} />” scores no higher than the other keys on average (contrast {signed(carried.net)}): no
            set of neurons carries it.
          </>
        ) : (
          <>
            <b>
              {carried.n80} of {slice.d} neurons
            </b>{" "}
            carry 80 % of what sets “<Token text={key} />” apart from the other keys (contrast {signed(carried.net)}).
            Other queries’ sets overlap with this one by {percent(used.jaccard)} on average (Jaccard; chance{" "}
            {percent(used.chance)}
            ).
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
        {keysLeft > LISTABLE && (
          <Check
            label={
              page.allKeys.value ? `all ${keysLeft} keys` : `all keys (${sheet.hidden} with less attention are hidden)`
            }
            checked={page.allKeys.value}
            onChange={(value) => {
              page.allKeys.value = value;
            }}
          />
        )}
      </div>
      <div class="bl-scroll bl-neurons-scroll">
        <Sheet sheet={sheet} slice={slice} query={query} />
      </div>
      <div class="bl-legends">
        <Legend low={signed(-sheet.vectorScale)} high={`+${signed(sheet.vectorScale)}`} label="q and k" table={table} />
        <Legend low={signed(-sheet.productScale)} high={`+${signed(sheet.productScale)}`} label="q × k" table={table} />
      </div>
      <Formula slice={slice} facts={facts} query={query} />
    </div>
  );
}

/** The five columns: token, k, q × k, score, α; the query's own strip above them. */
function Sheet({ sheet, slice, query }: { sheet: NeuronSheet; slice: Slice; query: string }) {
  const view = useView();
  const { store, page } = view;
  const tokens = store.shown.value.picture.keyside.tokens;
  const { keys, key, neurons, marked, scores, alpha, carried, scoreScale } = sheet;
  const d = slice.d;
  const hasSet = !Number.isNaN(carried.n80);
  const pinned = (j: number, name: string) => (j === key ? `${name} bl-pinned` : name);

  const strip = (values: Float32Array, rows: number, scale: number, label: string) => (
    <Strip
      values={values}
      rows={rows}
      columns={d}
      scale={scale}
      table={signedTable(view.dark.value)}
      label={label}
      onMove={(event) => {
        const box = (event.currentTarget as Element).getBoundingClientRect();
        const n = neurons[Math.floor(((event.clientX - box.left) / box.width) * d)];
        const j = rows === 1 ? key : keys[Math.floor((event.clientY - box.top) / ROW)];
        if (n !== undefined && j !== undefined)
          showTip(view, event, <NeuronTip sheet={sheet} slice={slice} n={n} j={j} tokens={tokens} />);
      }}
      onLeave={() => {
        view.tip.value = null;
      }}
    />
  );
  return (
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
        query “<Token text={query} />”
      </span>
      <div class="bl-query-strip">
        {strip(sheet.qShown, 1, sheet.vectorScale, `Query vector of ${visibleText(query)}, ${d} neurons`)}
      </div>
      <div class="bl-bracket" aria-hidden="true">
        {hasSet && page.neuronOrder.value === "contribution" ? (
          <span style={{ width: `${(100 * carried.n80) / d}%` }} />
        ) : (
          marked.map((is, col) => is && <i key={neurons[col]} style={{ left: `${(100 * (col + 0.5)) / d}%` }} />)
        )}
        {hasSet && <em>{carried.n80} neurons = 80 %</em>}
      </div>
      <span class="bl-muted bl-strip-name">← q, the query vector</span>

      <div class="bl-neuron-tokens">
        {keys.map((j) => (
          <button
            type="button"
            key={j}
            class={pinned(j, "bl-neuron-token")}
            aria-pressed={j === key}
            title={`key ${j}: click to pin`}
            onClick={() => store.synced.put({ query: sheet.query, key: j })}
          >
            <Token text={tokens[j]!} />
          </button>
        ))}
      </div>
      {strip(sheet.kShown, keys.length, sheet.vectorScale, `Key vectors, ${keys.length} keys by ${d} neurons`)}
      {strip(
        sheet.productsShown,
        keys.length,
        sheet.productScale,
        `Products of query and keys, ${keys.length} by ${d}`,
      )}
      <div>
        {keys.map((j) => (
          <div key={j} class={pinned(j, "bl-score")}>
            <span class="bl-score-track">
              <span
                class={scores[j]! < 0 ? "bl-negative" : "bl-positive"}
                style={{ "--part": `${Number.isFinite(scores[j]!) ? (50 * Math.abs(scores[j]!)) / scoreScale : 0}%` }}
              />
            </span>
            <span class="bl-number" data-score={j}>
              {scores[j] === Number.NEGATIVE_INFINITY ? "masked" : signed(scores[j]!)}
            </span>
          </div>
        ))}
      </div>
      <div>
        {keys.map((j) => (
          <div key={j} class={pinned(j, "bl-score")}>
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
  );
}

function NeuronTip(props: { sheet: NeuronSheet; slice: Slice; n: number; j: number; tokens: string[] }) {
  const { sheet, slice, n, j, tokens } = props;
  const q = sheet.q[n]!;
  const k = slice.k![j * slice.d + n]!;
  return (
    <>
      neuron {n}, key <Token text={tokens[j]!} />
      <br />
      <span class="bl-number">
        q {signed(q, 3)} × k {signed(k, 3)} = {signed(q * k, 3)}
      </span>
      <br />
      <span class="bl-muted">
        {signed(sheet.parts[n]!, 3)} of the contrast {signed(sheet.carried.net)} to {visibleText(tokens[sheet.key]!)}
        {sheet.carried.set.includes(n) ? ", one of the marked" : ""}
      </span>
    </>
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
function Formula({ slice, facts, query }: { slice: Slice; facts: CellFacts; query: string }) {
  const key = useView().store.shown.value.picture.keyside.tokens[facts.key]!;
  const steps = softmaxSteps(slice, facts);
  const pair = (
    <b>
      <Token text={query} /> → <Token text={key} />
    </b>
  );
  if (steps.masked)
    return <p class="bl-formula">{pair} masked: this model does not let the query see this key, so α = 0.</p>;
  return (
    <p class="bl-formula bl-number" data-testid="formula">
      {pair} q·k = {signed(steps.dot)} → {scalingText(slice.scaling)} = <b>{signed(steps.scaled)}</b>
      {steps.bias !== 0 && (
        <>
          {" "}
          + bias {signed(steps.bias)} = <b>{signed(steps.score)}</b>
        </>
      )}{" "}
      → softmax over {steps.seen} keys: e
      <sup>
        {signed(steps.score)}
        {steps.shift ? ` − ${signed(steps.shift)}` : ""}
      </sup>{" "}
      / {steps.sum.toPrecision(4)} = <b data-testid="formula-alpha">{share(steps.alpha)}</b>
    </p>
  );
}
