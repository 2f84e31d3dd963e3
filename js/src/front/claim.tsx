// Two sentences that join the head and the answer: where it looks, and what happens without it.
import { useEffect, useRef, useState } from "preact/hooks";
import { grid, type Unit } from "../compute/grid";
import { isSure } from "../compute/logodds";
import { evenOf, mostWords } from "../head/cellwords";
import { isOfHead, placeIn } from "../kernel/opened";
import { capital, headLabel, signed } from "../paint/format";
import { Button } from "../parts/controls";
import { nounOf } from "../parts/nouns";
import { isMuch, neighbourOf } from "../parts/phrasing";
import { tokenQuote, wordName } from "../parts/token";
import {
  curveAt,
  type FrontAnswer,
  type HeadsThatMatter,
  headsInHand,
  isExact,
  isLone,
  isSureOf,
  useFront,
  useHeads,
  useHeadsToCome,
} from "../state/frontanswers";
import { useView, type View } from "../state/view";
import { wordShares } from "./answerbars";
import {
  type Best,
  COUNTS,
  type Effect,
  habitPieces,
  type Look,
  lookPieces,
  louderPieces,
  nonePieces,
  type Piece,
  plain,
  withoutPieces,
} from "./claims";
import { placeOf } from "./opening";
import { askerOf, type PreviewRow, previewOf, type Words, wordsOf } from "./sentence/wordrow";
import { isBrief, isUnfolded } from "./unfolded";

const SPOKEN_AFTER = 500; // ms
const LEAST = 0.005; // of a weight that is said of a pinned key: a hidden one gets none

const nameOf = ({ label, special }: Unit) => ({ text: wordName({ label, special }), special });

/** What the word that asks gives most to, as the arcs have it; in words for other measures than weight. */
function lookOf(view: View, words: Words, preview: PreviewRow | null): Look | string {
  const { overview, shownHead, focus, page } = view;
  const { layer, head, layerMap, measure, values } = shownHead;
  const { rows, cols } = words;
  const hovered = preview ?? page.front.word.value;
  const has = (n: number) => (unit: Unit) => unit.pieces.includes(n);
  const at = preview?.asker ?? askerOf(view, words);
  const query = rows[at]!;
  const numbers = preview?.weights ?? grid(layerMap?.values ?? values, [query], cols).values.row(0);
  const name = preview ? headLabel(preview.layer, preview.head) : headLabel(layer, head);
  if (!preview && (layerMap || measure !== "weight")) {
    const words = mostWords(view, { to: false, unit: query, units: cols, values: numbers });
    return layerMap ? words : `In ${name}, ${words}`;
  }
  const largest = numbers.reduce((best, value, n) => (value > numbers[best]! ? n : best), 0);
  const pinned = focus.pinnedKey && !hovered ? cols.findIndex(has(focus.key)) : -1;
  const isClear =
    pinned >= 0 && numbers[pinned]! >= LEAST && isMuch(numbers[pinned]!, evenOf(shownHead, query, cols[pinned]!));
  const to = isClear ? pinned : largest;
  const key = cols[to]!;
  return {
    ...{ head: name, hovered: hovered !== null, query: nameOf(query), key: nameOf(key), value: numbers[to]! },
    even: evenOf(shownHead, query, key),
    noun: nounOf(overview),
    itself: overview.square && at === to,
  };
}

/** What the answer does, in numbers that are on the screen. */
export function effectOf(view: View, front: FrontAnswer, best: Best | null): Effect {
  const { loudness, curve, factor, isDragged, score } = front;
  const { factors } = loudness!;
  const silent = curveAt(factors, curve!, 0);
  return {
    ...subjectOf(view, front, best),
    from: curveAt(factors, curve!, 1),
    to: factor === 1 ? silent : isDragged ? curveAt(factors, curve!, factor) : score,
    about: isDragged && !isExact(loudness!, factor),
    sure: isSureOf(front),
  };
}

