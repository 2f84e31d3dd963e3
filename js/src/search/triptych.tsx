// The wrong and the right passage side by side, the question between them, and arcs from its words to either side.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SearchCase } from "../generated/answers";
import { cssColor, inkOn } from "../paint/colormap";
import { counted, signed } from "../paint/format";
import { inks, signedColours } from "../paint/palette";
import { textProps } from "../paint/textprops";
import { Button } from "../parts/controls";
import { type Box, type Link, largestArc, linksOf, pathOf, spread, within } from "./arcs";
import { type Ground, groundsOf, peakOf } from "./grounds";
import { byJudgement } from "./judgement";
import { Rewrite } from "./rewrite";
import type { Side } from "./shapes";
import { type Experiment, type Search, useSearch } from "./state";
import { medianOf, WORDS, windowOf } from "./window";

const UNREAD = 240; // characters that are shown of what the model has not read

export const SIDES: Side[] = ["wrong", "query", "right"];
const NAMES: Record<Side, string> = { wrong: "Wrong passage", query: "Question", right: "Right passage" };
const UNJUDGED: Record<Side, string> = { ...NAMES, wrong: "One passage", right: "Another one" };

export const namesOf = ({ judged }: Pick<SearchCase, "judged">) => (judged ? NAMES : UNJUDGED);

/** Take a word out, or put it back. */
export function takeOut(search: Search, side: Side, key: string, name: string): void {
  const current = search.experiment.value;
  const how = current?.kind === "word" ? current.how : "hidden";
  const isOut = current?.kind === "word" && current.side === side && current.key === key;
  search.experiment.value = isOut ? null : { kind: "word", side, key, name, how };
}

export function Triptych({ of }: { of: SearchCase }) {
  const search = useSearch();
  const box = useRef<HTMLDivElement>(null);
  const [boxes, setBoxes] = useState<Record<string, Box>>({});
  const spot = search.spot.value;
  const links = linksOf(of, spot);
  const peak = peakOf(of);
  const measure = () => {
    const root = box.current;
    if (!root) return;
    const frame = root.getBoundingClientRect();
    const local = ({ left, top, right, bottom }: DOMRect): Box => ({
      ...{ left: left - frame.left, right: right - frame.left },
      ...{ top: top - frame.top, bottom: bottom - frame.top },
    });
    const measured: Record<string, Box> = {};
    for (const { side, row, at } of links)
      for (const [text, n] of [["query", row] as const, [side, at] as const]) {
        const word = root.querySelector(`[data-word="${text}-${n}"]`);
        const body = word?.closest(".bl-body");
        const drawn = word?.getClientRects()[0]; // none while the page is not on the screen
        if (drawn && body) measured[`${text}-${n}`] = within(local(drawn), local(body.getBoundingClientRect()));
      }
    setBoxes((old) => (JSON.stringify(old) === JSON.stringify(measured) ? old : measured));
  };
  useLayoutEffect(measure);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    document.fonts?.ready.then(measure);
    return () => observer.disconnect();
  }, [of, spot]);
  return (
    <div ref={box} class="bl-triptych" data-testid="triptych">
      <Arcs {...{ links, boxes, peak: largestArc(of) }} />
      {SIDES.map((side) => (
        <Column key={side} {...{ of, side, peak, measure }} />
      ))}
    </div>
  );
}

function Arcs({ links, boxes, peak }: { links: Link[]; boxes: Record<string, Box>; peak: number }) {
  const search = useSearch();
  const ink = inks(search.dark);
  const arcs = links.flatMap((link) => {
    const [from, to] = [boxes[`query-${link.row}`], boxes[`${link.side}-${link.at}`]];
    return from && to ? [{ ...link, ...pathOf(from, to) }] : [];
  });
  const placed = (["wrong", "right"] as const).flatMap((side) => {
    const column = arcs.filter((link) => link.side === side);
    const places = spread(column.map(({ y }) => y));
    return column.map((link, n) => ({ ...link, y: places[n]! }));
  });
  return (
    <svg class="bl-arcs" aria-hidden="true">
      {placed.map(({ side, row, at, part, path }) => (
        <path
          key={`${side}-${row}-${at}`}
          data-arc={`${side}-${row}-${at}`}
          d={path}
          fill="none"
          stroke={side === "wrong" ? ink.positive : ink.negative}
          stroke-width={1.5 + (7 * Math.abs(part)) / peak}
          stroke-opacity="0.75"
          stroke-linecap="round"
          stroke-dasharray={part < 0 ? "5 4" : undefined}
        />
      ))}
      {placed.map(({ side, row, at, part, x, y }) => (
        <text
          key={`number-${side}-${row}-${at}`}
          {...{ x, y: y + 4 }}
          text-anchor="middle"
          class="bl-arc-number"
          fill={ink.ink}
          stroke={ink.bg}
        >
          {signed(part, 3)}
        </text>
      ))}
    </svg>
  );
}

