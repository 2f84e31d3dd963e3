// Norm view: weight against norm. What a head looks at, and how much of that it passes on, per kind of token.
import { useMemo } from "preact/hooks";
import { CATEGORIES, TERMS } from "../../generated/vocabulary";
import { useLargest } from "../../head/swept";
import { type AnswerTo, arrived, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { indexed } from "../../paint/colormap";
import { counted, headLabel, meanOf, percent, share, upTo } from "../../paint/format";
import { inks, seriesColour, weightColours } from "../../paint/palette";
import { Chart, Key, MARGIN, markerPath, type Scale, scale } from "../../parts/chart";
import { into, Select } from "../../parts/controls";
import { curvePath } from "../../parts/curve";
import { HeatChart } from "../../parts/heatchart";
import { Legend } from "../../parts/legend";
import type { Numbers } from "../../parts/picturetable";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { Token, tokenWord } from "../../parts/token";
import { showTip, tipped } from "../../parts/tooltip";
import type { Cell } from "../../state/page";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";

const MOST_POINTS = 2000;

type NormView = AnswerTo<"norm_view">;

const NORM_VIEW: Kind<NormView, "norm_view"> = { op: "norm_view", needs: "norms", read: fieldsAndArrays };

export function Norms() {
  const { overview, shownHead, dark } = useView();
  const answer = useAnswer(NORM_VIEW, {});
  if (answer.state !== "answered") return <Waiting answer={answer} doing="computing the norms" />;
  const data = answer.value;
  const { queries } = overview;
  /** "separator" says less than "separator [SEP]": name the template's tokens. */
  const names = data.categories.map((name, c) => {
    const at = data.category.indexOf(c);
    const label = CATEGORIES[name]?.label ?? name;
    return at >= 0 && queries.special[at] ? `${label} ${tokenWord(queries.tokens[at]!)}` : label;
  });
  const label = headLabel(shownHead.layer, shownHead.head);
  return (
    <div class="bl-norms" data-testid="norms">
      <Section title="Weight against norm" about={`${label}, one point per query and key; click a point to pin it`}>
        <Scatter data={data} />
        <Key names={names} colours={names.map((_, c) => seriesColour(c, dark))} />
        <Cancelling data={data} names={names} />
      </Section>
      <Section
        title="Share by kind of token"
        about="per layer: left bar attention α, right bar norm ‖αf(x)‖, mean over heads and queries"
      >
        <Shares data={data} />
        <Mixing data={data} />
      </Section>
    </div>
  );
}

interface DataProps {
  data: NormView;
}

/** Spearman's ρ of weight and norm per kind of token: pooled, and within heads. They answer different questions. */
function Cancelling({ data: { within, pooled, per }, names }: DataProps & { names: string[] }) {
  const { layer, head, overview } = useView().shownHead;
  const C = names.length;
  return (
    <div class="bl-note">
      <Table<number>
        title={`${TERMS.spearman!.label} of α and ‖f(x)‖`}
        about={`one point per ${per === "cell" ? "query and key" : "key"}. Negative: where heads look most, they take least. Pooled over heads and within heads can differ: heads differ in scale.`}
        columns={[
          { name: "kind", value: (c) => names[c]! },
          numbers("pooled", (c) => pooled[c]),
          numbers("within heads, mean", (c) => meanOf(Array.from(within).filter((_, n) => n % C === c))),
          numbers(headLabel(layer, head), (c) => within[(layer * overview.n_heads + head) * C + c]),
        ]}
        rows={upTo(C)}
      />
    </div>
  );
}

/** A point for each query and key of the head. */
function Scatter({ data: { norms: all, category, categories } }: DataProps) {
  const view = useView();
  const { layer, head, weights, overview } = view.shownHead;
  const K = overview.keyside.tokens.length;
  const at = layer * overview.n_heads + head;
  const norms = all.subarray(at * K, (at + 1) * K);
  const peak = Math.max(...norms);
  const x = scale(0, peak * 1.05, MARGIN.left, 480 - MARGIN.right);
  const y = scale(0, 1, 300 - MARGIN.bottom, MARGIN.top);
  const cells = useLargest(weights, MOST_POINTS) ?? [];
  const alpha = (cell: number) => weights.at(Math.floor(cell / K), cell % K);
  const table = () => ({
    columns: ["query", "key", "α", "‖f(x)‖ of the key", "‖αf(x)‖", "kind of key"],
    rows: cells.map((cell) => {
      const [i, j] = [Math.floor(cell / K), cell % K];
      const [query, key] = [overview.queries.tokens[i]!, overview.keyside.tokens[j]!];
      const kind = categories[category[j]!]!;
      return [`${query} (${i})`, `${key} (${j})`, alpha(cell), norms[j]!, alpha(cell) * norms[j]!, kind];
    }),
    about: "the largest weights first",
  });
  const marker = (cell: number, r: number) => markerPath(category[cell % K]!, x(norms[cell % K]!), y(alpha(cell)), r);
  return (
    <>
      <Chart
        {...{ x, y, width: 480, height: 300, dark: view.dark }}
        xLabel="‖f(x)‖ of the key"
        yLabel="α"
        label={`α against the norm of f(x), ${headLabel(layer, head)}`}
        table={table}
      >
        <EqualNorms x={x} y={y} peak={peak} stroke={inks(view.dark).muted} />
        {cells.map((cell) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the same cells are reachable by keyboard in the matrix
          <path
            key={cell}
            d={marker(cell, 3)}
            fill={seriesColour(category[cell % K]!, view.dark)}
            fill-opacity="0.65"
            onClick={() => view.synced.put({ query: Math.floor(cell / K), key: cell % K })}
            {...tipped(view, () => <PointTip cell={cell} norm={norms[cell % K]!} />)}
          />
        ))}
        <path
          d={marker(view.focus.query * K + view.focus.key, 5)}
          fill="none"
          stroke={inks(view.dark).select}
          stroke-width="2.5"
        />
      </Chart>
      <p class="bl-muted">
        Dashed: equal ‖αf(x)‖.
        {cells.length < weights.rows * K &&
          ` The ${counted(cells.length)} largest of ${counted(weights.rows * K)} weights.`}
      </p>
    </>
  );
}

