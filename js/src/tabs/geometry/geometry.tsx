// Geometry view: the cone of the stream from layer to layer, the lengths of a head's vectors, ranks and symmetry.

import type { Histograms } from "../../generated/answers";
import { TERMS } from "../../generated/vocabulary";
import { arrived, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { headLabel, number, share, upTo } from "../../paint/format";
import { inks, vectorColour } from "../../paint/palette";
import { Chart, Drawing, MARGIN, Marks, markerPath, type Scale, scale } from "../../parts/chart";
import { curvePath } from "../../parts/curve";
import type { Numbers } from "../../parts/picturetable";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { Term } from "../../parts/term";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";
import { Directionality, RankTable, Spectra } from "./spectra";
import { Stream } from "./stream";

type Row = Record<string, number | null>;

const DIAMOND = 3; // the marker of what all heads of a layer have in common

const LAYER_ROWS: Kind<Row[], "geometry"> = {
  op: "geometry",
  needs: "geometry",
  read: ({ fields }) => fields.rows as Row[],
};

export function Geometry() {
  const { dark } = useView();
  const answer = useAnswer(LAYER_ROWS, {});
  if (answer.state !== "answered") return <Waiting answer={answer} doing="measuring the stream" />;
  const rows = answer.value;
  return (
    <div class="bl-geometry" data-testid="geometry">
      <Stream />
      <Section
        title="Cone index through the stream"
        about={
          <>
            <Term name="cone" /> of unit vectors: 1 = all tokens point one way; click a layer
          </>
        }
      >
        <Cone rows={rows} />
        <Marks
          marks={[
            { text: "● layer’s input and output" },
            { text: "│ heads, least to most" },
            { text: "their mean", kind: DIAMOND, fill: vectorColour("context", dark) },
            { text: "○ concatenation, after W_O" },
          ]}
        />
        <p class="bl-note">
          With {rows[0]?.tokens} tokens, special ones counted; independent directions would give 1/√n ={" "}
          {number(rows[0]?.chance)}.
        </p>
      </Section>
      <NormHistograms />
      <Spectra />
      <Directionality />
      <RankTable />
      <Steps rows={rows} />
    </div>
  );
}

const STEPS: [name: string, label: string, term?: string][] = [
  ["norm_input", "‖x‖"],
  ["attention_ratio", "attention ‖Δ‖/‖x‖", "ratio"],
  ["attention_cosine", "cos", "cosine"],
  ["attention_cone", "Δ I/n", "cone"],
  ["mlp_ratio", "MLP ‖Δ‖/‖x‖", "ratio"],
  ["mlp_cosine", "cos", "cosine"],
  ["mlp_cone", "Δ I/n", "cone"],
  ["participation", "participation ratio", "participation"],
  ["kurtosis", "kurtosis", "kurtosis"],
];

function Steps({ rows }: { rows: Row[] }) {
  const { shownHead } = useView();
  return (
    <Table
      title="What each step changes"
      about="‖Δ‖/‖x‖, cosine of Δ with x, change of I/n"
      columns={[
        { name: "layer", value: (l) => `L${l}` },
        ...STEPS.map(([name, label, term]) =>
          numbers<number>(name, (l) => rows[l]![name], { label, title: term && TERMS[term]!.about }),
        ),
      ]}
      rows={upTo(rows.length)}
      pinned={(l) => l === shownHead.layer}
    />
  );
}

const HEIGHT = 270;
const BOTTOM = HEIGHT - MARGIN.bottom;
const SHRUNK = 8; // so many layers are drawn smaller where there is no room, more of them scroll
/** A layer's stations in the stream, left to right. */
const STATIONS = ["cone_input", "cone_heads", "cone_concatenation", "cone_attention", "cone_output"];

/** The cone index at every station; quarters of a layer from left to right. */
const pointsOf = (rows: Row[]) =>
  rows.flatMap((row, layer) =>
    STATIONS.slice(layer === 0 ? 0 : 1).map((name) => ({
      name,
      layer,
      at: 4 * layer + STATIONS.indexOf(name),
      value: row[name] ?? Number.NaN,
    })),
  );

const coneTable = (rows: Row[]) => ({
  columns: [
    "layer",
    "input",
    "heads, least",
    "heads, mean",
    "heads, most",
    "concatenation",
    "after W_O",
    "output",
    "chance",
  ],
  rows: rows.map((row, l) => [
    `L${l}`,
    ...["input", "heads_min", "heads", "heads_max", "concatenation", "attention", "output"].map(
      (name) => row[`cone_${name}`] ?? null,
    ),
    row.chance ?? null,
  ]),
});

function Cone({ rows }: { rows: Row[] }) {
  const { dark } = useView();
  const { ink, panel } = inks(dark);
  const heads = vectorColour("context", dark);
  const width = Math.max(420, 64 * rows.length + 60);
  const y = scale(0, 1, BOTTOM, MARGIN.top);
  const x = scale(0, 4 * rows.length, MARGIN.left + 6, width - MARGIN.right - 6, 0);
  const points = pointsOf(rows);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <div class="bl-scroll" role="region" aria-label="Cone index through the stream" tabIndex={0}>
      <Chart
        {...{ width, height: HEIGHT, x, y, dark }}
        wide={rows.length > SHRUNK}
        xLabel=""
        yLabel="I/n"
        label="Cone index through the stream"
        table={() => coneTable(rows)}
      >
        <Bands rows={rows} x={x} y={y} />
        <g stroke={heads} stroke-opacity="0.45" stroke-width="4">
          {rows.map((row, l) => (
            <path key={l} d={`M${x(4 * l + 1)} ${y(row.cone_heads_min ?? 0)}V${y(row.cone_heads_max ?? 0)}`} />
          ))}
        </g>
        <path
          d={curvePath(points.map(({ at, value }) => [x(at), y(value)]))}
          fill="none"
          stroke={ink}
          stroke-width="1.5"
        />
        {points
          .filter(({ value }) => Number.isFinite(value)) // a head that passes nothing on has no directions
          .map(({ name, layer, at, value }) => (
            <path
              key={at}
              d={markerPath(name === "cone_heads" ? DIAMOND : 0, x(at), y(value), name.endsWith("put") ? 5 : 4)}
              fill={name === "cone_heads" ? heads : name.endsWith("put") ? ink : panel}
              stroke={name === "cone_heads" ? heads : ink}
            >
              <title>{`L${layer}, ${name.slice(5)}: ${share(value)}`}</title>
            </path>
          ))}
      </Chart>
    </div>
  );
}

