// Neuron view: how the pinned query's vector and every key's vector make the score, neuron by neuron.
import type { ComponentChildren } from "preact";
import { useCallback, useContext, useMemo, useState } from "preact/hooks";
import { reuse } from "../../compute/neurons";
import {
  blockOf,
  cellFacts,
  FIRST_KEYS,
  gapsBefore,
  type KeyOrder,
  type NeuronOrder,
  type NeuronSheet,
  neuronSheet,
  rowsInView,
  softmaxSteps,
} from "../../compute/neuronsheet";
import { isLong } from "../../compute/windows";
import { TERMS } from "../../generated/vocabulary";
import { digitsOf } from "../../head/scale";
import { paint as paintValues } from "../../paint/colormap";
import { counted, headLabel, percent, px, scalingText, share, signed } from "../../paint/format";
import { signedColours } from "../../paint/palette";
import { Check, into, Select } from "../../parts/controls";
import { Legend } from "../../parts/legend";
import { AsTables, apart, type Figures, PictureTable } from "../../parts/picturetable";
import { Pixels } from "../../parts/pixels";
import { Term } from "../../parts/term";
import { Place, Token, tokenText } from "../../parts/token";
import { hideTip, showTip, useView, type View } from "../../state/view";

const ROW = 20; // px, also in the style sheet
const LINES_A_ROW = 11; // pixel lines of a strip's canvas for one key, the last two left blank

/** The sheet as the view's choices ask for it; also what an export prints. */
export function sheetOf({ page, shown, grid, focus }: View): NeuronSheet {
  return neuronSheet(shown.slice, cellFacts(shown.slice, focus.query, focus.key), {
    neurons: page.neuronOrder.value,
    keys: page.keyOrder.value,
    all: page.allKeys.value,
    left: grid.cols.flatMap((unit) => unit.pieces),
  });
}

const labelled = (tokens: string[]) => tokens.map((label) => ({ label }));

/** The ends of a signed legend. */
export const ends = (scale: number) => ({ low: signed(-scale), high: `+${signed(scale)}` });

export function Neurons() {
  const view = useView();
  const { shown, grid, focus, page, overview } = view;
  const choices = [page.neuronOrder.value, page.keyOrder.value, page.allKeys.value];
  const sheet = useMemo(() => shown.slice.q && sheetOf(view), [shown.slice, grid, focus.query, focus.key, ...choices]);
  const colours = signedColours(view.dark);
  const asTable = useContext(AsTables);
  if (!sheet) return null; // between two traces
  return (
    <div class="bl-neurons" data-testid="neurons">
      <header class="bl-panel-head">
        <h3>
          How “<Place units={labelled(overview.queries.tokens)} n={focus.query} />” gets its attention
        </h3>
        <span class="bl-muted">
          {focus.pinnedQuery
            ? "query pinned"
            : `${isLong(shown.slice.S, shown.slice.K) ? "first word of the text" : "clearest word of this head"}; choose a query to see another`}{" "}
          · {headLabel(shown.layer, shown.head)}
          {shown.layerMap && ", one head of the layer shown above"}
        </span>
        <span class="bl-spacer" />
        <Controls keys={sheet.keys.length + sheet.hidden} hidden={sheet.hidden} />
      </header>
      <Contrast sheet={sheet} />
      {asTable ? (
        <PictureTable title="Neurons of the query and of the keys" table={() => neuronTable(sheet, overview)} />
      ) : (
        <Listed sheet={sheet} />
      )}
      <div class="bl-legends">
        <Legend {...ends(sheet.vectorScale)} label="q and k" colours={colours} />
        <Legend {...ends(sheet.productScale)} label="q × k" colours={colours} />
      </div>
      <Formula sheet={sheet} />
    </div>
  );
}

const MOST_KEYS = 12; // whose columns a table has

