// What is said of a cell, of a row or column, and of how a picture is read, in the words of what is shown.
import { type Slice, visible } from "../compute/attention";
import type { Unit } from "../compute/grid";
import { largest } from "../compute/largest";
import { isLong } from "../compute/windows";
import { MEASURES, type Measure, NEGATIVE, POSITIVE } from "../generated/vocabulary";
import { capital, counted, plural, upTo } from "../paint/format";
import { isNothing } from "../paint/ranked";
import { nounOf } from "../parts/nouns";
import { isMuch } from "../parts/phrasing";
import { tokenQuote } from "../parts/token";
import { renormalized } from "../state/headgrid";
import type { ShownHead } from "../state/shownhead";
import type { View } from "../state/view";
import { currentScale, type Scale } from "./scale";

/** In which measure's words cells are told; "" for a map of a layer that is told in none. */
export const saidAs = ({ layerMap, measure }: ShownHead): Measure | "" => (layerMap ? layerMap.word.said_as : measure);

/** What rows and columns are called. */
export const unitNoun = ({ synced, overview }: View): string =>
  ({ pieces: nounOf(overview), words: "word", spans: "domain" })[synced.units.value];

const quoted = ({ label }: Unit): string => tokenQuote(label);

/** What is said before a map of a whole layer. */
const ofLayer = ({ shownHead }: View, { name }: Scale): string => (shownHead.layerMap ? `${name}: ` : "");

/** Whether filters leave some keys out. */
const isPart = ({ grid, shownHead }: View): boolean =>
  grid.cols.reduce((sum, { pieces }) => sum + pieces.length, 0) < shownHead.slice.K;

/** "more than any other word", "only “cat” gets more", "9 words get more": a cell among those of its row. */
function placeWords(view: View, own: Float32Array, col: number, gives: boolean): string {
  const { cols } = view.grid;
  const size = Math.abs(own[col]!);
  const larger = cols.filter((_, n) => Math.abs(own[n]!) > size);
  const isAlike = cols.some((_, n) => n !== col && Math.abs(own[n]!) === size);
  const [noun, scope] = [unitNoun(view), isPart(view) ? " shown" : ""];
  if (cols.length === 1) return "";
  if (larger.length === 0) {
    if (isAlike) return gives ? `; no ${noun}${scope} gets more` : `, and more from no ${noun}${scope}`;
    return `, more than ${gives ? "" : "from "}any other ${noun}${scope}`;
  }
  if (larger.length > 1) {
    const rivals = `${counted(larger.length)} ${plural(noun)}${scope}`;
    return gives ? `; ${rivals} get more` : `, and more from ${rivals}`;
  }
  const rival = quoted(larger[0]!);
  const among = scope && `of the ${plural(noun)} shown `;
  return gives ? `; ${among}only ${rival} gets more` : `, and more ${among}only from ${rival}`;
}

/** What a weight would be if the row were even: of all keys that the model lets its pieces see. */
export function evenOf({ slice }: ShownHead, query: Unit, key: Unit): number {
  const shares = query.pieces.map((i) => {
    const sees = (j: number) => visible(slice, i, j);
    const keyCount = upTo(slice.K).filter(sees).length;
    return key.pieces.filter(sees).length / keyCount;
  });
  return shares.reduce((sum, part) => sum + part, 0) / shares.length;
}

function evenWords({ shownHead }: View, even: number, scale: Scale): string {
  const over = shownHead.slice.mask.kind === "full" ? "" : " over all that it may look at,";
  return ` Spread evenly${over} it would be ${scale.text(even)}.`;
}

