// Neuron view: how the pinned query's vector and every key's vector make the score, neuron by neuron.
import { useContext, useMemo, useState } from "preact/hooks";
import { reuse } from "../../compute/neurons";
import { FIRST_KEYS, type KeyOrder, type NeuronOrder, softmaxSteps, termContrasts } from "../../compute/neuronsheet";
import { isLong } from "../../compute/windows";
import { digitsOf } from "../../head/scale";
import { addedText, counted, headLabel, percent, scalingText, share, signed } from "../../paint/format";
import { signedColours } from "../../paint/palette";
import { binding, Check, choicesOf, Select } from "../../parts/controls";
import { Legend, signedEnds } from "../../parts/legend";
import { AsTables, PictureTable } from "../../parts/picturetable";
import { Term } from "../../parts/term";
import { Place, Token } from "../../parts/token";
import { useView } from "../../state/view";
import { Listed } from "./columns";
import { neuronTable, type SheetProps, sheetOf, unitsOf } from "./headneurons";
import { Steps } from "./weightsteps";

export function Neurons() {
  const view = useView();
  const { shownHead, grid, focus, page, overview } = view;
  const choices = [page.neuronOrder.value, page.keyOrder.value, page.allKeys.value];
  const sheet = useMemo(
    () => shownHead.slice.q && sheetOf(view),
    [shownHead.slice, grid, focus.query, focus.key, ...choices],
  );
  const colours = signedColours(view.dark);
  const asTable = useContext(AsTables);
  if (!sheet) return null; // between two traces
  return (
    <div class="bl-neurons" data-testid="neurons">
      <Formula sheet={sheet} />
      <Steps query={focus.query} target={focus.key} />
      <header class="bl-panel-head">
        <h3>
          How “<Place units={unitsOf(overview.queries.tokens)} n={focus.query} />” gets its attention
        </h3>
        <span class="bl-muted">
          {focus.pinnedQuery
            ? "the pinned word"
            : `the ${isLong(shownHead.slice.S, shownHead.slice.K) ? "first word of the text" : "clearest word of this head"}; click a cell to see another`}{" "}
          · {headLabel(shownHead.layer, shownHead.head)}
          {shownHead.layerMap && ", one head of the layer shown above"}
        </span>
        <span class="bl-spacer" />
        <Controls keys={sheet.keys.length + sheet.hidden} hidden={sheet.hidden} />
      </header>
      <Contrast sheet={sheet} />
      <Beside sheet={sheet} />
      {asTable ? (
        <PictureTable title="Neurons of the query and of the keys" table={() => neuronTable(sheet, overview)} />
      ) : (
        <Listed sheet={sheet} />
      )}
      <div class="bl-legends">
        <Legend {...signedEnds(sheet.vectorScale)} label="q and k" colours={colours} />
        <Legend {...signedEnds(sheet.productScale)} label="q × k" colours={colours} />
      </div>
    </div>
  );
}

/** How many neurons make the key stand out; whether they are few stands behind a question. */
function Contrast({ sheet }: SheetProps) {
  const { key, carriers, weights: setWeights, keyCount, alpha } = sheet;
  const { slice, overview } = useView().shownHead;
  const [isOpen, setOpen] = useState(false);
  const token = <Token text={overview.keyside.tokens[key]!} />;
  const text = (weight: number) => share(weight, digitsOf(slice));
  const contrast = <Net carriers={carriers} />;
  const byProduct = slice.terms.length > 0; // what the neurons make is not all of the score
  if (keyCount === 1)
    return <p data-testid="contrast">“{token}” is all that it can look at: there is nothing to compare.</p>;
  if (Number.isNaN(carriers.n80))
    return (
      <p data-testid="contrast">
        {byProduct ? "By q·k alone " : ""}“{token}” does not stand out here, so no neurons are marked.{" "}
        <span class="bl-muted">({contrast})</span>
      </p>
    );
  return (
    <div data-testid="contrast">
      <p>
        <b>
          {carriers.n80} of the {slice.d} neurons
        </b>{" "}
        {carriers.n80 === 1 ? "makes" : "make"} “{token}” stand out{byProduct && " by q·k"}. With{" "}
        {carriers.n80 === 1 ? "it" : "these"} alone{byProduct && " in q·k, and the rest of the score as it is,"} the
        weight would be <b>{text(setWeights!.alone)}</b> (it is {text(alpha[key]!)}); with the others alone{" "}
        {text(setWeights!.rest)}.
      </p>
      <details class="bl-muted" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Is {carriers.n80} few?</summary>
        {isOpen && <Few sheet={sheet} />}
      </details>
    </div>
  );
}

