// Does the story hold? The selected head's value in this text among its values in all texts of the corpus.
import { Chart, inks, MARGIN, scale } from "../../parts/chart";
import { signed } from "../../parts/format";
import { number } from "../../parts/numbers";
import { headLabel } from "../../state/store";
import { useView } from "../context";
import { type Choice, labelOf, place, rank } from "./data";
import { allHeads } from "./grid";

export function Story(props: Choice) {
  const { data, by, name, put } = props;
  const { layer, head } = useView().store.shown.value;
  const gate = data.gates[layer]![head]!;
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Does the story hold?</h3>
        <span class="bl-muted">
          {headLabel(layer, head)}: this text (◆) among the {data.texts.toLocaleString("en")} texts of the corpus
        </span>
      </header>
      <Distribution {...props} />
      <div class="bl-story">
        {data.names.map((statistic) => {
          const values = {
            middle: data.mean(statistic, by, "text", layer, head),
            spread: data.spread(statistic, by, layer, head),
            here: data.here(statistic, by, layer, head),
          };
          if (Number.isNaN(values.middle)) return null;
          const top = 1.05 * Math.max(...allHeads(data).map(([l, h]) => data.mean(statistic, by, "text", l, h) || 0));
          return (
            <Line
              key={statistic}
              {...values}
              top={Math.max(top, 1.05 * (values.here || 0))}
              label={labelOf(statistic)}
              chosen={statistic === name}
              choose={() => put({ name: statistic })}
            />
          );
        })}
      </div>
      <p class="bl-muted">│ mean and band of two standard deviations from text to text; “unusual” lies outside it.</p>
      <p class="bl-note">
        Mostly {gate}: in {Math.round(100 * data.shares[layer]![head]!)} % of the texts.
      </p>
    </section>
  );
}

/** How a head's values of one statistic are spread over the texts, with the text at hand. */
function Distribution({ data, name, by }: Choice) {
  const view = useView();
  const { layer, head } = view.store.shown.value;
  const dark = view.dark.value;
  const { accent, select, muted } = inks(dark);
  const bins = data.bins(name, by, layer, head);
  const edges = data.edges(name);
  const here = data.here(name, by, layer, head);
  const known = !Number.isNaN(here);
  const filled = Array.from(bins.keys()).filter((b) => bins[b]! > 0);
  if (filled.length === 0) return <p class="bl-empty">No text of the corpus has such tokens.</p>;
  const at = known ? place(here, edges) : filled[0]!;
  const first = Math.max(0, Math.min(filled[0]!, Math.floor(at)) - 2);
  const last = Math.min(bins.length, Math.max(filled.at(-1)!, Math.floor(at)) + 3);
  const [width, height] = [440, 150];
  const most = Math.max(...bins);
  const x = scale(first, last, MARGIN.left + 4, width - MARGIN.right);
  x.ticks = Array.from({ length: last - first + 1 }, (_, n) => first + n).filter(
    (b) => (b - first) % Math.ceil((last - first) / 7) === 0,
  );
  const y = scale(0, most * 1.12, height - MARGIN.bottom, MARGIN.top, 3);
  const bar = x(1) - x(0);
  return (
    <>
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel={labelOf(name)}
        yLabel="texts"
        label={`${labelOf(name)} of ${headLabel(layer, head)} in the texts of the corpus`}
        dark={dark}
        xTicks={(b) => Number(edges[b]!.toPrecision(2)).toString()}
      >
        {filled.map((b) => (
          <rect
            key={b}
            x={x(b) + 0.5}
            y={y(bins[b]!)}
            width={bar - 1}
            height={y(0) - y(bins[b]!)}
            fill={accent}
            fill-opacity="0.7"
          >
            <title>{`${edges[b]!.toPrecision(3)} to ${edges[b + 1]!.toPrecision(3)}: ${bins[b]} texts`}</title>
          </rect>
        ))}
        <line x1={x(first)} x2={x(last)} y1={y(0)} y2={y(0)} stroke={muted} />
        {known && (
          <g fill={select} stroke={select}>
            <line x1={x(at)} x2={x(at)} y1={MARGIN.top} y2={y(0)} stroke-width="1.5" stroke-dasharray="4 3" />
            <path d={`M${x(at)} ${MARGIN.top - 8}l6 7l-6 7l-6 -7z`} stroke="none" />
          </g>
        )}
      </Chart>
      <p class="bl-muted" data-testid="rank">
        {known
          ? `This text: ${signed(here, 3)}; about ${Math.round(100 * rank(here, bins, edges))} % of the texts lie lower.`
          : "This text has no such tokens."}
      </p>
    </>
  );
}

function Line(props: {
  label: string;
  middle: number;
  spread: number;
  here: number;
  top: number;
  chosen: boolean;
  choose: () => void;
}) {
  const { label, middle, spread, here, top, chosen } = props;
  const at = (value: number) => `${100 * Math.max(0, Math.min(1, value / (top || 1)))}%`;
  const unusual = Math.abs(here - middle) > 2 * spread + 1e-6;
  return (
    <>
      <button
        type="button"
        class={chosen ? "bl-link bl-selected" : "bl-link"}
        aria-pressed={chosen}
        onClick={props.choose}
      >
        {label}
      </button>
      <span class="bl-story-track">
        <i style={{ left: at(middle - 2 * spread), right: `calc(100% - ${at(middle + 2 * spread)})` }} />
        <b style={{ left: at(middle) }} />
        {!Number.isNaN(here) && <em style={{ left: at(here) }}>◆</em>}
      </span>
      <span class="bl-number" title="this text, and the corpus">
        {number(here)} <span class="bl-muted">{signed(middle)}</span> {unusual ? "unusual" : ""}
      </span>
    </>
  );
}
