// Two runs in one view: what they are, their tokens aligned, the heads by how far apart they are, and one head in both.
import type { ComponentChildren } from "preact";
import { onGridKey } from "../../parts/gridkeys";
import { Token } from "../../parts/token";
import { useView } from "../../state/view";
import { comparedOf, type Pair } from "./data";
import { Heads } from "./heads";
import { HeadMaps, RowTable } from "./maps";

export function Compare({ menu }: { menu: ComponentChildren }) {
  const { sides, said, by, queries, keys } = comparedOf(useView().overview);
  const [unit, hasGaps] = [by.slice(0, -1), queries.some((pair) => pair.includes(null))];
  const original = sides.some(({ changes }) => changes.length > 0) && "nothing changed";
  return (
    <div class="bl-compare" data-testid="compare">
      <div class="bl-compare-top">
        <dl class="bl-runs">
          {sides.map(({ model, text, changes }, n) => (
            <>
              <dt key={n}>{"ab"[n]}</dt>
              <dd>
                <span class="bl-muted">{[model, changes.join(", ") || original].filter(Boolean).join(" · ")}</span>{" "}
                <bdi dir="auto">{text}</bdi>
              </dd>
            </>
          ))}
        </dl>
        {menu}
      </div>
      <p data-testid="compare-said">{said}</p>
      <Strip />
      <p class="bl-muted">
        a above, b below{hasGaps && `; hatched: that text has no such ${unit}`}. Click a {unit} for its row
        {keys === null && ", with Shift for its column"}.
      </p>
      <Heads />
      <div class="bl-compare-head">
        <HeadMaps />
        <RowTable />
      </div>
    </div>
  );
}

/** Every unit of both texts, none left out; a click chooses the query. */
function Strip() {
  const { synced, overview, root } = useView();
  const { queries, keys } = comparedOf(overview);
  const query = synced.query.value;
  const pick = (n: number) => synced.put({ query: n });
  const at = () => ({ row: 0, col: query ?? 0 });
  const move = onGridKey({ rows: 1, cols: queries.length }, at, ({ col }) => {
    pick(col);
    root.current?.querySelector<HTMLElement>(`[data-unit="${col}"]`)?.focus();
  });
  const unit = (pair: Pair, n: number) => (
    <button
      type="button"
      key={n}
      data-unit={n}
      class={keys === null && n === synced.key.value ? "bl-as-key" : ""}
      aria-pressed={n === query}
      tabIndex={n === (query ?? 0) ? 0 : -1}
      onClick={({ shiftKey }) => (shiftKey && keys === null ? synced.put({ key: n }) : pick(n))}
    >
      {[pair[0], pair[1]].map((name, side) =>
        name === null ? (
          <span key={side} class="bl-nothing">
            <span class="bl-hidden">not in {"ab"[side]}</span>
          </span>
        ) : (
          <Token key={side} text={name} />
        ),
      )}
    </button>
  );
  return (
    <div class="bl-strip" role="group" aria-label="Aligned tokens, a above b" onKeyDown={move}>
      {queries.map(unit)}
    </div>
  );
}
