// Spectra of a head's vectors and attention, ranks and symmetry of the heads of a layer: part of the geometry view.
import type { LayerRanks } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { LIMITS, TERMS } from "../../generated/vocabulary";
import type { Kind } from "../../kernel/answers";
import { counted, headLabel, number, signed, upTo } from "../../paint/format";
import { inks, vectorColour } from "../../paint/palette";
import { Chart, Key, MARGIN, markerPath, scale } from "../../parts/chart";
import { curvePath } from "../../parts/curve";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { useAnswer } from "../../state/useanswer";
import { useView } from "../../state/view";

type Row = LayerRanks["whole"];

interface LayerSpectra extends Omit<LayerRanks, "head"> {
  head: number | null; // of a long text: the only one whose attention was looked at
  values: Record<string, Float32Array>; // (H·n) singular values ÷ the largest, of q, k, v, context and attention
}

const SPECTRA: Kind<LayerSpectra, "spectra"> = {
  op: "spectra",
  needs: "spectra",
  read: ({ fields, arrays }, { head }) => ({
    ...fields,
    head: head ?? null,
    values: Object.fromEntries(Object.entries(arrays).map(([name, { data }]) => [name, data])),
  }),
};

const VECTORS: [name: string, label: string][] = [
  ["query", "q"],
  ["key", "k"],
  ["value", "v"],
  ["context", "context"],
  ["attention", "α"],
];
const FLOOR = -4; // log₁₀

/** Of the layer; of a long text with the attention of the head alone. */
function useSpectra() {
  const { layer, head, overview } = useView().shownHead;
  const isLong = overview.queries.tokens.length > LIMITS.saved;
  return useAnswer(SPECTRA, isLong ? { layer, head } : { layer });
}

export function Spectra() {
  const { shownHead } = useView();
  const answer = useSpectra();
  const head = (answer.state === "answered" ? answer.value.head : null) ?? shownHead.head; // the last answer may stay
  const headName = answer.state === "answered" ? `${headLabel(answer.value.layer, head)}, ` : "";
  return (
    <Section title="Spectra" about={`${headName}singular values ÷ the largest; steep = few directions, flat = many`}>
      {answer.state === "answered" ? (
        <Spectrum data={answer.value} head={head} />
      ) : (
        <Waiting answer={answer} doing="decomposing" />
      )}
    </Section>
  );
}

/** Singular values from the largest down, on a logarithmic scale. */
function Spectrum({ data, head }: { data: LayerSpectra; head: number }) {
  const { dark, shownHead } = useView();
  const curves = VECTORS.map(([name, label]) => {
    const n = data.values[name]!.length / data.heads.length;
    const values = Array.from(data.values[name]!.subarray(head * n, (head + 1) * n));
    return { name, label, colour: vectorColour(name, dark), values };
  });
  const longest = Math.max(2, ...curves.map(({ values }) => values.length));
  const x = scale(1, longest, MARGIN.left + 8, 440 - MARGIN.right, 8);
  const y = scale(FLOOR, 0, 240 - MARGIN.bottom, MARGIN.top, 4);
  const table = () => ({
    columns: ["singular value ÷ the largest", ...curves.map(({ label }) => label)],
    rows: upTo(longest).map((i) => [`σ${i + 1}`, ...curves.map(({ values }) => values[i] ?? null)]),
  });
  const at = (v: number, i: number): [number, number] => [x(i + 1), y(Math.max(FLOOR, Math.log10(Math.max(v, 1e-12))))];
  return (
    <>
      <Chart
        {...{ x, y, dark, width: 440, height: 240 }}
        xLabel={phrases.SINGULAR_VALUES}
        yLabel="log₁₀ σ / σ₁"
        label={`Spectra of ${headLabel(data.layer, head)}`}
        table={table}
      >
        {curves.map(({ name, label, colour, values }, n) => (
          <g key={name} fill={colour}>
            <path d={curvePath(values.map(at))} fill="none" stroke={colour} stroke-width="1.5" />
            {values.map(
              (v, i) =>
                !Number.isNaN(v) && (
                  <path key={i} d={markerPath(n, ...at(v, i), name === "attention" ? 1.5 : 2.5)}>
                    <title>{`${label}, σ${i + 1}: ${v.toPrecision(3)} of the largest`}</title>
                  </path>
                ),
            )}
          </g>
        ))}
      </Chart>
      <Key
        names={curves.map(({ label, values }) => (Number.isNaN(values[0]) ? `${label}: zero` : label))}
        colours={curves.map(({ colour }) => colour)}
      />
      {!data.exact && (
        <p class="bl-note" data-testid="leading">
          α: the first {curves.at(-1)!.values.length} of {counted(shownHead.overview.queries.tokens.length)} singular
          values, by a randomised method: none is too large, and in trials none too small by more than 4 % of σ₁. The
          effective rank below counts the others too; in trials it was off by 5 % at most.
        </p>
      )}
    </>
  );
}

