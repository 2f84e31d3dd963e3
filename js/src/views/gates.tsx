// Gate view: what kind of gate the selected head is, by which scores, on the evidence of which cells.
import { useMemo } from "preact/hooks";
import { extremes } from "../compute/grid";
import { entry } from "../paint/colormap";
import { weightTable } from "../paint/palette";
import { inks } from "../parts/chart";
import { Segmented, Slider } from "../parts/controls";
import { percent, share } from "../parts/format";
import { HeatChart } from "../parts/heatchart";
import { Legend } from "../parts/legend";
import { Token } from "../parts/token";
import { useAnswer } from "../state/answer";
import { type Gates as GateData, gateSign, useGates } from "../state/gates";
import { headLabel } from "../state/store";
import { showTip, useView } from "./context";

export function Gates() {
  const view = useView();
  const { store, page } = view;
  const data = useGates(store, page);
  if (!data)
    return <p class="bl-empty">{store.kernel.value ? "scoring the heads …" : "The gate view needs the kernel."}</p>;
  const { layer, head, picture } = store.shown.value;
  const [threshold, margin] = page.thresholds.value;
  return (
    <div class="bl-norms" data-testid="gates">
      <section>
        <Scores data={data} />
        <div class="bl-controls">
          <Slider
            label="threshold"
            min={0.05}
            max={0.95}
            step={0.05}
            value={threshold}
            text={threshold.toFixed(2)}
            onChange={(value) => {
              page.thresholds.value = [value, margin];
            }}
          />
          <Slider
            label="margin"
            min={0}
            max={0.5}
            step={0.05}
            value={margin}
            text={margin.toFixed(2)}
            onChange={(value) => {
              page.thresholds.value = [threshold, value];
            }}
          />
        </div>
        <p class="bl-note">
          A head gets the name of its highest score if that reaches the threshold and leads by the margin, else “mixed”.
          Names after Bonino et al. 2025; the scores are bertlens’ own reading of them, corrected for chance.
        </p>
      </section>
      <Evidence data={data} layer={layer} head={head} />
      <section>
        <header class="bl-panel-head">
          <h3>Gates per layer</h3>
          <span class="bl-muted">number of heads, {page.gateView.value} view</span>
        </header>
        <Counts labels={data.labels[page.gateView.value]} names={data.names} layers={picture.n_layers} layer={layer} />
      </section>
    </div>
  );
}

function Scores({ data }: { data: GateData }) {
  const { store } = useView();
  const { layer, head, picture } = store.shown.value;
  const G = data.names.length;
  const at = (layer * picture.n_heads + head) * G;
  const label = (which: "full" | "content") => data.labels[which][layer]![head]!;
  return (
    <>
      <header class="bl-panel-head">
        <h3 data-testid="gate-label">
          {headLabel(layer, head)}: {label("full")}
        </h3>
        <span class="bl-muted">without special tokens: {label("content")}</span>
      </header>
      <div class="bl-gate-grid">
        <span />
        <small>full view</small>
        <small>content view, special tokens left out</small>
        {data.names.map((name, g) => (
          <>
            <span>
              <GateBadge label={name} /> {name}
            </span>
            {[data.full, data.content].map((scores, n) => (
              <span key={n} class="bl-gate-score">
                <span class="bl-bar-track">
                  <span style={{ "--part": `${100 * (scores[at + g]! || 0)}%` }} />
                  <i style={{ left: `${100 * data.threshold}%` }} />
                </span>
                <span class="bl-number">{Number.isNaN(scores[at + g]!) ? "–" : scores[at + g]!.toFixed(2)}</span>
              </span>
            ))}
          </>
        ))}
      </div>
    </>
  );
}

export function GateBadge({ label }: { label: string }) {
  const [letter, mark] = gateSign(label);
  return (
    <span class="bl-gate" title={label}>
      {letter}
      {mark}
    </span>
  );
}