interface ColumnProps {
  of: SearchCase;
  side: Side;
  peak: number;
  measure: () => void;
}

function Column({ of, side, peak, measure }: ColumnProps) {
  const search = useSearch();
  const [isEdited, setEdited] = useState(false);
  const isRewritten = search.texts.value[side] !== null;
  const needs = search.kernel.value
    ? undefined
    : "Rewriting runs the model: it needs Python, r.explore() in a notebook";
  return (
    <section class={`bl-column-text bl-${side}`} aria-label={namesOf(of)[side]}>
      <header>
        <h4>{namesOf(of)[side]}</h4>
        {side !== "query" && <Choice of={of} side={side} />}
        <Button
          class="bl-link"
          aria-pressed={isEdited}
          disabled={!search.kernel.value}
          title={needs}
          onClick={() => setEdited(!isEdited)}
        >
          {isEdited ? "Done" : "Rewrite"}
        </Button>
        {isRewritten && (
          <Button
            class="bl-link"
            onClick={() => {
              setEdited(false);
              search.texts.value = { ...search.texts.value, [side]: null };
            }}
          >
            As it was
          </Button>
        )}
      </header>
      {isEdited ? (
        <Rewrite of={of} side={side} name={namesOf(of)[side]} end={() => setEdited(false)} />
      ) : (
        <Words {...{ of, side, peak, measure }} />
      )}
    </section>
  );
}

/** Which passage stands on a side. */
function Choice({ of, side }: { of: SearchCase; side: "wrong" | "right" }) {
  const search = useSearch();
  const opposite = side === "wrong" ? of.right : of.wrong;
  const candidates = of.passages.filter(
    ({ passage, relevant }) => passage !== opposite && (!of.judged || relevant === (side === "right")),
  );
  return (
    <select
      aria-label={`Which ${namesOf(of)[side].toLowerCase()}`}
      value={of[side]}
      disabled={candidates.length < 2}
      onChange={({ currentTarget }) => {
        search.experiment.value = null;
        search.spot.value = null;
        search.texts.value = { ...search.texts.value, [side]: null };
        search.passages.value = { wrong: of.wrong, right: of.right, [side]: currentTarget.value };
      }}
    >
      {candidates.map(({ passage, rank }) => (
        <option key={passage} value={passage} selected={passage === of[side]}>
          {rank === null ? "no rank" : `rank ${rank}`} · {passage}
        </option>
      ))}
    </select>
  );
}

