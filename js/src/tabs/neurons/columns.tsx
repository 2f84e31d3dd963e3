// The columns of the neuron view: tokens, k, q × k, score and α, a row for each key.
import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { blockOf, gapsBefore, rowsInView } from "../../compute/neuronsheet";
import { TERMS } from "../../generated/vocabulary";
import { digitsOf } from "../../head/scale";
import { paint as paintValues } from "../../paint/colormap";
import { counted, px, share, signed } from "../../paint/format";
import { signedColours } from "../../paint/palette";
import { Button } from "../../parts/controls";
import { Pixels } from "../../parts/pixels";
import { Place, Token, tokenWord } from "../../parts/token";
import { hideTip, showTip } from "../../parts/tooltip";
import { useView } from "../../state/view";
import { type SheetProps, scoreHead, unitsOf } from "./headneurons";

const ROW = 20; // px, also in the style sheet
const LINES_A_ROW = 11; // pixel lines of a strip's canvas for one key, the last two left blank

const HEADS: [name: string, what: string, about?: string][] = [
  ["key token", ""],
  ["k", "key vector"],
  ["q × k", "elementwise"],
  ["", "score", TERMS.score!.about],
  ["α", "softmax", TERMS.alpha!.about],
];

/** The keys, of many only those around what is scrolled to. */
export function Listed({ sheet }: SheetProps) {
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
  const { slice, overview } = useView().shownHead;
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
          {name || scoreHead(slice)} {what && <small>{what}</small>}
        </span>
      ))}
      <span class="bl-neuron-token bl-selected">
        q of “<Token text={query} />”
      </span>
      <div class="bl-query-strip">
        <Strip
          sheet={sheet}
          keys={[sheet.key]}
          values={sheet.qShown}
          scale={sheet.vectorScale}
          label={`Query vector of ${tokenWord(query)}, ${slice.d} neurons`}
        />
      </div>
      <Bracket sheet={sheet} />
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
function Bracket({ sheet: { neurons, marked, carriers } }: SheetProps) {
  const together = useView().page.neuronOrder.value === "contribution";
  const percentOf = (n: number) => `${(100 * n) / neurons.length}%`;
  return (
    <div class="bl-bracket" aria-hidden="true">
      {carriers.set.length > 0 && together && <span style={{ width: percentOf(carriers.n80) }} />}
      {!together && marked.map((is, n) => is && <i key={neurons[n]} style={{ left: percentOf(n + 0.5) }} />)}
      {carriers.set.length > 0 && <em>{carriers.n80} neurons = 80 %</em>}
    </div>
  );
}

function KeyTokens(part: PartProps) {
  const { synced, overview, page, grid } = useView();
  const { keys, key, query } = part.sheet;
  const units = unitsOf(overview.keyside.tokens);
  const isInOrder = page.keyOrder.value === "position";
  /** How many keys are left out above a row, while the keys are in the order of the text. */
  const gaps = useMemo(() => {
    const pieces = grid.cols.flatMap((unit) => unit.pieces); // by the filters
    return isInOrder
      ? gapsBefore(
          keys,
          pieces.sort((a, b) => a - b),
        )
      : [];
  }, [keys, grid, isInOrder]);
  const gap = (n: number) => gaps[part.from + n] ?? 0;
  return (
    <div class="bl-neuron-tokens" style={room(part)}>
      {keys.slice(part.from, part.to).map((j, n) => (
        <Button
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
        </Button>
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
  const { slice, overview } = useView().shownHead;
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
        {signed(sheet.terms[n]!, 3)} of the contrast {signed(sheet.carriers.net)} to {tokenWord(tokens[sheet.key]!)}
        {sheet.carriers.set.includes(n) ? ", one of the marked" : ""}
      </span>
    </>
  );
}
