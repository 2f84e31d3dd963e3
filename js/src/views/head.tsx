// Head panel: the selected head as matrix or lines, and the list of what the pinned token attends to.
import { share } from "../parts/format";
import { Token } from "../parts/token";
import { headLabel } from "../state/store";
import { useView } from "./context";
import { Lines } from "./lines";
import { Matrix } from "./matrix";

const LISTED = 12;

export function HeadPanel() {
  const { store, display } = useView();
  const { layer, head, picture } = store.shown.value;
  const mode = store.synced.mode.value;
  return (
    <section class="bl-panel bl-head" aria-label="Head view">
      <header class="bl-panel-head">
        <h3 data-testid="head-title">{headLabel(layer, head)}</h3>
        <span class="bl-muted">
          attention α{picture.map === "self" ? "" : ` of the ${picture.map} map`},{" "}
          {mode === "matrix"
            ? "row = query, column = key; click a cell to pin it"
            : "left = query, right = key; click a token to pin it"}
        </span>
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
  const list =
    col !== null
      ? rows.map((unit, n) => ({ unit, n, value: values[n * K + col]! }))
      : cols.map((unit, n) => {
          let value = 0;
          if (row !== null) value = values[row * K + n]!;
          else for (let i = 0; i < rows.length; i++) value += values[i * K + n]! / rows.length;
          return { unit, n, value };
        });
  const sorted = [...list].sort((a, b) => b.value - a.value);
  const top = sorted.slice(0, LISTED);
  const rest = sorted.slice(LISTED);
  const most = top[0]?.value || 1;
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
            attends to
          </>
        ) : col !== null ? (
          <>
            who attends to{" "}
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
                <span style={{ "--part": `${(100 * value) / most}%` }} />
              </span>
              <span class="bl-number">{share(value)}</span>
            </button>
          </li>
        ))}
      </ol>
      <p class="bl-muted bl-number">
        {rest.length > 0 && (
          <>
            {rest.length} more: {share(rest.reduce((total, item) => total + item.value, 0))}
            <br />
          </>
        )}
        {col === null && <>Σ {share(sum)}</>}
        {col === null && sum < 0.9995 && <> (the rest goes to tokens not shown)</>}
        {store.synced.hide_special.value && store.synced.renormalize.value && <> (rows renormalised)</>}
      </p>
    </aside>
  );
}
