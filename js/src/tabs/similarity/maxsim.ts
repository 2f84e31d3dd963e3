// Late interaction (MaxSim): for each token of the query its best one of the passage; what is drawn and said of it.
import { largest } from "../../compute/largest";
import { sorted } from "../../compute/sorted";
import { signed, upTo } from "../../paint/format";
import { tokenQuote, tokenWord } from "../../parts/token";
import type { View } from "../../state/view";
import type { ChosenPair, Place } from "./chosenpair";
import { digitsFor, exponent, type Split } from "./splits";
import type { Late, Similar, TokenKind } from "./twotexts";

/** Unlike a mean, it grows with the query: numbers of other texts say nothing beside it. */
export const GROWS = "MaxSim";

const MOST = 32; // tokens a side that are drawn
const DIGITS = 3;

/** A token of the query with its best one of the passage. */
export interface Match {
  a: number; // units
  b: number;
  kind: TokenKind;
  cosine: number;
  part: number;
  share: number;
}

/** Tokens that are scored, and what each pair puts in: 0 but at the best of each row. */
export function lateSplit({ sides }: Similar, { scored, kinds, best, parts }: Late): Split & { cells: Float64Array } {
  const [a, b] = scored.map((places, n) =>
    places.map((at) => ({ label: sides[n]!.tokens[at]!, at: [at], own: kinds[n]![at] === "", word: null })),
  ) as [Split["a"], Split["b"]];
  const cells = new Float64Array(a.length * b.length);
  best.forEach((j, i) => {
    cells[i * b.length + j] = parts[i]!;
  });
  return { a, b, cells };
}

/** Every match, the largest part first. */
export function matchesOf({ scored, kinds, best, cosines, parts }: Late): Match[] {
  const total = parts.reduce((sum, part) => sum + part, 0);
  const matches = best.map((b, a) => ({
    a,
    b,
    kind: kinds[0][scored[0][a]!]!,
    cosine: cosines[a]!,
    part: parts[a]!,
    share: parts[a]! / total,
  }));
  return sorted(matches, ({ part }) => part, true);
}

/** Which tokens are drawn, in their order: of the query those with the largest parts, of the passage what these found
 * and then what has the largest product with any of them. */
export function drawnOf(data: Similar, { best, parts }: Late, most = MOST): { rows: number[]; cols: number[] } {
  const [n, m] = data.pairs!.shape as [number, number];
  const up = (list: number[]) => list.sort((x, y) => x - y);
  const rows = up([...largest(parts, Math.min(n, most)).positions]);
  const won = new Set(rows.map((i) => best[i]!));
  const highest = upTo(m).map((j) => Math.max(...rows.map((i) => data.pairs!.data[i * m + j]!)));
  const runnersUp = sorted(
    upTo(m).filter((j) => !won.has(j)),
    (j) => highest[j]!,
    true,
  );
  return { rows, cols: up([...won, ...runnersUp].slice(0, Math.max(most, won.size))) };
}

/** The chosen pair, at first the largest match, and how pairs are said. */
export function lateChosen({ page }: View, data: Similar, late: Late, split: Split): ChosenPair {
  const { a, b } = split;
  const place = ([p, q]: number[]): Place | null => {
    const [i, j] = [late.scored[0].indexOf(p!), late.scored[1].indexOf(q!)];
    return i < 0 || j < 0 ? null : { a: i, b: j };
  };
  const match = matchesOf(late)[0]!;
  const product = (i: number, j: number) => signed(data.pairs!.data[i * b.length + j]!, DIGITS);
  return {
    pair: place(page.similarPair.value) ?? { a: match.a, b: match.b },
    template: "",
    words: (pair) => {
      if (!pair) return "";
      const [tokenA, tokenB] = [tokenWord(a[pair.a]!.label), tokenWord(b[pair.b]!.label)];
      const best = late.best[pair.a]!;
      const named = late.normal ? "cosine" : "product";
      if (best !== pair.b)
        return `${tokenA} – ${tokenB}: ${named} ${product(pair.a, pair.b)}, its best is ${tokenWord(b[best]!.label)} with ${product(pair.a, best)}`;
      const total = signed(data.value, digitsFor(data.value));
      return `${tokenA} → ${tokenB}: ${named} ${product(pair.a, best)}, ${signed(late.parts[pair.a]!, DIGITS)} of ${total}`;
    },
    choose: (pair) => {
      page.similarPair.value = [a[pair.a]!.at[0]!, b[pair.b]!.at[0]!];
    },
  };
}

/** What is summed, and whether it is the model's own number. */
export function sumWords(data: Similar, { parts, normal }: Late): string {
  const number = signed(data.value, digitsFor(data.value) + 1);
  const [n, isMean] = [parts.length, data.function !== GROWS];
  const singular = normal ? "cosine" : "product of vectors";
  const plural = normal ? "cosines" : "products of vectors";
  const tail = `the model’s own ${number}, gap ${exponent(data.gap!)}.`;
  return n === 1
    ? `The one token of the query that is scored has its best one of the passage; their ${singular} is ${tail}`
    : `For each of the query’s ${n} tokens its best one of the passage; the ${isMean ? "mean" : "sum"} of their ${plural} is ${tail}`;
}

/** Tokens that are not scored, of either text. */
export function skippedWords({ sides }: Similar, { scored }: Late): string {
  const of = (n: 0 | 1) => {
    const places = new Set(scored[n]);
    return [...new Set(sides[n]!.tokens.filter((_, at) => !places.has(at)))].map((token) => tokenQuote(token));
  };
  const lists = (["query", "passage"] as const).map((name, n) => {
    const [list, surplus] = [of(n as 0 | 1).slice(0, 6), of(n as 0 | 1).length - 6];
    return list.length > 0 ? `of the ${name} ${list.join(" ")}${surplus > 0 ? ` and ${surplus} more` : ""}` : "";
  });
  const nonEmpty = lists.filter((one) => one);
  return nonEmpty.length > 0 ? `Not scored: ${nonEmpty.join(", ")}.` : "";
}

/** That a part of long texts is drawn. */
export function partWords({ pairs }: Similar, rows: number[], cols: number[]): string {
  const [n, m] = pairs!.shape as [number, number];
  if (rows.length === n && cols.length === m) return "";
  const of = [
    rows.length < n && `${rows.length} of ${n} tokens of the query, those with the largest parts`,
    cols.length < m && `${cols.length} of ${m} tokens of the passage, those that they found or nearly`,
  ].filter((one) => one);
  return `Drawn are ${of.join(", and ")}; the CSV has all.`;
}

export const KINDS: Record<TokenKind, string> = {
  "": "",
  template: "of the template",
  prompt: "of the prompt",
  added: "added by the model",
};
