// Running text: the text as text, shaded by what one token looks at, or by who looks at it. For long texts, and to project.

import { useEffect, useRef, useState } from "preact/hooks";
import { bare, edges, type TokenSide, type Unit } from "../compute/grid";
import { largest, largestSize } from "../compute/largest";
import { standsApart } from "../compute/scripts";
import * as phrases from "../generated/phrases";
import { cssColor, inkOn } from "../paint/colormap";
import { counted, scaleEnd } from "../paint/format";
import { directionOf } from "../paint/quotes";
import { languageOf } from "../paint/textprops";
import { Button, binding, choicesOf, into, Segmented } from "../parts/controls";
import { onGridKey } from "../parts/gridkeys";
import { Legend } from "../parts/legend";
import { tokenClass, tokenQuote, tokenText, tokenWord } from "../parts/token";
import { useView, type View } from "../state/view";
import { headingWords, mostWords } from "./cellwords";
import { currentScale, pinToken, type Scale } from "./scale";
import { useSwept } from "./swept";

const TOKENS_AT_ONCE = 1024; // in the page; the others are behind a button
const TOKENS_NAMED = 5; // tokens that the line below names

/** What one token gives to the others, or gets of them, and how it is coloured: on a scale of its own. */
export interface Shades {
  to: boolean; // the token is a key: who looks at it
  at: number; // row or column of the grid
  unit: Unit; // the token
  units: Unit[]; // that are shaded
  values: Float32Array;
  scale: Scale;
}

/** The shades of the token under the pointer (`hover`), else of the pinned one, else of the one in focus; null without tokens. */
export function shadesOf(view: View, to = view.page.textSide.value === "to", hover = -1): Shades | null {
  const { grid, focus } = view;
  const { rows, cols, values } = grid;
  const [side, units, pinned, piece] = to ? [cols, rows, view.col, focus.key] : [rows, cols, view.row, focus.query];
  const inFocus = side.findIndex(({ pieces }) => pieces.includes(piece));
  const at = side[hover] ? hover : (pinned ?? Math.max(0, inFocus));
  const unit = side[at];
  if (!unit || units.length === 0) return null;
  const numbers = to ? values.column(at) : values.row(at);
  const scale = currentScale(view);
  const peak = scaleEnd(largestSize(numbers), scale.digits);
  return { to, at, unit, units, values: numbers, scale: { ...scale, lo: scale.signed ? -peak : 0, hi: peak } };
}

/** What a piece is in running text, and whether it stands apart from the piece before. */
export function written(side: TokenSide, { label, pieces }: Unit): { text: string; hasBlank: boolean } {
  const { words } = side;
  const n = pieces[0]!;
  const goesOn = n > 0 && words[n]! >= 0 && words[n] === words[n - 1];
  const text = goesOn ? bare(label, side) : label;
  return { text, hasBlank: n > 0 && !goesOn && standsApart(side, n) };
}

/** The side that units are read from, that of the text's own first letter. */
export const laid = (units: Unit[]) => directionOf(units.map(({ label, special }) => (special ? "" : label)).join(""));

interface StripProps {
  label: string;
  side: TokenSide;
  units: Unit[];
  shades: Shades | null; // null: not shaded
  marked: (n: number) => boolean;
  chosen?: (n: number) => boolean; // by a click, where that is not to mark
  pick?: (n: number) => void;
  hover?: (n: number | null) => void;
}

const More = ({ from, to, go }: { from: number; to: number; go: (n: number) => void }) => (
  <Button class="bl-link" onClick={() => go(from)}>
    {" "}
    … tokens {counted(from)} – {counted(to - 1)} …{" "}
  </Button>
);