/** A band for each layer, which a click selects, and what independent directions would give. */
function Bands({ rows, x, y }: { rows: Row[]; x: Scale; y: Scale }) {
  const { dark, synced, shownHead } = useView();
  const { muted, border, "select-text": select } = inks(dark);
  const end = x(4 * rows.length);
  const chance = y(rows[0]?.chance ?? Number.NaN);
  return (
    <g font-size="11" fill={muted}>
      {rows.map((_, l) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the atlas chooses a layer by keyboard
        <g
          key={l}
          class="bl-band"
          onClick={() => synced.put({ layer: l })}
          fill={l === shownHead.layer ? select : undefined}
        >
          <rect
            x={x(4 * l)}
            y={MARGIN.top}
            width={x(4) - x(0)}
            height={BOTTOM - MARGIN.top}
            fill={l === shownHead.layer ? select : border}
            fill-opacity={l === shownHead.layer ? 0.1 : l % 2 ? 0.35 : 0}
          />
          <text x={x(4 * l + 2)} y={BOTTOM + 15} text-anchor="middle">
            L{l}
          </text>
        </g>
      ))}
      {!Number.isNaN(chance) && (
        <>
          <line x1={x(0)} x2={end} y1={chance} y2={chance} stroke={muted} stroke-dasharray="4 3" />
          <text x={end} y={chance - 5} text-anchor="end">
            chance 1/√n
          </text>
        </>
      )}
    </g>
  );
}

