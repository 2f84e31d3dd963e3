// Above the list beside the head: where tokens are patches of an image, what it lists drawn as an image.

import { useCallback, useMemo, useState } from "preact/hooks";
import type { Item, Unit } from "../compute/grid";
import { largestSize } from "../compute/largest";
import { paint as paintValues } from "../paint/colormap";
import { counted, scaleEnd } from "../paint/format";
import { Button, Segmented, useElementId } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import { Legend } from "../parts/legend";
import { Pixels } from "../parts/pixels";
import { Token, tokenText } from "../parts/token";
import { hideTip, showTip } from "../parts/tooltip";
import type { Patches } from "../state/overview";
import { useView, type View } from "../state/view";
import { currentScale } from "./scale";
import { useSwept } from "./swept";

export function AboveList({ items }: { items: Item[] }) {
  const { patches } = useView().overview;
  return (
    <>
      <Sweeping />
      {patches && items.length > 0 && <Picture items={items} patches={patches} />}
    </>
  );
}

/** Beside a list that needs every row: of the mean query, or of a key where a cell needs its whole row. */
function Sweeping() {
  const { grid, row, col } = useView();
  const { values } = grid;
  const isKnown = useSwept(values, row === null);
  const isWanted = row === null && (col === null || values.whole);
  return !isKnown && isWanted ? <p class="bl-muted">computing all {counted(grid.rows.length)} rows …</p> : null;
}

const MOST_OTHERS = 3; // tokens that are no patches, each with its number

const pieceOf = (unit: Unit | undefined) => unit?.pieces[0] ?? -1;
const choose = ({ synced }: View, query: number) => synced.put({ query, key: null });

/** The row of the pinned query (or the column, or the means) as an image, and the numbers of the tokens that are no patches. */
function Picture({ items, patches }: { items: Item[]; patches: Patches }) {
  const view = useView();
  const { grid, row, col } = view;
  const { tokens, picture } = patches;
  const [under, setUnder] = useState(picture ? "picture" : "nothing");
  const scale = currentScale(view);
  const ofColumn = row === null && col !== null;
  const at = tokens.indexOf(pieceOf(ofColumn ? grid.cols[col] : grid.rows[row ?? -1]));
  const values = useMemo(() => {
    const byPiece = new Map(items.map(({ unit, value }) => [pieceOf(unit), value]));
    return Float32Array.from(tokens, (piece) => byPiece.get(piece) ?? Number.NaN);
  }, [items, tokens]);
  const hi = scaleEnd(largestSize(values));
  const outside = items.filter(({ unit }) => !tokens.includes(pieceOf(unit)));
  const sum = (some: Item[]) => scale.text(some.reduce((total, { value }) => total + value, 0));
  return (
    <div class="bl-patches" data-testid="patches">
      <PatchGrid
        {...{ patches, values, hi }}
        isSeen={under === "picture"}
        query={at}
        cell={ofColumn ? -1 : tokens.indexOf(pieceOf(grid.cols[col ?? -1]))}
      />
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
        {items.length - outside.length} patches: {sum(items.filter((item) => !outside.includes(item)))}
        {outside.length > MOST_OTHERS
          ? `, ${outside.length} other tokens ${sum(outside)}`
          : outside.map(({ unit, value }) => (
              <span key={pieceOf(unit)}>
                ,{" "}
                <Button class="bl-link" onClick={() => choose(view, pieceOf(unit))}>
                  <Token text={unit.label} />
                </Button>{" "}
                {scale.text(value)}
              </span>
            ))}
      </p>
    </div>
  );
}

interface PatchGridProps {
  patches: Patches;
  values: Float32Array; // one of each patch
  hi: number; // the value of the last colour
  isSeen: boolean; // the picture under them
  query: number; // the pinned patch, -1 for none
  cell: number; // the patch that is pinned as its key
}

/** A pixel a patch; a click and the arrow keys choose the query. */
function PatchGrid({ patches, values, hi, isSeen, query, cell }: PatchGridProps) {
  const view = useView();
  const { rows, cols, tokens, picture } = patches;
  const id = useElementId();
  const scale = currentScale(view);
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      paintValues(values, scale.signed ? -hi : 0, hi, scale.colours, out);
      if (!isSeen) return;
      // the least value lets most of the picture through, the largest nothing; all alike let it be seen
      const sizes = values.map(Math.abs);
      const numbers = sizes.filter((size) => !Number.isNaN(size));
      const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
      for (const [n, size] of sizes.entries()) out[4 * n + 3] = 50 + (205 * (size - low)) / (high - low || 1);
    },
    [values, scale.colours, isSeen],
  );
  const label = (n: number) => tokenText(view.overview.queries.tokens[tokens[n]!]!);
  const cellOf = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const slot = (from: number, size: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor((from / size) * n)));
    return slot(event.clientY - box.top, box.height, rows) * cols + slot(event.clientX - box.left, box.width, cols);
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
  const position = Math.max(0, query);
  return (
    <div
      class="bl-cells"
      role="grid"
      tabIndex={0}
      aria-label={`${scale.title}, ${scale.name}: an image of ${rows} by ${cols} patches. Arrow keys choose the query.`}
      aria-rowcount={rows}
      aria-colcount={cols}
      aria-activedescendant={id}
      style={{ aspectRatio: `${cols} / ${rows}`, backgroundImage: isSeen ? `url("${picture}")` : "" }}
      onClick={(event) => choose(view, tokens[cellOf(event)]!)}
      onKeyDown={onGridKey(
        { rows, cols },
        () => ({ row: Math.floor(position / cols), col: position % cols }),
        (cell) => {
          const n = cell.row * cols + cell.col;
          choose(view, tokens[n]!);
          view.page.announcement.value = `query ${label(n)}`;
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
      {mark(query, "cell")}
      {mark(cell, "row")}
      <div role="row" aria-rowindex={Math.floor(position / cols) + 1} class="bl-hidden">
        <span role="gridcell" id={id} aria-colindex={(position % cols) + 1} aria-selected={query >= 0}>
          {label(position)}: {scale.text(values[position]!)}
        </span>
      </div>
    </div>
  );
}
