// Does the story hold? The selected head's value in this text among its values in all texts of the corpus.

import { largestSize } from "../../compute/largest";
import { headLabel, number, signed, upTo } from "../../paint/format";
import { inks } from "../../paint/palette";
import { Chart, MARGIN, scale } from "../../parts/chart";
import { Button } from "../../parts/controls";
import { Section } from "../../parts/section";
import { useView } from "../../state/view";
import { alikeOf, binOf, type Choice, fewOf, flagsOf, labelOf, mostly, rankOf, tooFew } from "./corpusheads";

const [WIDTH, HEIGHT] = [440, 150];

export function Story(props: Choice) {
  const { data, by } = props;
  const { layer, head } = useView().shownHead;
  const flags = flagsOf(data, by, [layer, head]);
  const gate = (
    <p class="bl-note">
      {headLabel(layer, head)} is {mostly(data, layer, head)}.
    </p>
  );
  if (fewOf(data, data.alike.texts))
    return (
      <Section title="Does the story hold?" about={headLabel(layer, head)}>
        <p data-testid="flags">{tooFew(data)}</p>
        {gate}
      </Section>
    );
  return (
    <Section
      title="Does the story hold?"
      about={`${headLabel(layer, head)}: this text (◆) of ${data.alike.tokens} tokens among the ${alikeOf(data)} in the corpus`}
    >
      <Distribution {...props} />
      <p data-testid="flags">
        <b>{flags}</b> (the four entropies count once).
      </p>
      <div class="bl-story">
        {data.names.map((statistic) => (
          <Line key={statistic} {...props} statistic={statistic} />
        ))}
      </div>
      <p class="bl-muted">
        │ mean of the {alikeOf(data)}, and the band in which {100 * (1 - data.alike.level)} % of such texts lie;
        “unusual” lies outside it.
      </p>
      {gate}
    </Section>
  );
}

/** How a head's values of one statistic are spread over the texts, with the text at hand. */
function Distribution({ data, name, by }: Choice) {
  const { layer, head } = useView().shownHead;
  const bins = Array.from(data.bins(name, by, layer, head));
  const edges = Array.from(data.edges(name));
  const value = data.inText(name, by, layer, head);
  const [hasValue, label] = [!Number.isNaN(value), labelOf(name)];
  if (bins.every((count) => count === 0)) return <p class="bl-empty">No text of this length has such tokens.</p>;
  return (
    <>
      <Bins
        {...{ bins, edges, label }}
        at={hasValue ? binOf(value, edges) : null}
        title={`${label} of ${headLabel(layer, head)} in the ${alikeOf(data)}`}
      />
      <p class="bl-muted" data-testid="rank">
        {hasValue
          ? `This text: ${signed(value, 3)}; ${rankOf(data, by, name, [layer, head])}.`
          : "This text has no such tokens."}
      </p>
    </>
  );
}

/** The bins with texts and the text's own, with some room; a tick at every few. */
function Bins(props: { bins: number[]; edges: number[]; at: number | null; label: string; title: string }) {
  const { bins, edges, at } = props;
  const { dark } = useView();
  const { muted, ink } = inks(dark);
  const filled = upTo(bins.length).filter((b) => bins[b]! > 0 || b === Math.floor(at ?? -1));
  const [from, to] = [Math.max(0, filled[0]! - 2), Math.min(bins.length, filled.at(-1)! + 3)];
  const x = scale(from, to, MARGIN.left + 4, WIDTH - MARGIN.right);
  x.ticks = upTo(to + 1).filter((b) => b >= from && (b - from) % Math.ceil((to - from) / 7) === 0);
  const y = scale(0, Math.max(...bins) * 1.12, HEIGHT - MARGIN.bottom, MARGIN.top, 3);
  const texts = filled.filter((b) => bins[b]! > 0);
  const range = (b: number) => `${edges[b]!.toPrecision(3)} to ${edges[b + 1]!.toPrecision(3)}`;
  const table = () => ({
    columns: [props.label, "texts", "this text"],
    rows: filled.map((b) => [range(b), bins[b]!, b === Math.floor(at ?? -1) ? "here" : ""]),
  });
  return (
    <Chart
      {...{ x, y, dark, width: WIDTH, height: HEIGHT }}
      xLabel={props.label}
      yLabel="texts"
      label={props.title}
      table={table}
      xTicks={(b) => Number(edges[b]!.toPrecision(2)).toString()}
    >
      {texts.map((b) => (
        <rect
          key={b}
          x={x(b) + 0.5}
          y={y(bins[b]!)}
          width={x(1) - x(0) - 1}
          height={y(0) - y(bins[b]!)}
          fill={muted}
          fill-opacity="0.7"
        >
          <title>{`${range(b)}: ${bins[b]} texts`}</title>
        </rect>
      ))}
      <line x1={x(from)} x2={x(to)} y1={y(0)} y2={y(0)} stroke={muted} />
      {at !== null && (
        <g fill={ink} stroke={ink}>
          <path d={`M${x(at)} ${MARGIN.top}V${y(0)}`} stroke-width="1.5" stroke-dasharray="4 3" />
          <path d={`M${x(at)} ${MARGIN.top - 8}l6 7l-6 7l-6 -7z`} stroke="none" />
        </g>
      )}
    </Chart>
  );
}

/** One statistic of the head: the texts of this length and the text on one line; a click chooses it. */
function Line({ data, by, name, put, statistic }: Choice & { statistic: string }) {
  const { layer, head } = useView().shownHead;
  const at = [statistic, by, layer, head] as const;
  const [middle, reach, value] = [data.alikes("mean", ...at), data.alikes("reach", ...at), data.inText(...at)];
  const means = data.all.map(([l, h]) => data.mean(statistic, by, "text", l, h));
  const top = 1.05 * largestSize([value, middle + reach, ...means]) || 1e-9;
  const place = (value: number) => `${100 * Math.max(0, Math.min(1, value / top))}%`;
  const shortage = !Number.isNaN(value) && fewOf(data, data.count(statistic, by));
  const unusual = data.counted.includes(statistic) ? "unusual" : "(unusual)";
  if (Number.isNaN(data.mean(statistic, by, "text", layer, head))) return null;
  return (
    <>
      <Button
        class={statistic === name ? "bl-link bl-selected" : "bl-link"}
        aria-pressed={statistic === name}
        onClick={() => put({ name: statistic })}
      >
        {labelOf(statistic)}
      </Button>
      <span class="bl-story-track">
        {!Number.isNaN(middle) && (
          <>
            <i style={{ left: place(middle - reach), right: `calc(100% - ${place(middle + reach)})` }} />
            <b style={{ left: place(middle) }} />
          </>
        )}
        {!Number.isNaN(value) && <em style={{ left: place(value) }}>◆</em>}
      </span>
      <span class="bl-number" title="this text, and the mean of the texts of its length">
        {number(value)} <span class="bl-muted">{number(middle)}</span> {shortage || (data.unusual(...at) && unusual)}
      </span>
    </>
  );
}