/** Curves of equal ‖αf(x)‖. */
const EqualNorms = ({ x, y, peak, stroke }: { x: Scale; y: Scale; peak: number; stroke: string }) => (
  <g fill="none" stroke={stroke} stroke-dasharray="3 4" opacity="0.6">
    {[0.1, 0.25, 0.5, 1].map((part) => {
      const norms = upTo(40).map((n) => peak * (part + ((1.05 - part) * n) / 39));
      return <path key={part} d={curvePath(norms.map((norm) => [x(norm), y((part * peak) / norm)]))} />;
    })}
  </g>
);

function PointTip({ cell, norm }: { cell: number; norm: number }) {
  const { weights, overview } = useView().shownHead;
  const { queries, keyside } = overview;
  const K = keyside.tokens.length;
  const alpha = weights.at(Math.floor(cell / K), cell % K);
  return (
    <>
      <Token text={queries.tokens[Math.floor(cell / K)]!} /> → <Token text={keyside.tokens[cell % K]!} />
      <br />α {share(alpha)} × ‖f(x)‖ {share(norm)} = <b>{share(alpha * norm)}</b>
    </>
  );
}

/** Shares of attention and of norm by kind of token, two bars a layer. */
function Shares({ data: { categories, shares } }: DataProps) {
  const { shownHead, dark } = useView();
  const C = categories.length;
  const L = shares.length / (2 * C);
  const width = Math.max(320, 50 * L + 60);
  const y = scale(0, 1, 220 - MARGIN.bottom, MARGIN.top);
  const x = scale(0, L, MARGIN.left, width - MARGIN.right, 0);
  const bar = Math.min(18, (x(1) - x(0)) * 0.36);
  const table = () => ({
    columns: [
      "layer",
      ...["α", "‖αf(x)‖"].flatMap((by) => categories.map((name) => `${CATEGORIES[name]?.label ?? name}, ${by}`)),
    ],
    rows: upTo(L).map((l) => [`L${l}`, ...shares.subarray(2 * l * C, 2 * (l + 1) * C)]),
  });
  const bars = (l: number, which: number) => {
    const bands = shares.subarray((l * 2 + which) * C, (l * 2 + which + 1) * C);
    const below = (c: number) => bands.subarray(0, c).reduce((a, b) => a + b, 0);
    return categories.map((name, c) => (
      <rect
        key={name}
        x={x(l + 0.5) + (which ? 1 : -bar - 1)}
        y={y(below(c + 1))}
        width={bar}
        height={Math.max(0, y(below(c)) - y(below(c + 1)))}
        fill={seriesColour(c, dark)}
        fill-opacity={which ? 1 : 0.6}
      >
        <title>{`L${l}, ${which ? "norm" : "attention"}, ${CATEGORIES[name]?.label ?? name}: ${percent(bands[c]!)}`}</title>
      </rect>
    ));
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <div class="bl-scroll" role="region" aria-label="Shares by kind of token" tabIndex={0}>
      <Chart
        {...{ width, height: 220, x, y, dark }}
        wide
        xLabel=""
        yLabel="share"
        label="Shares by kind of token"
        table={table}
      >
        {upTo(L).map((l) => (
          <g key={l}>
            {bars(l, 0)}
            {bars(l, 1)}
            <text
              x={x(l + 0.5)}
              y={220 - MARGIN.bottom + 15}
              font-size="11"
              text-anchor="middle"
              fill={l === shownHead.layer ? inks(dark)["select-text"] : inks(dark).muted}
              font-weight={l === shownHead.layer ? 700 : 400}
            >
              L{l}
            </text>
          </g>
        ))}
      </Chart>
    </div>
  );
}