/** What the numbers are of, before they are known. */
function subjectOf(view: View, front: FrontAnswer, best: Best | null): Omit<Effect, "from" | "to" | "about" | "sure"> {
  const { overview, shownHead } = view;
  const { answers, shares, lead, factor, changeCount } = front;
  const { kind, places } = answers;
  const headCount = headsInHand(view).length;
  const split = shares?.state === "answered" && !shares.value.why_not ? shares.value.shares : null;
  const carrier = split && wordShares(overview.queries, split).find(({ special }) => !special);
  return {
    ...{ kind, factor, changeCount, best, name: lead.name, lone: isLone(answers) },
    head: headCount > 1 ? `these ${COUNTS[headCount]}` : headLabel(shownHead.layer, shownHead.head),
    where:
      kind === "tags"
        ? ` for ${tokenQuote(overview.queries.tokens[lead.position]!)}`
        : places.length > 0
          ? ` at ${lead.position}`
          : "",
    peak:
      kind === "words"
        ? Math.max(...answers.rows.map((row) => (row.position === lead.position ? row.before : 0)))
        : undefined,
    carrier: carrier ? { word: wordName(carrier), share: carrier.share } : null,
  };
}

/** Whether the run shown is the one that the curve is of: what else was done to this head is not in the curve. */
const isOfCurve = ({ score, loudness, curve, runFactor, isDragged }: FrontAnswer): boolean =>
  isDragged ||
  !isExact(loudness!, runFactor) ||
  Math.abs(curveAt(loudness!.factors, curve!, runFactor) - score) < 0.002;

/** What the head does over the text; nothing where the picture is of something else than its weights. */
function generalOf(view: View, preview: PreviewRow | null): Piece[] {
  const { overview, shownHead } = view;
  const { layer, head, layerMap, measure } = shownHead;
  if (!preview && (layerMap || measure !== "weight" || headsInHand(view).length > 1)) return [];
  const place = preview ?? { layer, head };
  return habitPieces(neighbourOf(overview, place.layer, place.head), nounOf(overview));
}

/** The head that does most, of those that were run. */
function bestOf({ heads, before, tried }: HeadsThatMatter): Best | null {
  const [layer, head, change] = heads[0] ?? [];
  if (layer === undefined) return null;
  const lowest = before + Math.min(...heads.map(([, , change]) => change));
  return { head: headLabel(layer, head!), change: change!, tried, least: lowest };
}

/** Where heads are taken together: that none does it alone. */
function noneOf(view: View, front: FrontAnswer, heads: HeadsThatMatter): Piece[] | null {
  const sure = !isLone(front.answers) && isSure(heads.unit, heads.before);
  const numbers = { from: heads.before, to: heads.before, about: false, sure };
  return nonePieces({ ...subjectOf(view, front, bestOf(heads)), ...numbers });
}

/** Both sentences; `null` where there is nothing to say, "…" while it is asked. */
function claimOf(
  view: View,
  front: FrontAnswer | null,
  heads: HeadsThatMatter | null,
  preview: PreviewRow | null,
): (Piece[] | null)[] {
  const look = lookOf(view, wordsOf(view.overview), preview);
  const looks = typeof look === "string" ? [capital(look)] : lookPieces(look);
  if (!front) return [looks, null];
  if (front.isTogether && !preview && front.factor === 1 && heads)
    return view.page.front.word.value ? [looks, null] : [noneOf(view, front, heads), null];
  if (front.waits) return [looks, ["…"]];
  if (!front.curve) return [looks, front.refused ? [front.refused] : null];
  const effect = effectOf(view, front, heads && bestOf(heads));
  if (preview) {
    const [, , change] = heads?.heads.find(([l, h]) => l === preview.layer && h === preview.head) ?? [];
    if (change === undefined || view.overview.changes.length > 0) return [looks, null];
    const numbers = { from: heads!.before, to: heads!.before + change, factor: 1, about: false };
    return [looks, withoutPieces({ ...effect, ...numbers, best: null, carrier: null })];
  }
  if (!isOfCurve(front)) return [looks, null];
  if (front.factor === 1) return [looks, withoutPieces(effect)];
  const sentences = louderPieces(effect, typeof look === "string" ? null : look);
  if (view.page.front.word.value) return [looks, sentences[0]];
  return front.isTogether ? [sentences[0], null] : sentences;
}