/** A row for each neuron: q, its part of the contrast, k and q × k of the keys listed. */
function neuronTable(sheet: NeuronSheet, { keyside }: View["overview"]): Figures {
  const [d, keys] = [sheet.neurons.length, sheet.keys.slice(0, MOST_KEYS)];
  const names = apart(keyside.tokens);
  const of = (values: Float32Array, c: number) => keys.map((_, row) => values[row * d + c]!);
  return {
    columns: [
      ...["neuron", "q", `contrast to ${names[sheet.key]}`, "carries 80 %"],
      ...keys.map((j) => `k ${names[j]}`),
      ...keys.map((j) => `q × k ${names[j]}`),
    ],
    rows: sheet.neurons.map((n, c) => [
      ...[`neuron ${n}`, sheet.q[n]!, sheet.parts[n]!, sheet.marked[c] ? "yes" : "no"],
      ...of(sheet.kShown, c),
      ...of(sheet.productsShown, c),
    ]),
    about: keys.length < sheet.keys.length ? `the first ${keys.length} of ${sheet.keys.length} keys listed` : "",
  };
}

interface SheetProps {
  sheet: NeuronSheet;
}

/** How many neurons carry what sets the key apart, and whether other queries use the same. */
function Contrast({ sheet: { query, key, carried, chance, weights: made, seen, rank, alpha } }: SheetProps) {
  const { slice, overview, weights } = useView().shown;
  const used = useMemo(() => reuse(slice, query, key, weights), [query, key, weights]);
  const token = <Token text={overview.keyside.tokens[key]!} />;
  const text = (weight: number) => share(weight, digitsOf(slice));
  return (
    <p class="bl-muted" data-testid="contrast">
      {Number.isNaN(carried.n80) ? (
        <>
          “{token}” scores no higher than the other keys on average (<Term name="contrast" /> {signed(carried.net)}): no
          set of neurons carries it.
        </>
      ) : (
        <>
          <b>
            {carried.n80} of {slice.d} neurons
          </b>{" "}
          carry 80 % of what sets “{token}” apart from the other keys (<Term name="contrast" /> {signed(carried.net)});{" "}
          {chance
            ? `random q and k take ${chance.median} (${chance.low} to ${chance.high} in 90 %) for the key at rank ${counted(rank)} of ${counted(seen)}`
            : "random q and k hardly ever set such a key apart"}
          . The weight {text(alpha[key]!)} is <b>{text(made!.alone)}</b> by these neurons alone, {text(made!.rest)} by
          the rest alone, {text(made!.lot)} by as many drawn by lot.{" "}
          {used.others < slice.S - 1
            ? `The sets of ${used.others} queries spread over the text`
            : "Other queries’ sets"}{" "}
          overlap with this one by {percent(used.jaccard)} on average (<Term name="jaccard" />; chance{" "}
          {percent(used.chance)}
          ).
        </>
      )}
    </p>
  );
}

function Controls({ keys, hidden }: { keys: number; hidden: number }) {
  const { neuronOrder, keyOrder, allKeys } = useView().page;
  return (
    <div class="bl-controls">
      <Select<NeuronOrder>
        label="neurons"
        value={neuronOrder.value}
        choices={[
          { value: "contribution", label: "by contribution" },
          { value: "index", label: "by index" },
          { value: "query", label: "by |q|" },
        ]}
        onChange={into(neuronOrder)}
      />
      <Select<KeyOrder>
        label="keys"
        value={keyOrder.value}
        choices={[
          { value: "position", label: "by position" },
          { value: "attention", label: "by attention" },
          { value: "score", label: "by score" },
        ]}
        onChange={into(keyOrder)}
      />
      {keys > FIRST_KEYS + 1 && (
        <Check
          label={
            allKeys.value ? `all ${counted(keys)} keys` : `all keys (${counted(hidden)} with less attention are hidden)`
          }
          checked={allKeys.value}
          onChange={into(allKeys)}
        />
      )}
    </div>
  );
}

/** From q·k to α with this cell's numbers. */
function Formula({ sheet }: SheetProps) {
  const { slice, overview } = useView().shown;
  const steps = softmaxSteps(slice, sheet);
  const pair = (
    <b>
      <Token text={overview.queries.tokens[sheet.query]!} /> → <Token text={overview.keyside.tokens[sheet.key]!} />
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
      → softmax over {counted(steps.seen)} keys: e
      <sup>
        {signed(steps.score)}
        {steps.shift ? ` − ${signed(steps.shift)}` : ""}
      </sup>{" "}
      / {steps.sum.toPrecision(4)} = <b data-testid="formula-alpha">{share(steps.alpha, digitsOf(slice))}</b>
    </p>
  );
}

const HEADS: [name: string, what: string, about?: string][] = [
  ["key token", ""],
  ["k", "key vector"],
  ["q × k", "elementwise"],
  ["", "score", TERMS.score!.about],
  ["α", "softmax", TERMS.alpha!.about],
];

