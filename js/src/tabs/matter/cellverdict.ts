// What "Does it matter?" asks about one cell, how it is read, and what is said of it in words.

import { fieldsAndArrays, type Kind } from "../../kernel/answers";
import { capital, counted, headLabel, ordinal, upTo } from "../../paint/format";
import { quotation } from "../../paint/quotes";
import { isNothing, ranked } from "../../paint/ranked";
import { tokenQuote } from "../../parts/token";
import type { HeadsThatMatter } from "../../state/frontanswers";
import type { Overview } from "../../state/overview";
import type { Matter, MatterRow } from "../../state/whatif";
import { amounts } from "../../whatif/slopes";

const LEAST = 0.05; // a change that counts, of a probability or a cosine; of another number this part of it
const NEAR = 0.1; // part of a number: what is farther from it than this is not near it

export const MATTER: Kind<Matter, "cell_matters"> = {
  op: "cell_matters",
  needs: "whatif",
  read: fieldsAndArrays,
};

type Made = MatterRow & { after: number; first_value: number };

const isMade = (row: MatterRow | undefined): row is Made => row !== undefined && row.after !== null;

/** A number of the answer as it is written everywhere. */
export const amountOf = (value: number, unit: string) => amounts([value], unit)[0]!;

/** The change of an answer with its sign, as many decimals as tell it from 0. */
export function changeText(change: number): string {
  if (isNothing(change)) return "0";
  const size = ranked([Math.abs(change)])[0]!;
  return change < 0 ? `−${size}` : `+${size}`;
}

/** Whether an answer is another one with the change, or its number moves far. */
function counts({ unit }: Matter, { before, after, first }: Made): boolean {
  const isBounded = unit === "probability" || unit === "cosine";
  const threshold = isBounded ? LEAST : LEAST * Math.max(1, Math.abs(before));
  return first !== "" || Math.round(1000 * Math.abs(after - before)) >= Math.round(1000 * threshold);
}

/** A token by its name, and by its place too where it is there more than once. */
export function tokenName({ keyside: { tokens } }: Overview, n: number): string {
  const isRepeated = tokens.indexOf(tokens[n]!) !== tokens.lastIndexOf(tokens[n]!);
  return `${tokenQuote(tokens[n]!)}${isRepeated ? ` (${n})` : ""}`;
}

/** The cell that is asked about. */
export const cellName = (
  overview: Overview,
  { layer, head, query, key }: Pick<Matter, "layer" | "head" | "query" | "key">,
) => `${tokenName(overview, query)} → ${tokenName(overview, key)} in ${headLabel(layer, head)}`;

/** The three changes, in the order of the rows, as a sentence has them. */
const changesIn = (overview: Overview, matter: Matter): string[] => [
  `without ${headLabel(matter.layer, matter.head)}`,
  `with ${tokenName(overview, matter.query)} → ${tokenName(overview, matter.key)} cut in ${headLabel(matter.layer, matter.head)}`,
  `with ${tokenName(overview, matter.key)} hidden from all heads`,
];

/** What the number is of: the answer of a row, or of the run shown. */
export function numberName(overview: Overview, matter: Matter, { name }: { name: string } = matter): string {
  const { kind, unit, position } = matter;
  const masks = overview.queries.tokens.filter((token) => token === overview.queries.tokens[position]);
  if (kind === "similarity") return "the similarity";
  if (kind === "embedding") return "the cosine of the text’s vector with the original run’s";
  const number = `the ${numberOf(unit)}${name && ` of ${quotation(name)}`}`;
  if (kind === "tags") return `${number} for ${tokenName(overview, position)}`;
  return `${number}${kind === "words" && masks.length > 1 ? ` at ${position}` : ""}`;
}

const numberOf = (unit: string) => (unit === "logit" ? "output" : unit);

/** What comes first instead. */
function firstWords(overview: Overview, { kind, position, unit }: Matter, row: Made): string {
  const leader = `${quotation(row.name)} (${amountOf(row.after, unit)}, was ${amountOf(row.before, unit)})`;
  const what = kind === "tags" ? `the label of ${tokenName(overview, position)}` : "the answer";
  return `${what} is ${quotation(row.first)} (${amountOf(row.first_value, unit)}), no longer ${leader}`;
}

