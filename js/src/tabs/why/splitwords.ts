// What the Why tab says of a split in plain words; the field's own words stand in the tooltips.
import { SOURCES } from "../../generated/vocabulary";
import { counted, headLabel, signed } from "../../paint/format";
import { tokenQuote } from "../../parts/token";
import type { View } from "../../state/view";
import type { Part, Split, Sum, WhyPlace } from "../../state/whystate";
import { isTerm, otherWords, partName, times, weightWords } from "./scoresplit";

const quoted = ({ overview }: View, n: number) => tokenQuote(overview.keyside.tokens[n]!);

/** The cell: In L5·H11, “it” looks at “cat”. */
const cell = (view: View, { layer, head, query, key }: WhyPlace): string =>
  `In ${headLabel(layer, head)}, ${quoted(view, query)} looks at ${quoted(view, key)}`;

/** What the cell is compared with. */
function atOthers(view: View, { against, seen }: Split): string {
  if (typeof against === "number") return `at ${quoted(view, against)}`;
  const sees = view.shownHead.slice.mask.kind === "full" ? "" : " that it may look at";
  if (seen === 2) return `at the other one${sees}`;
  return `at a token with the mean score of the other ${counted(seen - 1)}${sees} (geometric mean of their weights)`;
}

const rounded = (ratio: number): string => ratio.toLocaleString("en", { maximumSignificantDigits: 2 });

/** A raw score: In L5·H11, “it” looks at “cat” with a score of 3.73. */
export const scoreWords = (view: View, sum: Sum): string => `${cell(view, sum)} with a score of ${signed(sum.total)}.`;

/** How much more the query looks there than elsewhere: a factor, which a difference of scores is. */
export function moreWords(view: View, split: Split): string {
  const { ratio, against } = split;
  if (against === null) return scoreWords(view, split);
  const rivals = atOthers(view, split);
  if (ratio === null) return `${cell(view, split)} about as much as ${rivals}.`;
  if (ratio > 1e5) return `${cell(view, split)} over 100,000 times as much as ${rivals}.`;
  if (ratio < 1e-4) return `${cell(view, split)} less than a ten-thousandth as much as ${rivals}.`;
  return `${cell(view, split)} ${ratio < 1 ? "only " : ""}${rounded(ratio)} times as much as ${rivals}.`;
}

/** The same for who knows the field: the exponential, the weights. */
export function exactWords(view: View, split: Split): string {
  const { ratio, total, against } = split;
  if (against === null) return `The raw score, nothing subtracted; ${weightWords(view, split)}.`;
  const factor = ratio === null ? "" : times(ratio);
  const times_ = factor ? ` ≈ ${factor} times` : " times";
  return `e^${signed(total)}${times_} ${otherWords(view, split)}; ${weightWords(view, split)}.`;
}

/** Why there is what a family adds to q·k. */
const BECAUSE: Record<string, string> = {
  "relative position": "of where the key stands relative to the query, whatever the two are",
  "content to position": "of what is in the query, and where the key stands relative to it",
  "position to content": "of what is in the key, and where it stands relative to the query",
  layout: "of where the two stand on the page",
};

/** Where most of a score comes from. */
export function whereWords(split: Pick<Split, "kinds" | "total" | "spread" | "largest">): string {
  const { kinds, total, spread, largest } = split;
  if (spread === null) return "Its parts cancel: next to nothing is left.";
  const sign = Math.sign(total);
  const [kind, value] = kinds.reduce((best, one) => (one[1] * sign > best[1] * sign ? one : best));
  const name = `the ${SOURCES[kind]!.label}`;
  const [portion, sum] = [signed(value), signed(total)];
  const because = isTerm(kind) ? `, because ${BECAUSE[kind]}` : "";
  const leader = largest.find((part) => part.kind === "head" && part.value * sign > 0);
  const nameable =
    kind === "bias" && leader ? ` Of earlier heads, most comes from ${partName(leader)}: ${signed(leader.value)}.` : "";
  if (value * sign <= total * sign)
    return `The largest part comes from ${name}: ${portion} of ${sum}${because}.${nameable}`;
  return `${name[0]!.toUpperCase()}${name.slice(1)} alone would make ${portion}${because}; the other parts bring it ${sign > 0 ? "down" : "up"} to ${sum}.${nameable}`;
}

/** Whether the parts are all of it: they are added up again, and compared with what the model computed. */
export function sumWords({ total, model }: Pick<Sum, "total" | "model">): string {
  const [sum, modelText] = [signed(total, 4), signed(model, 4)];
  return sum === modelText
    ? `The parts add up to the model’s own ${modelText}.`
    : `The parts add up to ${sum}; the model’s own is ${modelText}.`;
}

/** How much of a sum cancels. */
export function cancelWords({ absolute, spread, total }: Pick<Split, "absolute" | "spread" | "total">): string {
  if (spread === null)
    return `Without their signs the parts add up to ${signed(absolute)}, with them to ${signed(total)}.`;
  const size = spread.toFixed(1);
  return size === "1.0"
    ? "Hardly any of it cancels."
    : `Some cancel: without their signs the parts add up to ${size} times as much.`;
}

/** A part tried out: what the split said of it, and what the score became in the run without it. */
export function triedWords({ total, against }: Split, part: Part, after: number): string {
  const [value, previous, now] = [part.value, signed(total), signed(after)];
  const what = against === null ? "score" : "lead";
  const says = `In the split, ${partName(part)} ${value < 0 ? "takes away" : "adds"} ${signed(Math.abs(value))}. Switched off, the ${what}`;
  const expected = signed(total - value) === now;
  if (now === previous)
    return `${says} stays ${now}${expected ? ", as the split says" : ": later parts make up for it"}.`;
  const why = expected ? ", as the split says" : ": later parts change too";
  return `${says} ${after > total ? "rises" : "falls"} from ${previous} to ${now}${why}.`;
}