/** The keys, of many only those around what is scrolled to. */
function Listed({ sheet }: SheetProps) {
  const [block, setBlock] = useState(0);
  return (
    <div
      class="bl-scroll bl-neurons-scroll"
      onScroll={(event) => setBlock(blockOf(event.currentTarget.scrollTop / ROW))}
    >
      <Columns sheet={sheet} {...rowsInView(block, sheet.keys.length)} />
    </div>
  );
}

/** The rows `from` … `to` − 1 of the keys listed; the others leave their room. */
interface PartProps extends SheetProps {
  from: number;
  to: number;
}

const room = ({ sheet, from, to }: PartProps) => ({
  paddingTop: px(from * ROW),
  paddingBottom: px((sheet.keys.length - to) * ROW),
});

/** Token, k, q × k, score, α; the query's own strip above them. */
function Columns(part: PartProps) {
  const { slice, overview } = useView().shown;
  const { sheet, from, to } = part;
  const { keys, scores, alpha, scoreScale } = sheet;
  const [vectors, products] = useMemo(
    () => [sheet.kShown, sheet.productsShown].map((values) => values.subarray(from * slice.d, to * slice.d)),
    [sheet, from, to],
  );
  const query = overview.queries.tokens[sheet.query]!;
  const count = `${keys.length} keys by ${slice.d} neurons`;
  const length = (score: number) => (Number.isFinite(score) ? (50 * Math.abs(score)) / scoreScale : 0);
  return (
    <div class="bl-neuron-grid">
      {HEADS.map(([name, what, about]) => (
        <span key={what} class="bl-th" title={about}>
          {name || `q·k ${scalingText(slice.scaling)}`} {what && <small>{what}</small>}
        </span>
      ))}
      <span class="bl-neuron-token bl-selected">
        query “<Token text={query} />”
      </span>
      <div class="bl-query-strip">
        <Strip
          sheet={sheet}
          keys={[sheet.key]}
          values={sheet.qShown}
          scale={sheet.vectorScale}
          label={`Query vector of ${tokenText(query)}, ${slice.d} neurons`}
        />
      </div>
      <Bracket sheet={sheet} />
      <span class="bl-muted bl-strip-name">← q, the query vector</span>
      <KeyTokens {...part} />
      <div style={room(part)}>
        <Strip
          sheet={sheet}
          keys={keys.slice(from, to)}
          values={vectors!}
          scale={sheet.vectorScale}
          label={`Key vectors, ${count}`}
        />
      </div>
      <div style={room(part)}>
        <Strip
          sheet={sheet}
          keys={keys.slice(from, to)}
          values={products!}
          scale={sheet.productScale}
          label={`Products of query and keys, ${count}`}
        />
      </div>
      <Bars
        {...part}
        name="score"
        text={(j) => (scores[j] === Number.NEGATIVE_INFINITY ? "masked" : signed(scores[j]!))}
      >
        {(j) => (
          <span class="bl-score-track">
            <span
              class={scores[j]! < 0 ? "bl-negative" : "bl-positive"}
              style={{ "--part": `${length(scores[j]!)}%` }}
            />
          </span>
        )}
      </Bars>
      <Bars {...part} name="alpha" text={(j) => share(alpha[j]!, digitsOf(slice))}>
        {(j) => (
          <span class="bl-bar-track">
            <span style={{ "--part": `${100 * alpha[j]!}%` }} />
          </span>
        )}
      </Bars>
    </div>
  );
}

/** The neurons that carry 80 % of the contrast: one bracket where they stand together, else dots. */
function Bracket({ sheet: { neurons, marked, carried } }: SheetProps) {
  const together = useView().page.neuronOrder.value === "contribution";
  const part = (n: number) => `${(100 * n) / neurons.length}%`;
  return (
    <div class="bl-bracket" aria-hidden="true">
      {carried.set.length > 0 && together && <span style={{ width: part(carried.n80) }} />}
      {!together && marked.map((is, n) => is && <i key={neurons[n]} style={{ left: part(n + 0.5) }} />)}
      {carried.set.length > 0 && <em>{carried.n80} neurons = 80 %</em>}
    </div>
  );
}

