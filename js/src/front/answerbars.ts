// The answer as bars: which rows, how long each is, and which part of it the head holds.
import { type TokenSide, units } from "../compute/grid";
import { ANSWERS } from "../generated/vocabulary";
import type { AnswerRow } from "../state/effects";
import { between, curveAt, curveOf, type FrontAnswer, isExact, type Shares } from "../state/frontanswers";
import { isAlike } from "./claims";

const ROWS = 5;
const TAGS = 9; // as many as four kinds of name have in a text

/** One bar. */
export interface Bar {
  name: string;
  position: number; // of the row it is, -1 of the whole text
  pieces: number[]; // of the word whose share it is
  now: number;
  off: number | null; // without the head, in a run that has it as it is
  was: number | null; // before the change
  about: boolean; // it lies between two runs
  isAsked: boolean; // it is of the answer whose change is told
  markers?: boolean; // the tokens of the template together
}

/** Each word's share of a vector, its pieces summed, the largest first. */
export const wordShares = (side: TokenSide, shares: ArrayLike<number>) =>
  units(side, true)
    .map(({ label, pieces, special }) => ({
      ...{ label, pieces, special },
      share: pieces.reduce((sum, n) => sum + shares[n]!, 0),
    }))
    .sort((a, b) => b.share - a.share);

const isThe = (one: AnswerRow) => (row: AnswerRow) => row.name === one.name && row.position === one.position;

/** Which place the word that the reader hid has among the guesses, from 1; null where it is none of the best. */
export function ownPlace({ answers, own }: FrontAnswer): number | null {
  if (!own) return null;
  const place =
    1 + answers.rows.filter(({ position, before }) => position === own.position && before > own.before).length;
  return place <= ANSWERS ? place : null;
}

/** The rows that are shown, as the model's own run ranks them: the one that is asked about and the best now are there. */
export function barRows({ answers, lead, own }: FrontAnswer): AnswerRow[] {
  const { kind } = answers;
  const rows = own && !answers.rows.some(isThe(own)) ? [...answers.rows, own] : answers.rows;
  const candidates = ["words", "tags"].includes(kind)
    ? rows.filter(({ position }) => position === lead.position)
    : rows;
  const order = kind === "words" || kind === "labels" ? candidates.toSorted((a, b) => b.before - a.before) : candidates;
  const best = candidates.reduce((a, b) => (b.after > a.after ? b : a));
  const needed = order.filter((row) => row === best || row === lead || (own && isThe(own)(row)));
  const room = (kind === "tags" ? TAGS : ROWS) - needed.length;
  const others = order.filter((row) => !needed.includes(row)).slice(0, room);
  return order.filter((row) => needed.includes(row) || others.includes(row));
}

/** The bars of an answer. While its slider is dragged they are those of its curves. preview: what another head that is
 * pointed at does to the lead. */
export function answerBars(front: FrontAnswer, preview: number | null = null): Bar[] {
  const { loudness, factor, isDragged, changeCount } = front;
  const rows = barRows(front);
  const withoutPreview = (row: AnswerRow) => (row === front.lead ? row.before + preview! : null);
  const bars = rows.map((row): Bar | null => {
    const curve = loudness && curveOf(loudness, row);
    const at = (factor: number) => (curve ? curveAt(loudness!.factors, curve, factor) : null);
    const now = isDragged ? at(factor) : row.after;
    if (now === null) return null; // it came in with the run that is being left
    return {
      ...{ name: row.name, position: row.position, pieces: [], now },
      off: factor !== 1 || changeCount > 0 ? null : preview === null ? at(0) : withoutPreview(row),
      was: factor === 1 ? (changeCount > 0 ? row.before : null) : (at(1) ?? row.before),
      about: isDragged && !isExact(loudness!, factor),
      isAsked: row === front.lead,
    };
  });
  return bars.filter((bar) => bar !== null);
}