/** What q·k leaves out of the score, and how much of it that is. */
function Beside({ sheet: { query, key, keyCount } }: SheetProps) {
  const { slice, overview } = useView().shownHead;
  const terms = termContrasts(slice, query, key);
  if (terms.length === 0 || keyCount === 0) return null;
  const text = ({ name, value, others }: (typeof terms)[number]) =>
    `${name} ${signed(value)}${keyCount > 1 ? ` (${signed(others)} at the other keys on average)` : ""}`;
  return (
    <p data-testid="beside">
      Neurons make q·k, which leaves out what this model adds for where the two stand. At “
      <Token text={overview.keyside.tokens[key]!} />” that is: {terms.map(text).join("; ")}.
    </p>
  );
}

const Net = ({ carriers }: Pick<SheetProps["sheet"], "carriers">) => (
  <>
    <Term name="contrast" /> {signed(carriers.net)}
  </>
);

/** What is drawn at random or looked for in other queries, which takes longer than the rest of the view. */
function Few({ sheet }: SheetProps) {
  const { query, key, carriers, weights: setWeights, keyCount, rank } = sheet;
  const { slice, weights } = useView().shownHead;
  const used = useMemo(() => reuse(slice, query, key, weights), [query, key, weights]);
  const chance = sheet.chance();
  return (
    <>
      {chance
        ? `Vectors at random need ${chance.median} (${chance.low} to ${chance.high} in 90 %) for a key at place ${counted(rank)} of ${counted(keyCount)} by ${slice.terms.length > 0 ? "q·k" : "score"}.`
        : "Vectors at random hardly ever make such a key stand out."}{" "}
      With {carriers.n80} neurons picked at random the weight would be {share(setWeights!.lot, digitsOf(slice))}. They
      carry 80 % of what sets the key apart from the other keys (<Net carriers={carriers} />
      ).{" "}
      {used.others < slice.S - 1
        ? `The sets of ${used.others} queries spread over the text`
        : "The sets of the other queries"}{" "}
      share {percent(used.jaccard)} with this one on average (<Term name="jaccard" />; chance {percent(used.chance)}).
    </>
  );
}

function Controls({ keys, hidden }: { keys: number; hidden: number }) {
  const { neuronOrder, keyOrder, allKeys } = useView().page;
  return (
    <div class="bl-controls">
      <Select<NeuronOrder>
        label="neurons"
        choices={choicesOf({ contribution: "by contribution", index: "by index", query: "by |q|" })}
        {...binding(neuronOrder)}
      />
      <Select<KeyOrder>
        label="keys"
        choices={choicesOf({ position: "by position", attention: "by attention", score: "by score" })}
        {...binding(keyOrder)}
      />
      {keys > FIRST_KEYS + 1 && (
        <Check
          label={
            allKeys.value ? `all ${counted(keys)} keys` : `all keys (${counted(hidden)} with less attention are hidden)`
          }
          {...binding(allKeys)}
        />
      )}
    </div>
  );
}

/** From q·k to α with this cell's numbers. */
function Formula({ sheet }: SheetProps) {
  const { slice, overview } = useView().shownHead;
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
      {steps.added.length > 0 && (
        <>
          {addedText(steps.added)} = <b>{signed(steps.score)}</b>
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
