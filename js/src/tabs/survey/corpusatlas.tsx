// The atlas of a corpus: every head as a cell in the colour of a statistic, of the text's, or of their difference.

import { gateSign } from "../../atlas/gatemarks";
import { largestSize } from "../../compute/largest";
import { cssColor } from "../../paint/colormap";
import { headLabel, number, signed, upTo } from "../../paint/format";
import { coloursOf } from "../../paint/palette";
import { Button, Segmented } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { Legend } from "../../parts/legend";
import { Section } from "../../parts/section";
import { tipped } from "../../parts/tooltip";
import type { OfHead } from "../../state/headvalue";
import { useView } from "../../state/view";
import { alikeOf, allOf, type Choice, fewOf, labelOf, mostly, type Survey } from "./corpusheads";

type Colour = Choice["colour"];
const NAMES: Record<Colour, string> = { corpus: "Corpus", text: "This text", difference: "Difference" };

/** What the colours are of; texts are compared with texts of their length. */
const titleOf = (data: Survey, colour: Colour) =>
  ({
    corpus: `mean over the ${allOf(data)}`,
    text: `in this text of ${data.alike.tokens} tokens`,
    difference: fewOf(data, data.alike.texts) || `this text less the mean of the ${alikeOf(data)}`,
  })[colour];

/** The number of each head, and the ends of its colours: one scale for corpus and text, so that a look compares. */
function scaleOf({ data, name, by, average, colour }: Choice): { value: OfHead; low: number; high: number } {
  const mean: OfHead = (l, h) => data.mean(name, by, average, l, h);
  const inText: OfHead = (l, h) => data.inText(name, by, l, h);
  const difference: OfHead = (l, h) => inText(l, h) - data.alikes("mean", name, by, l, h);
  const peakOf = (value: OfHead) => largestSize(data.all.map(([l, h]) => value(l, h))) || 1e-9;
  if (colour === "difference") return { value: difference, low: -peakOf(difference), high: peakOf(difference) };
  return { value: colour === "text" ? inText : mean, low: 0, high: Math.max(peakOf(mean), peakOf(inText)) };
}

export function HeadGrid(props: Choice) {
  const { data, name, colour, put } = props;
  const { value, low, high } = scaleOf(props);
  const colours = coloursOf(colour === "difference", useView().dark);
  const paint: (l: number, h: number) => string = (l, h) => cssColor(value(l, h), low, high, colours);
  const kinds = Object.keys(NAMES) as Colour[];
  return (
    <Section title="All heads" about={`${labelOf(name)}, ${titleOf(data, colour)}; click a head`}>
      <Segmented
        label="colour"
        value={colour}
        choices={kinds.map((kind) => ({ value: kind, label: NAMES[kind] }))}
        onChange={(kind) => put({ colour: kind })}
      />
      <Heads {...props} value={value} paint={paint} />
      <Legend low={signed(low)} high={signed(high)} label="layers down, heads across" colours={colours} />
    </Section>
  );
}

function Heads(props: Choice & { value: OfHead; paint: (layer: number, head: number) => string }) {
  const { data, value, paint, pick } = props;
  const view = useView();
  const { layer, head } = view.synced;
  const position = () => ({ row: layer.value, col: head.value });
  const move = onGridKey({ rows: data.n_layers, cols: data.n_heads }, position, ({ row, col }) => {
    pick(row, col);
    view.root.current?.querySelector<HTMLElement>(`[data-survey-head="${row}-${col}"]`)?.focus();
  });
  const isChosen = (l: number, h: number) => l === layer.value && h === head.value;
  const cell = (l: number, h: number) => (
    <Button
      key={h}
      data-survey-head={`${l}-${h}`}
      class={isChosen(l, h) ? "bl-chosen" : ""}
      aria-pressed={isChosen(l, h)}
      tabIndex={isChosen(l, h) ? 0 : -1}
      style={{ background: paint(l, h) }}
      aria-label={`${headLabel(l, h)}: ${number(value(l, h), 3)}`}
      onClick={() => pick(l, h)}
      {...tipped(view, () => <HeadTip {...props} l={l} h={h} />, true)}
    />
  );
  const axis = (name: string | number) => (
    <span class="bl-axis" aria-hidden="true">
      {name}
    </span>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys arrive from the buttons inside
    <div class="bl-survey-grid" style={{ "--columns": data.n_heads }} onKeyDown={move}>
      <span />
      {upTo(data.n_heads).map(axis)}
      {upTo(data.n_layers).map((l) => (
        <>
          {axis(`L${l}`)}
          {upTo(data.n_heads).map((h) => cell(l, h))}
        </>
      ))}
    </div>
  );
}

const HeadTip = ({ data, name, by, average, l, h }: Choice & { l: number; h: number }) => (
  <>
    <b>{headLabel(l, h)}</b> {labelOf(name)}
    <br />
    corpus {number(data.mean(name, by, average, l, h), 3)}, texts of this length{" "}
    {number(data.alikes("mean", name, by, l, h), 3)} ± {number(data.alikes("sd", name, by, l, h), 3)}, this text{" "}
    {number(data.inText(name, by, l, h), 3)}
    <br />
    {gateSign(data.gates[l]![h]!)} {mostly(data, l, h)}
  </>
);
