// Above the list beside the head: where tokens are patches of an image, what it lists drawn as an image.

import { useCallback, useState } from "preact/hooks";
import type { Item, Unit } from "../compute/grid";
import { largestSize } from "../compute/largest";
import { paint as paintValues } from "../paint/colormap";
import { scaleEnd } from "../paint/format";
import { Segmented } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import { Legend } from "../parts/legend";
import { Pixels } from "../parts/pixels";
import { Token, tokenText } from "../parts/token";
import { hideTip, showTip } from "../parts/tooltip";
import type { Patches } from "../state/overview";
import { useView } from "../state/view";
import { currentScale } from "./scale";
import { Sweeping } from "./sweeping";

export function AboveList({ items }: { items: Item[] }) {
  const { patches } = useView().overview;
  return (
    <>
      <Sweeping />
      {patches && items.length > 0 && <Picture items={items} patches={patches} />}
    </>
  );
}

const MOST_OTHERS = 3; // tokens that are no patches, each with its number

/** The row of the pinned query (or the column, or the means), a pixel a patch, and what the other tokens have. */
function Picture({ items, patches }: { items: Item[]; patches: Patches }) {
  const view = useView();
  const { grid, row, col, synced, page } = view;
  const { rows, cols, tokens, picture } = patches;
  const [under, setUnder] = useState(picture ? "picture" : "nothing");
  const [id] = useState(() => `bl-patch-${Math.random().toString(36).slice(2)}`); // of this view alone
  const scale = currentScale(view);
  const ofColumn = row === null && col !== null;
  const pieceOf = (unit: Unit | undefined) => unit?.pieces[0] ?? -1;
  const at = tokens.indexOf(pieceOf(ofColumn ? grid.cols[col] : grid.rows[row ?? -1]));
  const known = new Map(items.map((item) => [pieceOf(item.unit), item]));
  const values = Float32Array.from(tokens, (piece) => known.get(piece)?.value ?? Number.NaN);
  const hi = scaleEnd(largestSize(values));
  const isSeen = under === "picture";
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      paintValues(values, scale.signed ? -hi : 0, hi, scale.colours, out);
      // the smaller a value, the more of the picture is seen
      if (isSeen) for (const [n, value] of values.entries()) out[4 * n + 3] = 50 + (205 * Math.abs(value)) / hi;
    },
    [items, scale.colours, isSeen],
  );
  const others = items.filter(({ unit }) => !tokens.includes(pieceOf(unit)));
  const sum = (some: Item[]) => scale.text(some.reduce((total, { value }) => total + value, 0));
  const choose = (query: number) => synced.put({ query, key: null });
  const label = (n: number) => tokenText(view.overview.queries.tokens[tokens[n]!]!);
  const cellOf = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const part = (from: number, size: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor((from / size) * n)));
    return part(event.clientY - box.top, box.height, rows) * cols + part(event.clientX - box.left, box.width, cols);
  };
  const mark = (n: number, name: string) =>
    n >= 0 && (
      <div
        class={`bl-mark-${name}`}
        style={{
          left: `${(100 * (n % cols)) / cols}%`,
          top: `${(100 * Math.floor(n / cols)) / rows}%`,
          width: `${100 / cols}%`,
          height: `${100 / rows}%`,
        }}
      />
    );
  const here = Math.max(0, at);
  return (
    <div class="bl-patches" data-testid="patches">
      <div
        class="bl-cells"
        role="grid"
        tabIndex={0}
        aria-label={`${scale.title}, ${scale.name}: an image of ${rows} by ${cols} patches. Arrow keys choose the query.`}
        aria-rowcount={rows}
        aria-colcount={cols}
        aria-activedescendant={id}
        style={{ aspectRatio: `${cols} / ${rows}`, backgroundImage: isSeen ? `url("${picture}")` : "" }}
        onClick={(event) => choose(tokens[cellOf(event)]!)}
        onKeyDown={onGridKey(
          { rows, cols },
          () => ({ row: Math.floor(here / cols), col: here % cols }),
          (cell) => {
            const n = cell.row * cols + cell.col;
            choose(tokens[n]!);
            page.said.value = `query ${label(n)}`;
          },
        )}
        onPointerMove={(event) => {
          const n = cellOf(event);
          showTip(
            view,
            event,
            <>
              {label(n)} <b class="bl-number">{scale.text(values[n]!)}</b>
            </>,
          );
        }}
        onPointerLeave={() => hideTip(view)}
      >
        <Pixels width={cols} height={rows} paint={paint} />
        {mark(at, "cell")}
        {!ofColumn && mark(tokens.indexOf(pieceOf(grid.cols[col ?? -1])), "row")}
        <div role="row" aria-rowindex={Math.floor(here / cols) + 1} class="bl-hidden">
          <span role="gridcell" id={id} aria-colindex={(here % cols) + 1} aria-selected={at >= 0}>
            {label(here)}: {scale.text(values[here]!)}
          </span>
        </div>
      </div>
      <Legend
        low={scale.signed ? scale.text(-hi) : "0"}
        high={scale.text(hi)}
        label={`${scale.symbol} of a patch`}
        colours={scale.colours}
      />
      {picture && (
        <Segmented
          label="under it"
          value={under}
          choices={["picture", "nothing"].map((value) => ({ value, label: value }))}
          onChange={setUnder}
        />
      )}
      <p class="bl-muted bl-number">
        {items.length - others.length} patches: {sum(items.filter((item) => !others.includes(item)))}
        {others.length > MOST_OTHERS
          ? `, ${others.length} other tokens ${sum(others)}`
          : others.map(({ unit, value }) => (
              <span key={pieceOf(unit)}>
                ,{" "}
                <button type="button" class="bl-link" onClick={() => choose(pieceOf(unit))}>
                  <Token text={unit.label} />
                </button>{" "}
                {scale.text(value)}
              </span>
            ))}
      </p>
    </div>
  );
}