/** Tokens as running text, each sentence a paragraph. */
export function Strip({ label, side, units, shades, marked, chosen, pick, hover }: StripProps) {
  const { overview } = useView();
  const box = useRef<HTMLDivElement>(null);
  const stop = Math.max(
    0,
    units.findIndex((_, n) => marked(n)),
  );
  const [start, setFirst] = useState(0); // of those that are there
  const end = Math.min(units.length, start + TOKENS_AT_ONCE);
  const show = (n: number) => (n < start || n >= end) && setFirst(Math.max(0, n - (TOKENS_AT_ONCE >> 1)));
  useEffect(() => void show(stop), [stop, units.length]);
  const starts = new Set(edges(overview.spans, units));
  const buttons = () => [...box.current!.querySelectorAll<HTMLElement>("[data-n]")];
  const at = () => ({
    row: 0,
    col: start + Math.max(0, buttons().indexOf(document.activeElement as HTMLElement)),
  });
  const move = onGridKey({ rows: 1, cols: units.length }, at, ({ col }) => {
    show(col);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-n="${col}"]`)?.focus());
  });
  const word = (unit: Unit, n: number) => {
    const { text, hasBlank } = written(side, unit);
    const value = shades?.values[n] ?? Number.NaN;
    const background = shades && cssColor(value, shades.scale.lo, shades.scale.hi, shades.scale.colours);
    const shared = {
      "data-n": n,
      class: `bl-word${marked(n) ? " bl-pinned" : ""}${chosen?.(n) ? " bl-chosen" : ""}`,
      style: background ? { background, color: inkOn(background) } : {},
    };
    const content = (
      <bdi dir="auto" class={tokenClass(text)}>
        {tokenText(text)}
      </bdi>
    );
    return (
      <>
        {starts.has(n) ? <br /> : hasBlank && " "}
        {pick ? (
          <Button
            {...shared}
            tabIndex={n === stop ? 0 : -1}
            aria-pressed={(chosen ?? marked)(n)}
            aria-label={`${tokenWord(text)} ${shades ? shades.scale.text(value) : ""}`}
            onClick={() => pick(n)}
            onPointerEnter={() => hover?.(n)}
            onPointerLeave={() => hover?.(null)}
            onFocus={(event) => event.currentTarget.matches(":focus-visible") && hover?.(n)}
            onBlur={() => hover?.(null)}
          >
            {content}
          </Button>
        ) : (
          <span {...shared}>{content}</span>
        )}
      </>
    );
  };
  const lang = overview.pair ? "" : languageOf(overview.text);
  return (
    <div
      ref={box}
      class="bl-running"
      lang={lang}
      dir={laid(units)}
      role="group"
      aria-label={label}
      onKeyDown={pick && move}
    >
      {start > 0 && <More from={Math.max(0, start - TOKENS_AT_ONCE)} to={start} go={setFirst} />}
      {units.slice(start, end).map((unit, n) => word(unit, start + n))}
      {end < units.length && <More from={end} to={Math.min(units.length, end + TOKENS_AT_ONCE)} go={setFirst} />}
    </div>
  );
}

/** The largest of a token's values in words: “sat” looks at on 0.731, the 0.120, …; the other 16 less. */
export function shadesInWords(view: View, { to, unit, units, values, scale }: Shades): string {
  const { positions } = largest(values, TOKENS_NAMED);
  const named = positions.map((n) => `${tokenWord(units[n]!.label)} ${scale.text(values[n]!)}`).join(", ");
  const count = units.length - positions.length;
  const tail = count > 0 ? `; the other ${counted(count)} ${scale.signed ? "differ " : ""}less` : "";
  return `${headingWords(view.shownHead, tokenQuote(unit.label), to).join("")}: ${named}${tail}`;
}

/** The colours of the shades. */
export const legendOf = ({ unit, scale }: Shades) => ({
  low: scale.signed ? scale.text(scale.lo) : "0",
  high: scale.text(scale.hi),
  label: phrases.OWN_SCALE({ symbol: scale.symbol, name: tokenQuote(unit.label) }),
  colours: scale.colours,
});

export function Running() {
  const view = useView();
  const { grid, overview, page } = view;
  const { rows, cols } = grid;
  const to = page.textSide.value === "to";
  useSwept(grid.values, to);
  const shades = shadesOf(view, to, page.hover.value?.[to ? "col" : "row"]);
  if (!shades) return null;
  const isOne =
    overview.square && rows.length === cols.length && rows.every((u, n) => u.pieces[0] === cols[n]!.pieces[0]);
  const pick = (n: number) => pinToken(view, !to, n);
  const hover = (n: number | null) =>
    into(page.hover)(n === null ? null : to ? { row: -1, col: n } : { row: n, col: -1 });
  const marked = (n: number) => n === shades.at;
  const from = { side: overview.queries, units: rows };
  const [shadedSide, plainSide] = to
    ? [{ side: overview.keyside, units: cols }, from]
    : [from, { side: overview.keyside, units: cols }];
  return (
    <div class="bl-text-view" data-testid="running">
      <Segmented<"from" | "to">
        label="shaded by"
        choices={choicesOf({ from: "what it looks at", to: "who looks at it" })}
        {...binding(page.textSide)}
      />
      <div class="bl-scroll bl-running-scroll">
        {isOne ? (
          <Strip label={to ? "keys" : "queries"} {...shadedSide} shades={shades} {...{ marked, pick, hover }} />
        ) : (
          <>
            <Strip label={to ? "keys" : "queries"} {...shadedSide} shades={null} {...{ marked, pick, hover }} />
            <Strip label={to ? "queries" : "keys"} {...plainSide} shades={shades} marked={() => false} />
          </>
        )}
      </div>
      <p data-testid="running-words">{mostWords(view, shades)}</p>
      <Legend {...legendOf(shades)} />
    </div>
  );
}