function KeyTokens(part: PartProps) {
  const { synced, overview, page, grid } = useView();
  const { keys, key, query } = part.sheet;
  const units = labelled(overview.keyside.tokens);
  const isInOrder = page.keyOrder.value === "position";
  /** How many keys are left out above a row, while the keys are in the order of the text. */
  const gaps = useMemo(() => {
    const left = grid.cols.flatMap((unit) => unit.pieces); // by the filters
    return isInOrder
      ? gapsBefore(
          keys,
          left.sort((a, b) => a - b),
        )
      : [];
  }, [keys, grid, isInOrder]);
  const gap = (n: number) => gaps[part.from + n] ?? 0;
  return (
    <div class="bl-neuron-tokens" style={room(part)}>
      {keys.slice(part.from, part.to).map((j, n) => (
        <button
          type="button"
          key={j}
          data-tokens={j}
          class={j === key ? "bl-neuron-token bl-pinned" : "bl-neuron-token"}
          aria-pressed={j === key}
          title={`key ${j}: click to pin`}
          onClick={() => synced.put({ query, key: j })}
        >
          <Place units={units} n={j} />
          {gap(n) > 0 && (
            <i
              class="bl-gap"
              aria-hidden="true"
              data-n={gap(n)}
              title={`${counted(gap(n))} keys with less attention are hidden here`}
            />
          )}
        </button>
      ))}
    </div>
  );
}

interface BarsProps extends PartProps {
  name: string;
  text: (key: number) => string;
  children: (key: number) => ComponentChildren;
}

/** One bar with its number for each key. */
const Bars = ({ name, text, children, ...part }: BarsProps) => (
  <div style={room(part)}>
    {part.sheet.keys.slice(part.from, part.to).map((j) => (
      <div key={j} class={j === part.sheet.key ? "bl-score bl-pinned" : "bl-score"}>
        {children(j)}
        <span class="bl-number" {...{ [`data-${name}`]: j }}>
          {text(j)}
        </span>
      </div>
    ))}
  </div>
);

interface StripProps extends SheetProps {
  keys: number[]; // of the rows
  values: Float32Array;
  scale: number;
  label: string;
}

/** Rows of neurons in colours, that of the query alone or one for each key. */
function Strip({ sheet, keys, values, scale, label }: StripProps) {
  const view = useView();
  const d = sheet.neurons.length;
  const rows = keys.length;
  const colours = signedColours(view.dark);
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      const line = new Uint8ClampedArray(4 * d);
      for (let row = 0; row < rows; row++) {
        paintValues(values.subarray(row * d, (row + 1) * d), -scale, scale, colours, line);
        for (let y = 0; y < LINES_A_ROW - 2; y++) out.set(line, 4 * d * (row * LINES_A_ROW + y));
      }
    },
    [values, scale, colours],
  );
  const tip = (n?: number, j?: number) => n !== undefined && j !== undefined && <NeuronTip sheet={sheet} n={n} j={j} />;
  return (
    <div
      class="bl-strip"
      style={{ height: px(rows * ROW) }}
      onPointerMove={(event) => {
        const { left, width, top } = event.currentTarget.getBoundingClientRect();
        const n = sheet.neurons[Math.floor(((event.clientX - left) / width) * d)];
        event.currentTarget.dataset.neuron = String(n); // what a change would be made to
        showTip(view, event, tip(n, keys[rows === 1 ? 0 : Math.floor((event.clientY - top) / ROW)]));
      }}
      onPointerLeave={() => hideTip(view)}
    >
      <Pixels width={d} height={rows * LINES_A_ROW} paint={paint} label={label} />
    </div>
  );
}

function NeuronTip({ sheet, n, j }: SheetProps & { n: number; j: number }) {
  const { slice, overview } = useView().shown;
  const { tokens } = overview.keyside;
  const [q, k] = [sheet.q[n]!, slice.k![j * slice.d + n]!];
  return (
    <>
      neuron {n}, key <Token text={tokens[j]!} />
      <br />
      <span class="bl-number">
        q {signed(q, 3)} × k {signed(k, 3)} = {signed(q * k, 3)}
      </span>
      <br />
      <span class="bl-muted">
        {signed(sheet.parts[n]!, 3)} of the contrast {signed(sheet.carried.net)} to {tokenText(tokens[sheet.key]!)}
        {sheet.carried.set.includes(n) ? ", one of the marked" : ""}
      </span>
    </>
  );
}