/** A text's words on grounds of their parts; the keys go from word to word, Enter takes one out. */
function Words({ of, side, peak, measure }: ColumnProps) {
  const search = useSearch();
  const { pieces, names, keys } = of.texts[side];
  const grounds = groundsOf(of, side);
  const colours = signedColours(search.dark);
  const ground = inks(search.dark).bg;
  const { experiment, spot } = search;
  const laid = textProps(pieces.map(([text]) => text).join(""));
  const [isWhole, setWhole] = useState(false);
  const keyRows = pieces.flatMap(([, row]) => (keys[row] ? [row] : []));
  const out = experiment.value;
  const [from, to] = side === "query" || isWhole ? [0, keyRows.length] : windowOf(keyRows, grounds);
  const isClipped =
    to - from < keyRows.length &&
    !(out?.kind === "word" && out.side === side && keyRows.slice(from, to).every((row) => keys[row] !== out.key));
  const rows = isClipped ? keyRows.slice(from, to) : keyRows;
  const median = medianOf(keyRows, grounds);
  const spotRow = spot.value?.side === side ? spot.value.row : -1;
  const about = (row: number) => byJudgement(of, wordAbout(names[row]!, grounds[row]!));
  const isOut = (row: number) => {
    const current = experiment.value as Experiment | null;
    return current?.kind === "word" && current.side === side && current.key === keys[row];
  };
  const look = (row: number) => {
    spot.value = row < 0 ? null : { side, row };
  };
  const rowOf = (event: Event) => {
    const word = (event.target as Element).closest<HTMLElement>("[data-row]");
    return word ? Number(word.dataset.row) : -1;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const along = laid.dir === "rtl" ? -1 : 1;
    const step = { ArrowRight: along, ArrowDown: 1, ArrowLeft: -along, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const at = rows.indexOf(spotRow);
      const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]!;
      look(next);
      search.announcement.value = about(next);
      (event.currentTarget as Element).querySelector(`[data-row="${next}"]`)?.scrollIntoView({ block: "nearest" });
    } else if ((event.key === "Enter" || event.key === " ") && spotRow >= 0) {
      event.preventDefault();
      takeOut(search, side, keys[spotRow]!, names[spotRow]!);
    } else if (event.key === "Escape" && spotRow >= 0) {
      event.stopPropagation();
      look(-1);
    }
  };
  const word = (text: string, row: number) => {
    const share = grounds[row]?.part;
    const fill = share === undefined || Math.abs(share) <= median ? ground : cssColor(share, -peak, peak, colours);
    return (
      <span
        key={row}
        data-row={row}
        data-word={side === "query" ? undefined : `${side}-${row}`}
        class={`bl-case-word${isOut(row) ? " bl-out" : ""}${row === spotRow ? " bl-spot" : ""}`}
        style={{ background: fill, color: inkOn(fill) }}
        title={about(row)}
      >
        {text}
      </span>
    );
  };
  const isList = side === "query";
  const start = pieces.findIndex(([, row]) => row >= 0);
  const end = pieces.findLastIndex(([, row]) => row >= 0);
  const shownFrom = isClipped ? pieces.findIndex(([, row]) => row === rows[0]) : 0;
  const shownTo = isClipped ? pieces.findIndex(([, row]) => row === rows.at(-1)) : pieces.length - 1;
  const lengthButton = (
    <Button class="bl-link bl-muted bl-whole" aria-expanded={!isClipped} onClick={() => setWhole(!isWhole)}>
      {isClipped ? `all ${counted(keyRows.length)} words` : `${WORDS} words`}
    </Button>
  );
  return (
    <>
      <div
        class={`bl-body${isList ? " bl-word-list" : ""}`}
        role="group"
        aria-label={`${namesOf(of)[side]}: arrow keys go from word to word, Enter takes one out`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from word to word
        tabIndex={0}
        {...laid}
        onScroll={measure}
        onKeyDown={onKeyDown}
        onBlur={() => look(-1)}
        onPointerOver={(event) => {
          const row = rowOf(event);
          if (row !== spotRow && (row < 0 || keys[row])) look(row);
        }}
        onPointerLeave={() => look(-1)}
        onClick={(event) => {
          const row = rowOf(event);
          if (keys[row]) takeOut(search, side, keys[row]!, names[row]!);
        }}
      >
        {isClipped && shownFrom > 0 && "… "}
        {pieces.map(([text, row], n) => {
          if (n < shownFrom || n > shownTo) return null;
          if (keys[row] && isList)
            return (
              <span key={row} class="bl-word-line" data-word={`${side}-${row}`}>
                {word(text, row)}
                {grounds[row] && <small class="bl-number">{signed(grounds[row].part, 3)}</small>}
              </span>
            );
          if (keys[row]) return word(text, row);
          const isUnread = n < start || (n > end && text.trim().split(/\s+/).length > 1);
          if (isUnread) return <Unread key={`unread-${n}`} text={text} />;
          return isList && !text.trim() ? null : <span key={`between-${n}`}>{text}</span>;
        })}
        {isClipped && shownTo < pieces.length - 1 && " …"}
      </div>
      {side !== "query" && keyRows.length > WORDS && lengthButton}
    </>
  );
}

/** What a word puts into the difference, and into which score. */
export function wordAbout(name: string, ground: Ground | null): string {
  if (!ground) return name;
  const { part: share, wrong, right, places } = ground;
  const sums = [
    wrong === null ? "" : `${signed(wrong, 4)} of the wrong one’s score`,
    right === null ? "" : `${signed(right, 4)} of the right one’s`,
  ].filter(Boolean);
  const often = places > 1 ? `, in ${places} places` : "";
  return `${name}: ${signed(share, 4)} of the difference${sums.length > 0 ? ` (${sums.join(", ")})` : ""}${often}`;
}

/** What is behind the model's limit. */
function Unread({ text }: { text: string }) {
  const words = text.trim().split(/\s+/).length;
  if (words < 2) return <span>{text}</span>;
  return (
    <span class="bl-unread" title="Cut: the model has not read it">
      {text.slice(0, UNREAD)}
      {text.length > UNREAD ? "…" : ""} <small>not read: {counted(words)} words</small>
    </span>
  );
}
