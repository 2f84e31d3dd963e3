// Which tokens of two texts are the same: as bertlens/comparison/alignment.py has it for texts of one tokenizer.
import { rolesOf } from "../pictures";
import type { Encoded } from "../tokenizer";

/** Places in both texts; null is a gap. */
export type Pair = readonly [number | null, number | null];

/** Every token of either is in exactly one of `pairs`. */
export interface Alignment {
  pairs: Pair[];
  shared: [number, number][];
  open: [number, number][]; // of `shared` those that another alignment, as long as this one, does without
}

interface Word {
  pieces: number[];
  key: string; // equal where two words are the same
}

function wordsOf(encoded: Encoded, separator: string): Word[] {
  const { pieces: tokens, words, special } = encoded;
  const isSeparator = rolesOf(encoded, separator, false).separator;
  const groups: Word[] = [];
  for (const [at, word] of words.entries()) {
    if (at > 0 && word >= 0 && words[at - 1] === word) groups.at(-1)!.pieces.push(at);
    else groups.push({ pieces: [at], key: "" });
  }
  const key = ({ pieces }: Word) => {
    const start = pieces[0]!;
    if (special[start]) return ["template", isSeparator[start] ? "separator" : "other"];
    return ["word", ...pieces.map((at) => tokens[at]!)];
  };
  return groups.map((word) => ({ ...word, key: key(word).join("\0") }));
}

/** `separator`: the template's own token for it. */
export function align(a: Encoded, b: Encoded, separator: string): Alignment {
  const [wordsA, wordsB] = [wordsOf(a, separator), wordsOf(b, separator)];
  const { pairs, open } = common(
    wordsA.map(({ key }) => key),
    wordsB.map(({ key }) => key),
  );
  const tokens = (matches: [number, number][]) =>
    matches.flatMap(([i, j]) => wordsA[i]!.pieces.map((at, n): [number, number] => [at, wordsB[j]!.pieces[n]!]));
  const shared = tokens(pairs);
  return { pairs: withGaps(shared, a.ids.length, b.ids.length), shared, open: tokens(open) };
}

/** The longest common subsequence, and those of its pairs that another one lacks. Of several as long, the one whose next
 * pair has the smallest i + j, then the smallest |i − j|, then the smaller key: a rule that says the same of (y, x). */
export function common(x: string[], y: string[]): { pairs: [number, number][]; open: [number, number][] } {
  const [n, m] = [x.length, y.length];
  const width = m + 1;
  const length = new Int32Array((n + 1) * width); // of what the rests from (i, j) on have in common
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--) {
      const diagonal = length[(i + 1) * width + j + 1]! + (x[i] === y[j] ? 1 : 0);
      length[i * width + j] = Math.max(diagonal, length[(i + 1) * width + j]!, length[i * width + j + 1]!);
    }
  const next = (i: number, j: number): [number, number] => {
    for (let away = 0; ; away++) {
      const good: [number, number][] = [];
      for (let u = Math.max(0, away - (m - 1 - j)); u <= Math.min(away, n - 1 - i); u++) {
        const [p, q] = [i + u, j + away - u];
        if (x[p] === y[q] && length[p * width + q] === length[i * width + j]) good.push([p, q]);
      }
      const order = ([p, q]: [number, number], [r, s]: [number, number]) =>
        Math.abs(p - q) - Math.abs(r - s) || (x[p]! < x[r]! ? -1 : 1);
      if (good.length > 0) return good.reduce((best, one) => (order(one, best) < 0 ? one : best));
    }
  };
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; length[i * width + j]; ) {
    const pair = next(i, j);
    pairs.push(pair);
    [i, j] = [pair[0] + 1, pair[1] + 1];
  }
  // how many pairs can be the first, second, … of a longest one
  const counts = new Int32Array(pairs.length);
  let prefix = new Int32Array(width); // what is in common before (i, j)
  for (let i = 0; i < n; i++) {
    const then = prefix.slice();
    for (let j = 0; j < m; j++) {
      const isSame = x[i] === y[j];
      if (isSame && prefix[j]! + 1 + length[(i + 1) * width + j + 1]! === pairs.length) counts[prefix[j]!]!++;
      then[j + 1] = Math.max(prefix[j + 1]!, prefix[j]! + (isSame ? 1 : 0), then[j]!);
    }
    prefix = then;
  }
  return { pairs, open: pairs.filter((_, at) => counts[at]! > 1) };
}

/** What is not matched in between: first a's, then b's. */
function withGaps(matched: [number, number][], n: number, m: number): Pair[] {
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  for (const [p, q] of [...matched, [n, m]] as [number, number][]) {
    for (; i < p; i++) pairs.push([i, null]);
    for (; j < q; j++) pairs.push([null, j]);
    if (p < n) pairs.push([p, q]);
    [i, j] = [p + 1, q + 1];
  }
  return pairs;
}