function Evidence({ data, layer, head }: { data: GateData; layer: number; head: number }) {
  const view = useView();
  const { store, page } = view;
  const { weights, slice } = store.shown.value;
  const which = page.gateView.value;
  const G = data.names.length;
  const scores = data[which].subarray((layer * store.shown.value.picture.n_heads + head) * G);
  let best = 0;
  for (let g = 1; g < G; g++) if (scores[g]! > scores[best]!) best = g;
  const gate = data.names[best]!;
  const wanted = `${layer} ${head} ${gate} ${which}`;
  const last = useAnswer(
    store,
    store.shown.value.picture.evidence ? "evidence" : null, // pages without a kernel lack it for long texts
    ({ fields, arrays }) => ({
      of: wanted,
      ...(fields as {
        pattern: string;
        mass: number | null;
        detail: string;
      }),
      cells: arrays.cells!.data as Uint8Array, // eight to a byte
    }),
    { layer, head, gate, view: which },
  );
  const found = last?.of === wanted ? last : null; // not that of the head before
  const dark = view.dark.value;
  const { S, K } = slice;
  const cells = found && found.cells.length === Math.ceil(weights.length / 8) ? found.cells : null;
  const counts = (n: number) => !cells || ((cells[n >> 3]! << (n & 7)) & 128) !== 0;
  const { most, top } = useMemo(() => extremes(weights, S), [weights, S]);
  // half of the palette in full colour, the other half receding
  const palette = useMemo(() => twoLevels(weightTable(dark), inks(dark).panel), [dark]);
  const entries = useMemo(
    () => Uint8Array.from(weights, (a, n) => (Math.max(0, entry(a, 0, top || 1)) >> 1) + (counts(n) ? 0 : 128)),
    [weights, top, cells],
  );
  const { queries, keyside } = store.shown.value.picture;
  const side = 340;
  return (
    <section>
      <header class="bl-panel-head">
        <h3>Evidence for “{gate}”</h3>
        <Segmented
          label="view"
          value={which}
          choices={[
            { value: "full", label: "Full" },
            { value: "content", label: "Content" },
          ]}
          onChange={(value) => {
            page.gateView.value = value;
          }}
        />
      </header>
      <HeatChart
        label={`Attention of ${headLabel(layer, head)}, the cells that made the score in full colour`}
        rows={queries.tokens}
        cols={keyside.tokens}
        entries={entries}
        palette={palette}
        width={(side * K) / Math.max(S, K)}
        height={(side * S) / Math.max(S, K)}
        dark={dark}
        onHover={(cell, event) => {
          if (!cell) {
            view.tip.value = null;
            return;
          }
          const n = cell.row * K + cell.col;
          showTip(
            view,
            event,
            <>
              <Token text={queries.tokens[cell.row]!} /> → <Token text={keyside.tokens[cell.col]!} />{" "}
              <b class="bl-number">{share(weights[n]!)}</b>
              {cells && (counts(n) ? " counts" : " does not count")}
            </>,
          );
        }}
        onPick={({ row, col }) => store.synced.put({ query: row, key: col })}
      />
      <Legend
        low="0"
        high={`${top < most ? "≥ " : ""}${share(top)}`}
        label={`α; ${cells ? "pale cells do not count" : "which cells count needs a kernel"}; click one to pin it`}
        table={weightTable(dark)}
      />
      {found && (
        <p class="bl-muted">
          pattern “{found.pattern}”{found.detail ? ` (${found.detail})` : ""}:{" "}
          {found.mass === null
            ? "no cells"
            : `${percent(found.mass)} of the words’ attention lies on the cells in full colour`}
        </p>
      )}
    </section>
  );
}

/** 128 colours of a table, and the same again mixed with the background. */
function twoLevels(table: Uint8Array, background: string): Uint8Array {
  const blank = [1, 3, 5].map((at) => Number.parseInt(background.slice(at, at + 2), 16));
  const palette = new Uint8Array(3 * 256);
  for (let n = 0; n < 256; n++)
    for (let c = 0; c < 3; c++) {
      const full = table[3 * Math.min(255, 2 * (n % 128) + (n % 128 === 127 ? 1 : 0)) + c]!;
      palette[3 * n + c] = n < 128 ? full : Math.round(0.27 * full + 0.73 * blank[c]!);
    }
  return palette;
}

function Counts(props: { labels: string[][]; names: string[]; layers: number; layer: number }) {
  const { labels, names, layers, layer } = props;
  const all = [...names, "mixed", "undefined"].filter((name) => labels.some((row) => row.includes(name)));
  return (
    <div class="bl-scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">layer</th>
            {all.map((name) => (
              <th scope="col" key={name} title={name}>
                <GateBadge label={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: layers }, (_, l) => (
            <tr key={l} class={l === layer ? "bl-pinned" : ""}>
              <th scope="row">L{l}</th>
              {all.map((name) => {
                const count = labels[l]!.filter((label) => label === name).length;
                return (
                  <td key={name} class="bl-number">
                    {count || ""}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