/** The bars of what a vector rests on: words, then the template's tokens together. */
export function shareBars(front: FrontAnswer, side: TokenSide, { shares }: Shares): Bar[] {
  const { loudness, factor, isDragged, changeCount } = front;
  const at = (factor: number) => (loudness?.shares ? between(loudness.factors, loudness.shares, factor) : null);
  const [now, off, was] = [
    (isDragged && at(factor)) || shares!,
    factor === 1 && changeCount === 0 ? at(0) : null,
    factor === 1 ? null : at(1),
  ];
  const sum = (numbers: ArrayLike<number> | null, pieces: number[]) =>
    numbers && pieces.reduce((total, n) => total + numbers[n]!, 0);
  const ranked = wordShares(side, was ?? shares!);
  const bar = (name: string, pieces: number[], markers = false): Bar => ({
    ...{ name, pieces, markers, position: -1, now: sum(now, pieces)!, off: sum(off, pieces), was: sum(was, pieces) },
    about: isDragged && !isExact(loudness!, factor),
    isAsked: false,
  });
  const special = ranked.filter((one) => one.special).sort((a, b) => a.pieces[0]! - b.pieces[0]!);
  const names = [...new Set(special.map(({ label }) => label))].join(" ");
  return [
    ...ranked
      .filter((one) => !one.special)
      .slice(0, ROWS)
      .map(({ label, pieces }) => bar(label, pieces)),
    ...(special.length > 0
      ? [
          bar(
            names,
            special.flatMap(({ pieces }) => pieces),
            true,
          ),
        ]
      : []),
  ];
}

/** Of every bar its numbers at the nine strengths. */
export function curvesOf({ answers, loudness }: FrontAnswer, bars: Bar[]): number[][] {
  if (!loudness) return [];
  if (answers.kind !== "embedding") return answers.rows.map((row) => curveOf(loudness, row) ?? []);
  const { shares, factors } = loudness;
  const width = (shares?.length ?? 0) / factors.length;
  const sum = (at: number, pieces: number[]) => pieces.reduce((total, n) => total + shares![at * width + n]!, 0);
  return shares ? bars.map(({ pieces }) => factors.map((_, at) => sum(at, pieces))) : [];
}

/** A stretch of a bar's track, in shares of its length. */
export interface Stretch {
  kind: "stays" | "lost" | "gone" | "gained";
  from: number;
  to: number;
}

/** Where the track begins and ends: at round numbers not below `least`, the same for every strength of the head. */
export function trackOf(bars: Bar[], curves: number[][], least = 0): [lo: number, hi: number] {
  const numbers = [...bars.flatMap(({ now, off, was }) => [now, off ?? now, was ?? now]), ...curves.flat()];
  const peak = Math.max(least, ...numbers);
  const hi = [0.1, 0.25, 0.5, 1].find((end) => peak <= end) ?? peak;
  return [Math.min(0, ...numbers), hi];
}

/** The stretches of a bar: what stays, and of the one that is asked about what is lost or gained, without the head or
 * by the change. */
export function stretchesOf({ now, off, was }: Bar, [lo, hi]: [number, number], lead = true): Stretch[] {
  const place = (value: number) => (value - lo) / (hi - lo || 1);
  const stretch = (kind: Stretch["kind"], a: number, b: number): Stretch => ({
    ...{ kind, from: place(Math.min(a, b)), to: place(Math.max(a, b)) },
  });
  const reference = was ?? off;
  if (!lead || reference === null || now < 0 || reference < 0 || isAlike(now, reference))
    return [stretch("stays", 0, now)];
  if (was !== null)
    return now < was
      ? [stretch("stays", 0, now), stretch("gone", now, was)]
      : [stretch("stays", 0, was), stretch("gained", was, now)];
  return reference < now
    ? [stretch("stays", 0, reference), stretch("lost", reference, now)]
    : [stretch("stays", 0, now), stretch("gone", now, reference)];
}
