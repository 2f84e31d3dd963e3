// Does the story hold? The selected head's value in this text among its values in all texts of the corpus.
import { inks } from "../../paint/palette";
import { Chart, MARGIN, scale } from "../../parts/chart";
import { headLabel, number, percent, signed, upTo } from "../../parts/format";
import { Section } from "../../parts/section";
import { useView } from "../context";
import { binOf, type Choice, labelOf, rank, sizeOf } from "./data";

const [WIDTH, HEIGHT] = [440, 150];

export function Story(props: Choice) {
  const { data } = props;
  const { layer, head } = useView().shown;
  const texts = data.texts.toLocaleString("en");
  return (
    <Section
      title="Does the story hold?"
      about={`${headLabel(layer, head)}: this text (◆) among the ${texts} texts of the corpus`}
    >
      <Distribution {...props} />
      <div class="bl-story">
        {data.names.map((statistic) => (
          <Line key={statistic} {...props} statistic={statistic} />
        ))}
      </div>
      <p class="bl-muted">│ mean and band of two standard deviations from text to text; “unusual” lies outside it.</p>
      <p class="bl-note">
        Mostly {data.gates[layer]![head]}: in {percent(data.shares[layer]![head]!)} of the texts.
      </p>
    </Section>
  );
}

/** How a head's values of one statistic are spread over the texts, with the text at hand. */
function Distribution({ data, name, by }: Choice) {
  const { layer, head } = useView().shown;
  const bins = Array.from(data.bins(name, by, layer, head));
  const edges = Array.from(data.edges(name));
  const value = data.inText(name, by, layer, head);
  const [known, label] = [!Number.isNaN(value), labelOf(name)];
  if (bins.every((count) => count === 0)) return <p class="bl-empty">No text of the corpus has such tokens.</p>;
  return (
    <>
      <Bins
        {...{ bins, edges, label }}
        at={known ? binOf(value, edges) : null}
        title={`${label} of ${headLabel(layer, head)} in the texts of the corpus`}
      />
      <p class="bl-muted" data-testid="rank">
        {known
          ? `This text: ${signed(value, 3)}; about ${percent(rank(value, bins, edges))} of the texts lie lower.`
          : "This text has no such tokens."}
      </p>
    </>
  );
}

/** The bins with texts and the text's own, with some room; a tick at every few. */
function Bins(props: { bins: number[]; edges: number[]; at: number | null; label: string; title: string }) {
  const { bins, edges, at } = props;
  const { dark } = useView();
  const { accent, muted, select } = inks(dark);
  const filled = upTo(bins.length).filter((b) => bins[b]! > 0 || b === Math.floor(at ?? -1));
  const [first, last] = [Math.max(0, filled[0]! - 2), Math.min(bins.length, filled.at(-1)! + 3)];
  const x = scale(first, last, MARGIN.left + 4, WIDTH - MARGIN.right);
  x.ticks = upTo(last + 1).filter((b) => b >= first && (b - first) % Math.ceil((last - first) / 7) === 0);
  const y = scale(0, Math.max(...bins) * 1.12, HEIGHT - MARGIN.bottom, MARGIN.top, 3);
  const texts = filled.filter((b) => bins[b]! > 0);
  const range = (b: number) => `${edges[b]!.toPrecision(3)} to ${edges[b + 1]!.toPrecision(3)}`;
  return (
    <Chart
      {...{ x, y, dark, width: WIDTH, height: HEIGHT }}
      xLabel={props.label}
      yLabel="texts"
      label={props.title}
      xTicks={(b) => Number(edges[b]!.toPrecision(2)).toString()}
    >
      {texts.map((b) => (
        <rect
          key={b}
          x={x(b) + 0.5}
          y={y(bins[b]!)}
          width={x(1) - x(0) - 1}
          height={y(0) - y(bins[b]!)}
          fill={accent}
          fill-opacity="0.7"
        >
          <title>{`${range(b)}: ${bins[b]} texts`}</title>
        </rect>
      ))}
      <line x1={x(first)} x2={x(last)} y1={y(0)} y2={y(0)} stroke={muted} />
      {at !== null && (
        <g fill={select} stroke={select}>
          <path d={`M${x(at)} ${MARGIN.top}V${y(0)}`} stroke-width="1.5" stroke-dasharray="4 3" />
          <path d={`M${x(at)} ${MARGIN.top - 8}l6 7l-6 7l-6 -7z`} stroke="none" />
        </g>
      )}
    </Chart>
  );
}

/** One statistic of the head: corpus and text on one line; a click chooses it. */
function Line({ data, by, name, put, statistic }: Choice & { statistic: string }) {
  const { layer, head } = useView().shown;
  const middle = data.mean(statistic, by, "text", layer, head);
  const spread = data.spread(statistic, by, layer, head);
  const value = data.inText(statistic, by, layer, head);
  const top = 1.05 * sizeOf([value, ...data.all.map(([l, h]) => data.mean(statistic, by, "text", l, h))]);
  const at = (value: number) => `${100 * Math.max(0, Math.min(1, value / top))}%`;
  if (Number.isNaN(middle)) return null;
  return (
    <>
      <button
        type="button"
        class={statistic === name ? "bl-link bl-selected" : "bl-link"}
        aria-pressed={statistic === name}
        onClick={() => put({ name: statistic })}
      >
        {labelOf(statistic)}
      </button>
      <span class="bl-story-track">
        <i style={{ left: at(middle - 2 * spread), right: `calc(100% - ${at(middle + 2 * spread)})` }} />
        <b style={{ left: at(middle) }} />
        {!Number.isNaN(value) && <em style={{ left: at(value) }}>◆</em>}
      </span>
      <span class="bl-number" title="this text, and the corpus">
        {number(value)} <span class="bl-muted">{signed(middle)}</span>{" "}
        {Math.abs(value - middle) > 2 * spread + 1e-6 && "unusual"}
      </span>
    </>
  );
}
