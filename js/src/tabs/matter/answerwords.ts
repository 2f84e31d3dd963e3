// Which words the answer rests on: how the answer of the kernel is read, said in words and written to a file.
import type { Faithful, FaithfulRow } from "../../generated/answers";
import { type AnswerTo, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { capital, signed } from "../../paint/format";
import { isNothing } from "../../paint/ranked";
import type { Numbers } from "../../parts/picturetable";
import type { Overview } from "../../state/overview";
import { tokenName } from "./cellverdict";

const NAMED = 2; // tokens in the sentence

/** What each token counts for: see bertlens/widgets/answers/which_words.py. */
export type Attributed = AnswerTo<"which_words">;
type Found = Attributed & { values: Float64Array };

export type { FaithfulRow };

export const WORDS: Kind<Attributed, "which_words"> = { op: "which_words", needs: "whatif", read: fieldsAndArrays };
export const FAITHFUL: Kind<Faithful, "faithful"> = {
  op: "faithful",
  needs: "whatif",
  read: fieldsAndArrays,
};

/** The smallest and the largest of the numbers and 0. */
export function endsOf(values: Float64Array): [low: number, high: number] {
  const numbers = values.filter((value) => !Number.isNaN(value));
  return [Math.min(0, ...numbers), Math.max(0, ...numbers)];
}

/** A number with its sign; all with three decimals, or as many as give the largest two digits. */
export function writer({ values, signed: hasSign }: Found): (value: number) => string {
  const top = Math.max(...endsOf(values).map(Math.abs));
  const digits = !isNothing(top) ? Math.max(3, 1 - Math.floor(Math.log10(top))) : 3;
  return (value) => {
    if (Number.isNaN(value)) return "–";
    const text = signed(value, digits);
    return hasSign && value > 0 && Number(text) !== 0 ? `+${text}` : text;
  };
}

/** Tokens from the largest number to the smallest. */
export const ordered = (values: Float64Array): number[] =>
  [...values.keys()].filter((n) => !Number.isNaN(values[n]!)).sort((a, b) => values[b]! - values[a]!);

/** The tokens that the sentence names: those that raise the number most, and the one that lowers it more than they do. */
export function most(values: Float64Array): { raise: number[]; lowers: number | null } {
  const order = ordered(values);
  const raise = order.slice(0, NAMED).filter((n) => values[n]! > 0 && !isNothing(values[n]!));
  const lowest = order.at(-1);
  const beyond = raise.length ? values[raise[0]!]! : 0;
  const lowers = lowest !== undefined && -values[lowest]! > beyond && !isNothing(values[lowest]!) ? lowest : null;
  return { raise, lowers };
}

/** What the number is, in a sentence. */
export function thing({ kind, label }: Attributed, isChanged: boolean): string {
  if (kind === "span") return `the sum of ${label}`;
  if (kind === "embedding") return isChanged ? "the cosine with the vector before" : "the text’s vector";
  return `the ${label}`;
}

/** The answer in one sentence. */
export function restsOn(found: Found, overview: Overview): string {
  const { values, attribution } = found;
  const write = writer(found);
  const what = thing(found, overview.changes.length > 0);
  const name = (n: number) => `${tokenName(overview, n)} (${write(values[n]!)})`;
  const { raise, lowers } = most(values);
  const by = `by ${attribution}`;
  if (!raise.length)
    return lowers === null
      ? `No token changes ${what}, ${by}.`
      : `No token raises ${what}; ${name(lowers)} lowers it most, ${by}.`;
  const names = raise.map(name).join(" and ");
  if (!found.signed) return `${capital(what)}: most flows to it from ${names}, ${by}.`;
  const against = lowers === null ? "" : `; ${name(lowers)} counts against it`;
  return `${capital(what)} rests most on ${names}${against}, ${by}.`;
}

/** What the numbers are, for the line below them. */
export function legendWords({ signed: hasSign, unit, attribution, removal, values }: Found): string {
  const sense = hasSign ? `In ${unitName(unit)}: + raises the number, − lowers it.` : "How much flows; no unit.";
  const how =
    removal === "mask"
      ? "Here one token at a time is replaced by the mask token. In the table above it is hidden from the heads instead."
      : "One token at a time is hidden.";
  const never = values.some(Number.isNaN) ? " –: always stays in." : "";
  return `${sense}${attribution === "occlusion" ? ` ${how}` : ""}${never}`;
}

const unitName = (unit: string) => (unit === "cosine" ? "cosine" : unit);

const listed = (bins: number[]) =>
  bins.length < 2 ? String(bins[0]) : `${bins.slice(0, -1).join(", ")} or ${bins.at(-1)}`;

/** How faithful the order is, in two sentences, each with what the columns of the table are called. */
export function faithWords(found: Attributed, row: FaithfulRow, isChanged: boolean): [words: string, about: string][] {
  const what = found.kind === "embedding" ? "the cosine with the vector before" : thing(found, isChanged);
  const by = (lost: number) => (Math.abs(lost) < 5e-4 ? "0" : `${lost > 0 ? "−" : "+"}${Math.abs(lost).toFixed(3)}`);
  const chance = (name: "comprehensiveness" | "sufficiency") =>
    `${by(row[`random_${name}`])} ± ${row[`random_${name}_error`].toFixed(3)}`;
  const beats = (name: "comprehensiveness" | "sufficiency") =>
    `better than ${row[`${name}_beats`]} of ${row.rankings} random orders`;
  const about = (name: "comprehensiveness" | "sufficiency", better: string) =>
    `${name} ${row[name].toFixed(4)}, ${better} is better; random ${row[`random_${name}`].toFixed(4)}, standard error of ` +
    `that mean ${row[`random_${name}_error`].toFixed(4)} (DeYoung et al. 2020).`;
  const count = row.bins.length > 1 ? `${listed(row.bins)} of ${row.n} tokens, their mean` : `1 of ${row.n} tokens`;
  return [
    [
      `Taking out those it names first (${count}) moves ${what} by ${by(row.comprehensiveness)}; as many at random, ` +
        `by ${chance("comprehensiveness")}: ${beats("comprehensiveness")}.`,
      about("comprehensiveness", "more"),
    ],
    [
      `Leaving in only those moves it by ${by(row.sufficiency)}; only as many at random, ` +
        `by ${chance("sufficiency")}: ${beats("sufficiency")}.`,
      about("sufficiency", "less"),
    ],
  ];
}

/** The tokens as a table. */
export const wordCells = ({ values }: Found, { keyside: { tokens } }: Overview) => ({
  columns: ["position", "token", "value"],
  rows: Array.from(values, (value, n) => [n, tokens[n]!, Number.isNaN(value) ? null : value] as const),
});

/** A file's table with the tokens below it, where they are shown. */
export function withWords(table: Numbers, found: Attributed | null, overview: Overview): Numbers {
  if (!found?.values) return table;
  const cells = wordCells(found as Found, overview);
  const named = `${thing(found, overview.changes.length > 0)} (${found.signed ? unitName(found.unit) : "no unit"})`;
  return {
    columns: [...table.columns, "method", ...cells.columns],
    rows: [
      ...table.rows.map((row) => [...row, null, null, null, null]),
      ...cells.rows.map((row) => [...table.columns.map(() => null), found.attribution, ...row]),
    ],
    facts: [...(table.facts ?? []), ["number of the tokens", named]],
  };
}
