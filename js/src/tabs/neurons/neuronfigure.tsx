// The neuron view on paper: how a query's vector and the keys' vectors make scores and attention, neuron by neuron.

import { type NeuronSheet, softmaxSteps } from "../../compute/neuronsheet";
import { digitsOf } from "../../head/scale";
import { indexed } from "../../paint/colormap";
import { addedText, counted, scalingText, share, signed } from "../../paint/format";
import { inks, signedColours } from "../../paint/palette";
import { isolate, quotation } from "../../paint/quotes";
import { widest } from "../../paint/textwidth";
import { Drawing } from "../../parts/chart";
import { Cells } from "../../parts/heatchart";
import { Legend, signedEnds } from "../../parts/legend";
import { tokenText } from "../../parts/token";
import { useView } from "../../state/view";
import { scoreHead, sheetOf } from "./headneurons";

const [STEP, TOP, GAP] = [18, 46, 28]; // px of a key, above the keys, between the columns

/** This cell's numbers from q·k to α. */
function useFormula(sheet: NeuronSheet): string {
  const { slice } = useView().shownHead;
  const steps = softmaxSteps(slice, sheet);
  const added = steps.added.length > 0 ? `${addedText(steps.added)} = ${signed(steps.score)}` : "";
  const scaled = `${scalingText(slice.scaling)} = ${signed(steps.scaled)}${added}`;
  if (steps.masked) return "masked";
  const alpha = share(steps.alpha, digitsOf(slice));
  return `q·k = ${signed(steps.dot)}, ${scaled}, softmax over ${counted(steps.seen)} keys: ${alpha}`;
}

export function NeuronFigure() {
  const view = useView();
  const { slice, overview } = view.shownHead;
  const sheet = sheetOf(view);
  const query = tokenText(overview.queries.tokens[sheet.query]!);
  const key = (j: number) => tokenText(overview.keyside.tokens[j]!);
  const formula = `${isolate(query)} → ${isolate(key(sheet.key))}: ${useFormula(sheet)}`;
  const { dark } = view;
  const { ink, muted, "select-text": select } = inks(dark);
  const cell = Math.max(3, Math.min(9, Math.floor(300 / slice.d))); // px of a neuron
  const k = Math.ceil(widest([query, ...sheet.keys.map(key)], 11)) + 10; // where the columns begin
  const product = k + slice.d * cell + GAP;
  const score = product + slice.d * cell + GAP;
  const height = TOP + STEP * sheet.keys.length + 24;
  const heads = { key: 0, k, "q × k": product, [scoreHead(slice)]: score, α: score + 140 };
  return (
    <>
      <Drawing
        width={Math.max(score + 290, widest([formula], 11))}
        height={height}
        label={`Neurons of ${quotation(query)}`}
        table={null}
      >
        <g font-size="11" fill={ink}>
          {Object.entries(heads).map(([text, x]) => (
            <text key={text} x={x} y="8" fill={muted} font-weight="600">
              {text}
            </text>
          ))}
          <text x="0" y="32" fill={select} font-weight="600">
            {query}
          </text>
          <Strips sheet={sheet} cell={cell} k={k} product={product} />
          {sheet.keys.map((j, n) => (
            <g key={j} transform={`translate(0 ${TOP + n * STEP})`}>
              <text x="0" y="13" font-weight={j === sheet.key ? 600 : 400}>
                {key(j)}
              </text>
              <Bars sheet={sheet} j={j} x={score} />
            </g>
          ))}
          <text x="0" y={height - 6}>
            {formula}
          </text>
        </g>
      </Drawing>
      <Legend {...signedEnds(sheet.vectorScale)} label="q, k" colours={signedColours(dark)} />
      <Legend {...signedEnds(sheet.productScale)} label="q × k" colours={signedColours(dark)} />
    </>
  );
}

/** q above k, and q × k, a row for each key with some room between them; the neurons that carry the contrast marked. */
function Strips({ sheet, cell, k, product }: { sheet: NeuronSheet; cell: number; k: number; product: number }) {
  const { qShown, kShown, productsShown, vectorScale, productScale, marked, carriers } = sheet;
  const chance = sheet.chance();
  const d = marked.length;
  const { dark } = useView();
  const strip = (values: Float32Array, scale: number, x: number, n: number) => (
    <Cells
      {...indexed(values.subarray(n * d, (n + 1) * d), -scale, scale, signedColours(dark))}
      {...{ rows: 1, cols: d, width: d * cell, height: 14, x, y: values === qShown ? 22 : TOP + n * STEP + 2 }}
    />
  );
  return (
    <>
      {strip(qShown, vectorScale, k, 0)}
      {sheet.keys.map((j, n) => (
        <g key={j}>
          {strip(kShown, vectorScale, k, n)}
          {strip(productsShown, productScale, product, n)}
        </g>
      ))}
      {carriers.set.length > 0 && (
        <text x={product} y="30">
          {carriers.n80} neurons = 80 % of the contrast{chance && `, random q and k take ${chance.median}`}
        </text>
      )}
      {marked.map(
        (is, n) => is && <rect key={n} x={product + n * cell} y="36" width={cell} height="3" fill={inks(dark).ink} />,
      )}
    </>
  );
}

/** A key's score to both sides of a line, its weight from 0 to 1. */
function Bars({ sheet, j, x }: { sheet: NeuronSheet; j: number; x: number }) {
  const { dark, shownHead } = useView();
  const { ink, positive, negative } = inks(dark);
  const [score, alpha] = [sheet.scores[j]!, sheet.alpha[j]!];
  const length = Number.isFinite(score) ? (40 * Math.abs(score)) / sheet.scoreScale : 0;
  const offset = score < 0 ? length : 0;
  return (
    <>
      <rect x={x + 40 - offset} y="5" width={length} height="8" fill={score < 0 ? negative : positive} />
      <text x={x + 122} y="13" text-anchor="end">
        {signed(score)}
      </text>
      <rect x={x + 140} y="5" width={100 * (alpha || 0)} height="8" fill={ink} />
      <text x={x + 286} y="13" text-anchor="end">
        {share(alpha, digitsOf(shownHead.slice))}
      </text>
    </>
  );
}