export function Claim() {
  const view = useView();
  const front = useFront();
  const heads = useHeads();
  const preview = previewOf(view, wordsOf(view.overview));
  const lines = claimOf(view, front, heads.state === "answered" ? heads.value : null, preview);
  const isMoving = Boolean(front?.isDragged) || view.page.front.word.value !== null || preview !== null;
  const isComing = view.running.value || Boolean(front?.waits);
  const general = isUnfolded(view) ? [] : generalOf(view, preview); // the atlas tells
  return (
    <>
      <p class="bl-claim" data-testid="claim" id={view.page.front.claimId}>
        {lines.map((line, n) => (
          <span key={n} class={n > 0 && front?.refused ? "bl-claim-line bl-refused" : "bl-claim-line"}>
            {line && <Pieces pieces={line} />}{" "}
          </span>
        ))}
      </p>
      {general.length > 0 && (
        <p class="bl-general" data-testid="general">
          <Pieces pieces={general} />
        </p>
      )}
      <YourHead />
      <Spoken text={isMoving || isComing ? null : lines.map((line) => plain(line ?? [])).join(" ")} />
    </>
  );
}

/** That the head shown is one that the reader chose, and the way to the one that matters most. */
function YourHead() {
  const view = useView();
  const { synced, overview, shownHead } = view;
  const heads = useHeads();
  const { isComing } = useHeadsToCome();
  const place = heads.state === "answered" && !isComing ? placeOf(heads.value, null, null) : null;
  const isFirst = place?.layer === shownHead.layer && place.head === shownHead.head;
  if (isBrief(view)) return null; // an answer needs the room
  if (!place || isFirst || shownHead.layerMap || overview.changes.length > 0 || isOfHead(placeIn(synced))) return null;
  const [, , change] = (heads as { value: HeadsThatMatter }).value.heads.find(
    ([l, h]) => l === place.layer && h === place.head,
  )!;
  return (
    <p class="bl-your-head" data-testid="your-head">
      <b>your head</b> · best here:{" "}
      <Button
        class="bl-link"
        title="Show it; from then on the head follows the text"
        onClick={() => synced.put({ ...place, opened: place, layer_map: "" })}
      >
        {headLabel(place.layer, place.head)} {signed(change, 2)} ›
      </Button>
    </p>
  );
}

/** What a screen reader hears: each change once, when it has been there for a moment; null: it is on its way. */
export function Spoken({ text }: { text: string | null }) {
  const [spoken, setSpoken] = useState("");
  const previous = useRef<string | null>(null); // what the view opened with is read, not told
  useEffect(() => {
    if (text === null) return;
    const timer = setTimeout(() => {
      if (previous.current !== null && text !== previous.current) setSpoken(text);
      previous.current = text;
    }, SPOKEN_AFTER);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <span class="bl-hidden" role="status" data-testid="claim-spoken">
      {spoken}
    </span>
  );
}

/** A sentence with its words, heads and numbers. */
export const Pieces = ({ pieces }: { pieces: Piece[] }) => (
  <>
    {pieces.map((piece, n) => {
      if (typeof piece === "string") return piece;
      if ("word" in piece)
        return (
          <i key={n} class="bl-text-word">
            {piece.word}
          </i>
        );
      if ("mark" in piece)
        return (
          <span key={n} class="bl-mark">
            {piece.mark}
          </span>
        );
      if ("head" in piece) return <b key={n}>{piece.head}</b>;
      return (
        <span key={n} class={piece.strong ? "bl-number bl-strong" : "bl-number"}>
          {piece.number}
        </span>
      );
    })}
  </>
);