/** Mixing ratio of every layer and token as a heat map. */
function Mixing({ data: { methods, mixing } }: DataProps) {
  const view = useView();
  const { page, overview, dark, synced } = view;
  const { tokens } = overview.queries;
  const [S, L] = [tokens.length, overview.n_layers];
  const m = Math.max(0, methods.indexOf(page.mixing.value));
  const colours = weightColours(dark);
  const values = useMemo(() => mixing.subarray(m * L * S, (m + 1) * L * S), [mixing, m]);
  const cells = useMemo(() => indexed(values, 0, 1, colours), [values, colours]);
  const mean = (l: number) => values.subarray(l * S, (l + 1) * S).reduce((a, b) => a + b, 0) / S;
  const tip = ({ row, col }: Cell) => (
    <>
      L{row}, <Token text={tokens[col]!} /> <b class="bl-number">{share(values[row * S + col]!)}</b>
    </>
  );
  return (
    <>
      <header class="bl-panel-head">
        <h3>Mixing ratio</h3>
        <span class="bl-muted">{TERMS.mixing!.about}</span>
        <Select
          label="by"
          value={methods[m]!}
          choices={methods.map((value) => ({ value, label: value }))}
          onChange={into(page.mixing)}
        />
      </header>
      <HeatChart
        label={`Mixing ratio ${methods[m]}, ${L} layers by ${S} tokens`}
        rows={upTo(L).map((l) => `L${l} ${percent(mean(l))}`)}
        cols={tokens}
        {...cells}
        values={values}
        width={Math.max(360, Math.min(18 * S, 440))}
        height={18 * L}
        dark={dark}
        onHover={(cell, event) => showTip(view, event, cell && tip(cell))}
        onPick={({ row, col }) => synced.put({ layer: row, query: col })}
      />
      <Legend low="0" high="1" label="layers down, tokens across; the mean beside the layer" colours={colours} />
    </>
  );
}

/** Mixing ratios of every layer and token, by every method. */
export async function mixingNumbers({ answers, overview }: View): Promise<Numbers> {
  const { methods, mixing } = await arrived(() => answers.get(NORM_VIEW, overview, {}));
  const { tokens } = overview.queries;
  const ratio = (m: number, l: number, n: number) => mixing[(m * overview.n_layers + l) * tokens.length + n]!;
  return {
    columns: ["layer", "token_index", "token", ...methods.map((name) => `mixing ratio ${name}`)],
    rows: upTo(overview.n_layers).flatMap((l) =>
      tokens.map((token, n) => [l, n, token, ...methods.map((_, m) => ratio(m, l, n))]),
    ),
  };
}
