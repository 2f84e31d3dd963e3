// Head panel: the selected head as matrix or lines, and the list of what the pinned token attends to.
import { useMemo } from "preact/hooks";
import { columnMeans } from "../compute/grid";
import { Select } from "../parts/controls";
import { share } from "../parts/format";
import { Token } from "../parts/token";
import { renormalized, strongestKey } from "../state/display";
import { useView } from "./context";
import { Lines } from "./lines";
import { layerMapLabel, lookOf } from "./look";
import { Matrix } from "./matrix";

const LISTED = 12;

export function HeadPanel() {
  const { store, display } = useView();
  const { synced } = store;
  const { layer, picture } = store.shown.value;
  const mode = synced.mode.value;
  const look = lookOf(store.shown.value, display.grid.value, false);
  return (
    <section class="bl-panel bl-head" aria-label="Head view">
      <header class="bl-panel-head">
        <h3 data-testid="head-title">{look.name}</h3>
        <span class="bl-muted">
          {look.label}
          {picture.map === "self" ? "" : ` of the ${picture.map} map`};{" "}
          {mode === "matrix"
            ? "row = query, column = key, click a cell to pin it"
            : "left = query, right = key, click a token to pin it"}
        </span>
        <span class="bl-spacer" />
        {picture.layer_maps.length > 0 && (
          <Select
            label={`layer ${layer}`}
            value={synced.layer_map.value}
            choices={[
              { value: "", label: "one head" },
              ...picture.layer_maps.map((kind) => ({ value: kind, label: layerMapLabel(kind) })),
            ]}
            onChange={(kind) => synced.put({ layer_map: kind })}
          />
        )}
      </header>
      <div class="bl-head-body">
        {mode === "matrix" ? <Matrix /> : <Lines />}
        {display.grid.value.rows.length > 0 && display.grid.value.cols.length > 0 && <RowList />}
      </div>
    </section>
  );
}

/** The pinned row (or column, or the mean over rows) as a list of bars with numbers. */
function RowList() {
  const view = useView();
  const { display, store } = view;
  const { rows, cols, values } = display.grid.value;
  const row = display.row.value;
  const col = row === null ? display.col.value : null;
  const K = cols.length;
  const means = useMemo(() => columnMeans(display.grid.value), [display.grid.value]);
  const list =
    col !== null
      ? rows.map((unit, n) => ({ unit, n, value: values[n * K + col]! }))
      : cols.map((unit, n) => ({ unit, n, value: row === null ? means[n]! : values[row * K + n]! }));
  const look = lookOf(store.shown.value, display.grid.value, false);
  const { norms, layerMap } = store.shown.value;
  const sorted = [...list].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const top = sorted.slice(0, LISTED);
  const rest = sorted.slice(LISTED);
  const most = Math.abs(top[0]?.value ?? 0) || 1;
  const sum = list.reduce((total, item) => total + item.value, 0);
  const { synced } = store;
  const pin = (piece: number) => synced.put(col !== null ? { query: piece } : { key: piece });
  return (
    <aside class="bl-list" aria-label="Largest weights" data-testid="row-list">
      <h4>
        {row !== null ? (
          <>
            <b class="bl-selected">
              <Token text={rows[row]!.label} />
            </b>{" "}
            {layerMap ? "takes from" : "attends to"}
          </>
        ) : col !== null ? (
          <>
            {layerMap ? "who takes from" : "who attends to"}{" "}
            <b class="bl-selected">
              <Token text={cols[col]!.label} />
            </b>
          </>
        ) : (
          "all queries attend to (mean)"
        )}
      </h4>
      <ol>
        {top.map(({ unit, n, value }) => (
          <li key={n}>
            <button
              type="button"
              class={n === (col !== null ? row : display.col.value) ? "bl-bar bl-pinned" : "bl-bar"}
              onClick={() => pin(unit.pieces[0]!)}
            >
              <Token text={unit.label} />
              <span class="bl-bar-track">
                <span class={value < 0 ? "bl-minus" : ""} style={{ "--part": `${(100 * Math.abs(value)) / most}%` }} />
              </span>
              <span class="bl-number">{look.text(value)}</span>
            </button>
          </li>
        ))}
      </ol>
      <p class="bl-muted bl-number">
        {rest.length > 0 && (
          <>
            {rest.length} more: {look.text(rest.reduce((total, item) => total + item.value, 0))}
            <br />
          </>
        )}
        {col === null && <>Σ {look.text(sum)}</>}
        {col === null && look.symbol === "α" && sum < 0.9995 && <> (the rest goes to tokens not shown)</>}
        {norms && !layerMap && col === null && row !== null && <NormNote norms={norms} />}
        {renormalized(store.synced, store.shown.value) && <> (rows renormalised)</>}
        {norms && store.synced.units.value !== "pieces" && <> (norms of merged pieces: their sum)</>}
      </p>
    </aside>
  );
}

/** What cancels: the token with most attention against what it passes on. */
function NormNote({ norms }: { norms: Float32Array }) {
  const { display, store } = useView();
  const { weights, slice, picture } = store.shown.value;
  const { query } = display.focus.value;
  const K = slice.K;
  const top = strongestKey(weights, K, query);
  const median = [...norms].sort((a, b) => a - b)[Math.floor(K / 2)]!;
  return (
    <>
      <br />
      most attended: <Token text={picture.keyside.tokens[top]!} /> with α {share(weights[query * K + top]!)}, ‖f(x)‖{" "}
      {share(norms[top]!)} (median {share(median)})
    </>
  );
}