/** How far a number moves: where it stays, by how much it does; where the text has not moved yet, in plain words. */
function moveWords(overview: Overview, matter: Matter, row: Made): string {
  const { kind, unit } = matter;
  const { before } = row;
  const subject = numberName(overview, matter, row);
  const [from, to] = [amountOf(before, unit), amountOf(row.after, unit)];
  const doesCount = counts(matter, row);
  if (row.first) return firstWords(overview, matter, row);
  const stays = isNothing(row.after - before);
  if (kind === "embedding" && isNothing(before - 1)) {
    if (doesCount) return `the text’s vector turns: its cosine with what it was is ${to}`;
    return `the text’s vector stays where it was${stays ? "" : ` (cosine ${to})`}`;
  }
  const moves = `${row.after < before ? "falls" : "rises"} from ${from} to ${to}`;
  if (doesCount) return `${subject} ${moves}`;
  if (stays) return `${subject} stays ${from} to six decimals`;
  if (from === to) return `${subject} stays ${from}`;
  return Math.abs(row.after - before) <= NEAR * Math.abs(before)
    ? `${subject} stays near ${from} (${to})`
    : `${subject} only ${moves}`;
}

/** The answer in one sentence: what this head does for it; where that is little, whether the token does much. */
export function verdict(overview: Overview, matter: Matter): [answer: string, because: string] {
  const words = changesIn(overview, matter);
  const [head, cell, token] = matter.rows;
  const size = (row: Made) => (row.first ? 1e9 : 0) + Math.abs(row.after - row.before);
  const changes = [head, cell].filter(isMade);
  if (changes.some((row) => Number.isNaN(row.after - row.before)))
    return ["Not known", `${numberName(overview, matter)} is no number in one of the runs`];
  const change = changes.sort((a, b) => size(b) - size(a))[0];
  const sentenceOf = (row: Made) => `${words[matter.rows.indexOf(row)]} ${moveWords(overview, matter, row)}`;
  const byToken = isMade(token) && counts(matter, token) ? sentenceOf(token) : "";
  if (!change) return byToken ? ["Yes", byToken] : ["Not known", "none of the changes can be made here"];
  if (counts(matter, change)) return ["Yes", sentenceOf(change)];
  const answer = isNothing(size(change)) ? "No" : "Hardly";
  return [answer, `${sentenceOf(change)}${byToken && `; but ${byToken}`}`];
}

/** Of the head and of the one weight what a run without each says, a sentence for both; "" where neither was run. */
export function bothWords(overview: Overview, matter: Matter): string {
  const words = changesIn(overview, matter);
  const [head, cell] = matter.rows;
  const sentences = [head, cell].flatMap((row, n) =>
    isMade(row) ? [`${words[n]} ${moveWords(overview, matter, row)}`] : [],
  );
  return capital(sentences.join("; "));
}

type EachHead = HeadsThatMatter["heads"][number];

/** What the answer changes by without each head that was run: of all of them, or of the largest that are listed. */
export function headsRun({ heads, tried, changes }: HeadsThatMatter, { n_heads }: Overview): EachHead[] {
  if (!changes || changes.length > tried) return heads;
  return Array.from(changes, (change, n) => [Math.floor(n / n_heads), n % n_heads, change]);
}

/** Where a head stands among those that were run; "" where that is not known, or is of another answer. */
export function rankWords({ layer, head, rows }: Matter, ran: EachHead[], { tried, name }: HeadsThatMatter): string {
  const size = ([, , change]: EachHead) => Math.abs(change);
  const change = ran.find(([l, h]) => l === layer && h === head);
  if (!change || rows[0]!.name !== name) return "";
  const at = ran.filter((one) => size(one) > size(change)).length;
  return `the ${at === 0 ? "" : `${ordinal(at + 1)} `}largest of ${counted(tried)} heads run`;
}

/** What "yes" means, for who wants to know. */
export const RULE = `Yes: another answer comes first, or the number moves by ${LEAST} or more (an output that is no probability: by ${100 * LEAST} %).`;

/** What the rows are compared with, where that is not the model's own run. */
export function baseWords({ changes }: Overview, { rows }: Matter): string {
  const names = (of: number[]) => of.map((n) => changes[n]!.label).join("; ");
  const cover = [...new Set(rows.flatMap((row) => row.cover))].sort();
  const basis = `Before is the run shown, with ${names(upTo(changes.length))}: each row comes on top.`;
  return cover.length > 0
    ? `${basis} What the run has already is compared with the run without it: ${names(cover)}.`
    : basis;
}

/** The table as it is copied and written to a file. */
export function matterCells(matter: Matter) {
  return {
    columns: ["change", "python", "before", "after", "change_of_it", "first_answer_then"],
    rows: matter.rows.map(({ label, code, name, before, after, first }) => [
      ...[label, code, before, after],
      after === null ? null : after - before,
      first || name,
    ]),
  };
}