const HISTOGRAMS: Kind<Histograms, "histograms"> = { op: "histograms", needs: "neurons", read: fieldsAndArrays };

const NAMES: Record<string, string> = { query: "‖q‖", key: "‖k‖", value: "‖v‖", context: "‖context‖" };
const [BAND, LEFT, RIGHT] = [66, 80, 430]; // px of a row, and where its bars begin and end

/** Histograms of the lengths of a head's vectors, one row each, on the same bins. */
function NormHistograms() {
  const { shownHead, dark } = useView();
  const answer = useAnswer(HISTOGRAMS, { layer: shownHead.layer, head: shownHead.head });
  if (answer.state !== "answered") return <Waiting answer={answer} doing="counting" />;
  const { layer, head, edges, counts, bounds } = answer.value;
  const kinds = Object.keys(NAMES);
  const height = BAND * kinds.length + 40;
  const table = () => ({
    columns: ["length", ...Object.values(NAMES)],
    rows: edges
      .slice(1)
      .map((end, n) => [`${edges[n]!.toFixed(2)} to ${end.toFixed(2)}`, ...kinds.map((kind) => counts[kind]![n]!)]),
  });
  return (
    <Section
      title="Lengths of its vectors"
      about={`${headLabel(layer, head)}, one count per token, the same bins in all rows`}
    >
      <Drawing width={RIGHT + 10} height={height} label="Histograms of vector norms" table={table}>
        <g font-size="11" fill={inks(dark).muted}>
          {kinds.map((kind, row) => (
            <Bars key={kind} kind={kind} floor={BAND * (row + 1) + 8} edges={edges} counts={counts[kind]!} />
          ))}
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <text key={part} x={LEFT + part * (RIGHT - LEFT)} y={height - 8} text-anchor="middle">
              {(edges.at(-1)! * part).toFixed(1)}
            </text>
          ))}
        </g>
      </Drawing>
      <p class="bl-muted">
        No norm can pass σ_max(W)·max‖x‖ + ‖b‖:{" "}
        {["query", "key", "value"].map((kind) => `${NAMES[kind]} ${number(bounds[kind], 1)}`).join(", ")}
      </p>
    </Section>
  );
}

function Bars({ kind, floor, edges, counts }: { kind: string; floor: number; edges: number[]; counts: number[] }) {
  const { dark } = useView();
  const peak = Math.max(...counts, 1);
  const bin = (RIGHT - LEFT) / counts.length;
  const tall = (count: number) => (count / peak) * (BAND - 20);
  return (
    <g>
      <text x="0" y={floor - 18} font-size="12" fill={inks(dark).ink}>
        {NAMES[kind]}
      </text>
      <text x="0" y={floor - 4}>
        max {peak}
      </text>
      {counts.map((count, n) => (
        <rect
          key={n}
          x={LEFT + n * bin + 0.5}
          width={bin - 1}
          y={floor - tall(count)}
          height={tall(count)}
          fill={vectorColour(kind, dark)}
        >
          <title>{`${edges[n]!.toFixed(2)} to ${edges[n + 1]!.toFixed(2)}: ${count} tokens`}</title>
        </rect>
      ))}
      <line x1={LEFT} x2={RIGHT} y1={floor} y2={floor} stroke={inks(dark).border} />
    </g>
  );
}

/** The table of layers, every column of it. */
export async function layerNumbers({ answers, overview }: View): Promise<Numbers> {
  const layers = await arrived(() => answers.get(LAYER_ROWS, overview, {}));
  const columns = Object.keys(layers[0] ?? {});
  return { columns, rows: layers.map((row) => columns.map((name) => row[name] ?? null)) };
}