/** One cell: what its row gives it, or takes from it, and whether that is much. */
export function cellWords(view: View, row: number, col: number): string {
  const { grid, shownHead, synced } = view;
  const scale = currentScale(view);
  const [query, key] = [grid.rows[row]!, grid.cols[col]!];
  const numbers = grid.values.row(row);
  const value = numbers[col]!;
  const [from, to, text] = [quoted(query), quoted(key), scale.text(value)];
  const prefix = ofLayer(view, scale);
  const as = saidAs(shownHead);
  if (Number.isNaN(value)) return `${prefix}${from} and ${to} have no number here.`;
  const isSeen = query.pieces.some((i) => key.pieces.some((j) => visible(shownHead.slice, i, j)));
  if (!isSeen && !shownHead.layerMap) return `${from} cannot look at ${to}: the model does not let it.`;
  const place = as === "difference" ? "" : placeWords(view, numbers, col, as === "weight");
  if (as === "") return `${prefix}${text} for ${from} and ${to}.`;
  if (as === "norm") return `${prefix}${from} takes ${text} from ${to}${place}.`;
  if (as === "difference") {
    if (Number(text.replace("−", "-")) === 0) return `${from} looks at ${to} as much as it takes from it.`;
    if (value > 0) return `${from} looks at ${to} more than it takes from it: ${text}.`;
    return `${from} takes from ${to} more than it looks at it: ${text}.`;
  }
  const best = largest(numbers, 1).positions[0];
  if (!prefix && text === scale.text(0) && best !== undefined && scale.text(numbers[best]!) !== text)
    return `${from} does not look at ${to} here; most goes to ${quoted(grid.cols[best]!)}.`;
  const isScaled = renormalized(synced, shownHead);
  const even = isScaled || shownHead.layerMap ? "" : evenWords(view, evenOf(shownHead, query, key), scale);
  return `${prefix}${from} gives ${to} ${text} of its attention${isScaled ? " to what is shown" : ""}${place}.${even}`;
}

/** Of cells that are all the same. */
const ALIKE = {
  weight: (own: string, to: boolean) => (to ? `all look at ${own} alike` : `${own} looks at all alike`),
  norm: (own: string, to: boolean) => (to ? `all take from ${own} alike` : `${own} takes from all alike`),
  "": (own: string) => `${own} has the same number with all`,
};

/** A row, or a column (`to`): the one cell of it that is largest, and what chance gives where it is not much more. */
export function mostWords(
  view: View,
  { to, unit, units, values }: { to: boolean; unit: Unit; units: Unit[]; values: Float32Array },
): string {
  const scale = currentScale(view);
  const at = largest(values, 1).positions[0];
  const name = quoted(unit);
  if (at === undefined) return `${name} has no numbers here.`;
  const [partner, text] = [quoted(units[at]!), scale.text(values[at]!)];
  const [query, key] = to ? [partner, name] : [name, partner];
  const prefix = ofLayer(view, scale);
  const as = saidAs(view.shownHead);
  const isZero = text === scale.text(0);
  const numbers = values.filter((value) => !Number.isNaN(value));
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (as === "difference") {
    if (isZero) return to ? `All take from ${name} as much as they look at it.` : `${name} takes where it looks.`;
    const does = values[at]! > 0 ? "looks there more than it takes" : "takes there more than it looks";
    return to
      ? `At ${name}, ${partner} differs most: it ${does}, ${text}.`
      : `${name} differs most at ${partner}: it ${does}, ${text}.`;
  }
  if (!isZero && numbers.length > 1 && isNothing(high - low)) return `${prefix}${ALIKE[as](name, to)}, ${text} each.`;
  if (as === "weight") {
    if (isZero) return `${prefix}${to ? `Nothing shown looks at ${name}` : `${name} looks at nothing shown`}.`;
    const even = to || view.shownHead.layerMap ? 0 : evenOf(view.shownHead, unit, units[at]!);
    const chance =
      renormalized(view.synced, view.shownHead) || isMuch(values[at]!, even) ? "" : evenWords(view, even, scale);
    return `${prefix}${to ? `${key} is looked at most by ${query}` : `${query} looks most at ${key}`}, ${text}.${chance}`;
  }
  if (as === "") return `${prefix}${name} has its largest number with ${partner}, ${text}.`;
  if (isZero) return `${prefix}${to ? `Nothing shown takes from ${name}` : `${name} takes from nothing shown`}.`;
  return `${prefix}${to ? `from ${key}, ${query} takes most` : `${query} takes most from ${key}`}, ${text}.`;
}