/** Directionality of the heads' W_QK and of all heads', over the band in which 95 % of random weights lie. */
export function Directionality() {
  const { shownHead, dark } = useView();
  const answer = useSpectra();
  if (answer.state !== "answered") return null; // the spectra say why
  const { heads, whole: layerRow, layer } = answer.value;
  const rows = [...heads, layerRow];
  const x = scale(-0.5, rows.length - 0.5, MARGIN.left, 440 - MARGIN.right, 0);
  x.ticks = upTo(rows.length).filter((n) => n % Math.ceil(rows.length / 20) === 0 || rows[n] === layerRow);
  const y = scale(-1, 1, 240 - MARGIN.bottom, MARGIN.top, 4);
  const { ink, select, muted } = inks(dark);
  const name = (n: number) => (rows[n] === layerRow ? "all" : `${n}`);
  const inside = heads.filter(within).length;
  const table = () => ({
    columns: ["head", "directionality", "95 % of random weights within ±"],
    rows: rows.map((row, n) => [name(n), row.directionality!, row.directionality_chance!]),
  });
  return (
    <Section
      title="Directionality"
      about={`layer ${layer}, W_Q W_Kᵀ: above 0 single key dimensions stand out, below 0 query dimensions`}
    >
      <Chart
        {...{ x, y, dark, width: 440, height: 240, xTicks: name }}
        xLabel="head"
        yLabel="directionality"
        label={`Directionality of layer ${layer}`}
        table={table}
      >
        {rows.map((row, n) => {
          const [d, c] = [row.directionality!, row.directionality_chance!];
          const pinned = n === shownHead.head && layer === shownHead.layer;
          return (
            <g key={n}>
              <rect x={x(n - 0.5)} width={x(1) - x(0)} y={y(c)} height={y(-c) - y(c)} fill={muted} fill-opacity="0.2" />
              <path d={markerPath(row === layerRow ? 3 : 0, x(n), y(d), 4)} fill={pinned ? select : ink}>
                <title>{`${name(n)}: ${signed(d)}, random within ±${signed(c)}`}</title>
              </path>
            </g>
          );
        })}
      </Chart>
      <p class="bl-note" data-testid="directionality">
        Band: 95 % of random weights of this size, ±{number(heads[0]?.directionality_chance)} for a head and ±
        {number(layerRow.directionality_chance)} for all heads together. {inside} of {heads.length} heads lie inside, of
        as many random ones {signed(0.95 * heads.length, 1)} would.
      </p>
    </Section>
  );
}

const within = (row: Row) => Math.abs(row.directionality!) <= row.directionality_chance!;

const SYMMETRIES = ["symmetry", "directionality", "overlap"].map((name) => [name, TERMS[name]!.label]);

/** Effective ranks of a layer's heads, and how their W_Q and W_K lie to each other. */
export function RankTable() {
  const { layer, head, overview } = useView().shownHead;
  const tokens = overview.queries.tokens.length;
  const answer = useSpectra();
  if (answer.state !== "answered") return null; // the spectra say why
  const { heads, whole: layerRow, dim, layer: answered, head: only } = answer.value;
  const rows = [...heads, layerRow];
  return (
    <Table<Row>
      title={`Ranks and symmetry, layer ${answered}`}
      about={`effective rank of at most ${dim}, of α at most ${tokens}${only === null ? "" : ` and of H${only} alone: choose another head for its own`}; symmetry and directionality of W_Q W_Kᵀ; random subspaces overlap by ${number(heads[0]?.chance)}`}
      columns={[
        { name: "head", value: (row) => (row === layerRow ? "all" : `H${rows.indexOf(row)}`) },
        ...[...VECTORS, ...SYMMETRIES, ["overlap_others", "other heads’ W_K"]].map(([name, label]) =>
          numbers<Row>(name!, (row) => row[name!], { label, title: TERMS[name!]?.about }),
        ),
      ]}
      rows={rows}
      pinned={(row) => answered === layer && row === heads[head]}
    />
  );
}
