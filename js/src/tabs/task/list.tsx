// The list of examples: only the rows in sight are drawn, so that ten thousand scroll as ten do.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { number, px } from "../../paint/format";
import { visibleText } from "../../paint/quotes";
import { Button, useElementId } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { type Column, type Examples, isWrong, rowAt, type State, valueAt } from "./examples";

const ROW = 28; // px, as the style has it
const BEYOND = 6; // rows drawn above and below what is in sight
const SEEN = 10; // rows in sight before the height is known
const CHARACTERS = 300; // characters of a text that a line may have

const LABELS: Record<string, string> = { row: "#", text_pair: "second text", probability: "p" };
const TITLES: Record<string, string> = {
  probability: "Probability of the guess",
  margin: "The label’s logit less the highest other one: below 0 where the guess is wrong",
  loss: "−log p(label), nats",
};

interface Props {
  examples: Examples;
  places: number[]; // of those that are listed
  state: State;
  shown: number | null; // the place of the one that is open
  rests: Map<number, string> | null; // by row: the words that an answer rests on
  open: (row: number) => void;
}

/** Of a column of classes, as far as there is room: as their names need. */
const widthOf = (names: string[]) =>
  Math.min(120, Math.max(66, 14 + 7 * Math.max(0, ...names.map(({ length }) => length))));

export function List({ examples, places, state, shown, rests, open }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const id = useElementId();
  const [top, setTop] = useState(0);
  const height = scroll.current?.clientHeight || SEEN * ROW;
  const columns = examples.columns.filter(({ name }) => name !== "right");
  const from = Math.max(0, Math.min(Math.floor(top / ROW), places.length - SEEN) - BEYOND);
  const to = Math.min(places.length, from + Math.ceil(height / ROW) + 2 * BEYOND);
  const active = Math.min(state.active.value, places.length - 1);
  const order = state.order.value;
  useLayoutEffect(() => {
    scroll.current!.scrollTop = 0;
    setTop(0);
  }, [places]);
  const go = (at: number) => {
    state.active.value = at;
    const box = scroll.current!;
    const head = ROW;
    if (at * ROW < box.scrollTop) box.scrollTop = at * ROW;
    else if ((at + 1) * ROW + head > box.scrollTop + box.clientHeight)
      box.scrollTop = (at + 1) * ROW + head - box.clientHeight;
    setTop(box.scrollTop);
  };
  const move = onGridKey(
    { rows: places.length, cols: 1 },
    () => ({ row: active, col: 0 }),
    ({ row }) => go(row),
  );
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nobody can come to it
  const spacer = (rows: number) => rows > 0 && <tr aria-hidden="true" style={{ height: px(rows * ROW) }} />;
  return (
    <div class="bl-scroll bl-examples" ref={scroll} onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: rows are chosen
        role="grid"
        class={columns.some(({ name }) => name === "change") ? "bl-changed" : ""}
        aria-label="Examples"
        aria-rowcount={places.length + 1}
        aria-activedescendant={active >= from && active < to ? `${id}-${active}` : undefined}
        tabIndex={0}
        onKeyDown={(event) => {
          if (event.target !== event.currentTarget) return; // a button of the head
          if (event.key === "Home" || event.key === "End") {
            event.preventDefault();
            go(event.key === "Home" ? 0 : places.length - 1);
          } else if (event.key === "Enter" && places.length > 0) {
            event.preventDefault();
            open(rowAt(examples, places[active]!));
          } else move(event);
        }}
      >
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ name, kind, names }) => {
              const isSorted = order?.name === name;
              const turn = { name, down: isSorted ? !order!.down : kind === "number" && name !== "row" };
              return (
                <th
                  key={name}
                  scope="col"
                  class={`bl-of-${kind} bl-ex-${name}`}
                  title={TITLES[name]}
                  style={names && { "--wide": px(widthOf(names)) }}
                  aria-sort={isSorted ? (order!.down ? "descending" : "ascending") : undefined}
                >
                  <Button
                    class="bl-sort"
                    onClick={() => {
                      state.order.value = turn;
                    }}
                  >
                    {LABELS[name] ?? name}
                    <span aria-hidden="true">{isSorted ? (order!.down ? " ▾" : " ▴") : ""}</span>
                  </Button>
                </th>
              );
            })}
            {rests && (
              <th scope="col" class="bl-of-text bl-ex-rests">
                rests on
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {spacer(from)}
          {places.slice(from, to).map((n, k) => {
            const at = from + k;
            const row = rowAt(examples, n);
            return (
              <tr
                key={n}
                id={`${id}-${at}`}
                aria-rowindex={at + 2}
                aria-selected={n === shown}
                class={`${n === shown ? "bl-pinned" : ""} ${at === active ? "bl-active" : ""}`}
                data-row={row}
                onClick={() => {
                  state.active.value = at;
                  open(row);
                }}
              >
                {columns.map((column) => (
                  <Cell key={column.name} column={column} n={n} isWrong={isWrong(examples, n) === true} />
                ))}
                {rests && (
                  <td class="bl-of-text bl-ex-rests" title={rests.get(row)}>
                    {rests.get(row) ?? ""}
                  </td>
                )}
              </tr>
            );
          })}
          {spacer(places.length - to)}
        </tbody>
      </table>
      {places.length === 0 && <p class="bl-empty">No example is like this.</p>}
    </div>
  );
}

function Cell({ column, n, isWrong }: { column: Column; n: number; isWrong: boolean }) {
  const { name, kind } = column;
  const value = valueAt(column, n);
  const style = `bl-of-${kind} bl-ex-${name} ${isWrong && name === "guess" ? "bl-selected" : ""}`;
  if (kind === "number")
    return <td class={style}>{name === "row" ? value : number(Number(value), name === "probability" ? 3 : 2)}</td>;
  if (kind === "flag") return <td class={style}>{value ? "yes" : "no"}</td>;
  const text = String(value);
  const words = visibleText(text.length > CHARACTERS ? `${text.slice(0, CHARACTERS)}…` : text);
  return (
    <td class={style} title={words} dir={kind === "text" ? "auto" : undefined}>
      {words}
    </td>
  );
}