const sinks = new WeakMap<Slice, boolean>();

/** Whether rows of given weights lack something: it goes to a sink. */
function hasSink({ shownHead: { slice } }: View): boolean {
  const { attention, S, K } = slice;
  if (!attention) return false;
  if (!sinks.has(slice)) {
    const rows = upTo(S).map((i) => attention.subarray(i * K, (i + 1) * K));
    sinks.set(
      slice,
      rows.some((row) => row.reduce((sum, one) => sum + one, 0) < 0.99),
    );
  }
  return sinks.get(slice)!;
}

/** What a row adds up to, where its cells are parts of a whole. */
function sumWords(view: View): string {
  if (saidAs(view.shownHead) !== "weight") return "";
  if (renormalized(view.synced, view.shownHead)) return " A row adds up to 1.";
  if (hasSink(view)) return "";
  return isPart(view) ? ` A row adds up to 1 with the ${plural(unitNoun(view))} not shown.` : " A row adds up to 1.";
}

const SIGNS = `${capital(POSITIVE)}: looks more than it takes. ${capital(NEGATIVE)}: takes more than it looks.`;

/** How the picture is read, and what to do. */
export function howWords(view: View): string {
  const { synced, shownHead, grid, dark, page } = view;
  const mode = synced.mode.value;
  const as = saidAs(shownHead);
  const noun = unitNoun(view);
  const them = plural(noun);
  const shade = mode === "lines" ? "Strong" : dark ? "Bright" : "Dark";
  const much = as === "difference" ? SIGNS : `${shade} = much.`;
  if (mode === "text") return `Each ${noun} is shaded by ${shadedBy(as, page.textSide.value === "to")}. ${much}`;
  if (as === "") {
    const sides = mode === "lines" ? `Left and right are the ${them}.` : `Each row and each column is a ${noun}.`;
    return `${sides} ${much}`;
  }
  const [does, doing, passive] = {
    weight: ["looks", "look", "looked at"],
    norm: ["takes", "take", "taken from"],
    difference: ["looks and takes", "look and take", "looked at"],
  }[as] as [string, string, string];
  if (mode === "lines") return `Left the ${them} that ${doing}, right those ${passive}. ${much} Click a ${noun}.`;
  const isFar = isLong(grid.rows.length, grid.cols.length);
  const sides = isFar
    ? `Down the ${them} that ${doing}, across those ${passive}.`
    : `Each row is a ${noun} that ${does}, each column a ${noun} ${passive}.`;
  return `${sides} ${much}${sumWords(view)} Click a cell.`;
}

/** What the shade of a word is, in running text; the framed one is the one that it is about. */
const shadedBy = (as: Measure | "", to: boolean): string =>
  ({
    weight: to ? "how much it looks at the framed one" : "how much the framed one looks at it",
    norm: to ? "how much it takes from the framed one" : "how much the framed one takes from it",
    difference: to ? "how it looks at the framed one, and takes" : "how the framed one looks at it, and takes",
    "": "its number with the framed one",
  })[as];

/** Whose numbers a list holds, before the token, the token, and after it: “it” looks at; who looks at “cat”. */
export function headingWords<T>(shown: ShownHead, token: T, to: boolean): [before: string, token: T, after: string] {
  const as = saidAs(shown);
  if (as === "") return [to ? "column of " : "row of ", token, ""];
  const { does, signed } = MEASURES[as];
  if (!to) return ["", token, ` ${does}`];
  return signed ? ["at ", token, `, who ${does}`] : [`who ${does} `, token, ""];
}

/** The same of the means over all rows. */
export function meanHeading(view: View): string {
  const as = saidAs(view.shownHead);
  return as === "" ? "mean over the rows" : `on average, ${plural(unitNoun(view))} ${MEASURES[as].they}`;
}
