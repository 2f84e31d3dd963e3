// Spectra of a head's vectors and attention, ranks and symmetry of the heads of a layer: part of the geometry view.
import { Chart, Key, MARGIN, markerPath, scale, series } from "../parts/chart";
import { Numbers, number } from "../parts/numbers";
import { useAnswer } from "../state/answer";
import { headLabel } from "../state/store";
import type { View } from "./context";

type Row = Record<string, number | null>;

export interface Spectra {
  layer: number;
  heads: Row[]; // one per head: effective ranks, symmetry, directionality
  whole: Row; // of the layer's full W_QK
  dim: number;
  values: Record<string, Float32Array>; // (H·n) singular values ÷ the largest, of q, k, v, context and attention
}

/** What the kernel has to say about the layer shown; null until it is here, and where NaN leaves nothing to say. */
export function useSpectra(view: View): Spectra | null {
  const { store } = view;
  const { layer, picture } = store.shown.value;
  const op = picture.nan_layer === null ? "spectra" : null; // NaN has no rank
  return useAnswer(
    store,
    op,
    ({ fields, arrays }): Spectra => ({
      ...(fields as unknown as Spectra),
      values: Object.fromEntries(Object.entries(arrays).map(([name, { data }]) => [name, data as Float32Array])),
    }),
    { layer },
  );
}

/** Effective ranks of a layer's heads, and how their W_Q and W_K lie to each other. */
export function RankTable({ view, found }: { view: View; found: Spectra }) {
  const { layer, head } = view.store.shown.value;
  const line = (row: Row) => [
    number(row.query),
    number(row.key),
    number(row.value),
    number(row.context),
    number(row.attention),
    number(row.symmetry),
    number(row.directionality),
    number(row.overlap),
  ];
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Ranks and symmetry, layer {found.layer}</h3>
        <span class="bl-muted">effective rank of at most {found.dim}; symmetry and directionality of W_Q W_Kᵀ</span>
      </header>
      <Numbers
        head={["head", "q", "k", "v", "context", "α", "symmetry", "directionality", "overlap of W_Q, W_K"]}
        rows={[...found.heads.map((row, h) => [`H${h}`, ...line(row)]), ["all", ...line(found.whole)]]}
        pinned={found.layer === layer ? head : -1}
      />
    </section>
  );
}

const SPECTRA: [name: string, label: string][] = [
  ["context", "context"], // in the colours of the histograms
  ["value", "v"],
  ["key", "k"],
  ["query", "q"],
  ["attention", "α"],
];

/** Singular values from the largest down, on a logarithmic scale. */
export function Spectrum({ view, found }: { view: View; found: Spectra }) {
  const head = Math.min(view.store.shown.value.head, found.heads.length - 1);
  const dark = view.dark.value;
  const H = found.heads.length;
  const curves = SPECTRA.map(([name, label]) => {
    const all = found.values[name]!;
    return { name, label, values: Array.from(all.subarray((head * all.length) / H, ((head + 1) * all.length) / H)) };
  });
  const [width, height, floor] = [440, 240, -4];
  const x = scale(1, Math.max(2, ...curves.map((c) => c.values.length)), MARGIN.left + 8, width - MARGIN.right, 8);
  const y = scale(floor, 0, height - MARGIN.bottom, MARGIN.top, 4);
  const drawn = (v: number) => y(Math.max(floor, Math.log10(Math.max(v, 1e-12))));
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Spectra</h3>
        <span class="bl-muted">
          {headLabel(found.layer, head)}, singular values ÷ the largest; steep = few directions, flat = many
        </span>
      </header>
      <Chart
        width={width}
        height={height}
        x={x}
        y={y}
        xLabel="singular value, from the largest"
        yLabel="log₁₀ σ / σ₁"
        label={`Spectra of ${headLabel(found.layer, head)}`}
        dark={dark}
      >
        {curves.map(({ name, label, values }, n) => (
          <g key={name}>
            <path
              d={`M${values.map((v, i) => `${x(i + 1)} ${drawn(v)}`).join("L")}`}
              fill="none"
              stroke={series(dark)[n]}
              stroke-width="1.5"
            />
            {values.map((v, i) => (
              <path key={i} d={markerPath(n, x(i + 1), drawn(v), n === 4 ? 1.5 : 2.5)} fill={series(dark)[n]}>
                <title>{`${label}, σ${i + 1}: ${v.toPrecision(3)} of the largest`}</title>
              </path>
            ))}
          </g>
        ))}
      </Chart>
      <Key names={SPECTRA.map(([, label]) => label)} dark={dark} />
    </section>
  );
}
