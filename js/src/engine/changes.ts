// What may be changed in a run (bertlens/run/changes.py has them all): heads off or of another loudness, cells cut, tokens
// hidden or looked at less.

/** A head, or all of a layer, adds nothing to the stream. */
interface Off {
  kind: "off";
  layer: number;
  head: number | null;
}

/** What a head, or each of a layer, adds to the stream is multiplied. */
export interface Scale {
  kind: "scale";
  layer: number;
  head: number | null;
  factor: number;
}

/** Queries do not see keys; null: any. */
interface Cut {
  kind: "cut";
  layer: number;
  head: number | null;
  query: number | null;
  key: number | null;
}

/** No query sees a token. */
interface Hide {
  kind: "hide";
  token: number;
}

/** What e^score of a token's key is multiplied by, for every query. */
interface Dim {
  kind: "dim";
  token: number;
  factor: number;
}

export type Change = Off | Scale | Cut | Hide | Dim;

/** A change of keys for every query. */
const isOfToken = (one: Change): one is Hide | Dim => one.kind === "hide" || one.kind === "dim";

/** Whether it is done to heads, whatever the text. */
export const isOfHeads = ({ kind }: Change): boolean => kind === "off" || kind === "scale";

const hides = (one: Change): one is Hide | Dim => one.kind === "hide" || (one.kind === "dim" && one.factor === 0);
const silences = (one: Change) => one.kind === "off" || (one.kind === "scale" && one.factor === 0);

/** Whether all heads of a layer are off by it. */
export const isSilent = (one: Change, layer: number): boolean =>
  silences(one) && !isOfToken(one) && one.layer === layer && one.head === null;

/** The first layer that a change makes other than it was. */
export const firstLayer = (one: Change): number => (isOfToken(one) ? 0 : one.layer);

/** What a head's context is multiplied by: 1 as it is, 0 of a head that is off. */
export const factorOf = (changes: readonly Change[], layer: number, head: number): number =>
  changes.reduce((factor, one) => {
    if (isOfToken(one) || one.layer !== layer || (one.head ?? head) !== head) return factor;
    return one.kind === "off" ? 0 : one.kind === "scale" ? factor * one.factor : factor;
  }, 1);

/** What is added to the scores of each key, ln of its factor; null where that is nothing. */
export function logarithmsOf(changes: readonly Change[], tokens: number): Float64Array | null {
  const out = new Float64Array(tokens);
  for (const one of changes) if (one.kind === "dim" && one.factor > 0) out[one.token]! += Math.log(one.factor);
  return out.some((x) => x !== 0) ? out : null;
}

/** Whether it is left out of the run that one with the other is compared with: it leaves that nothing to do, or is the
 * same thing by another factor. */
export function covers(one: Change, other: Change): boolean {
  const holds = (own: number | null, there: number | null) => own === null || own === there;
  if (isOfToken(one)) {
    if (hides(one) && other.kind === "cut") return other.key === one.token;
    return isOfToken(other) && one.token === other.token && (hides(one) || other.kind === "dim");
  }
  if (isOfToken(other) || one.layer !== other.layer || !holds(one.head, other.head)) return false;
  if (silences(one)) return true;
  if (one.kind === "scale") return other.kind === "scale" && one.head === other.head;
  return one.kind === "cut" && other.kind === "cut" && holds(one.query, other.query) && holds(one.key, other.key);
}

/** What a run with a change is compared with: the changes that there are, but for those that cover it. */
export const baseOf = (changes: readonly Change[], change: Change): Change[] =>
  changes.filter((one) => !covers(one, change));

/** (tokens, tokens) 1 where a query of this head sees a key; null where each sees all. Throws where one sees nothing. */
export function maskOf(changes: readonly Change[], layer: number, head: number, tokens: number): Uint8Array | null {
  const cuts = changes.filter(
    (one): one is Cut | Hide | Dim =>
      hides(one) || (one.kind === "cut" && one.layer === layer && (one.head ?? head) === head),
  );
  if (cuts.length === 0) return null;
  const mask = new Uint8Array(tokens * tokens).fill(1);
  const span = (n: number | null) => (n === null ? [0, tokens] : [n, n + 1]) as [number, number];
  for (const cut of cuts) {
    const [from, to] = span(isOfToken(cut) ? null : cut.query);
    const [keyFrom, keyTo] = span(isOfToken(cut) ? cut.token : cut.key);
    for (let query = from; query < to; query++) mask.fill(0, query * tokens + keyFrom, query * tokens + keyTo);
  }
  for (let query = 0; query < tokens; query++)
    if (!mask.subarray(query * tokens, (query + 1) * tokens).includes(1))
      throw new Error(`token ${query} would have no key left in layer ${layer}: cut fewer of its keys`);
  return mask;
}
