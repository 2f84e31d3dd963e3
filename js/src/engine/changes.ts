// What may be changed in a run (bertlens/run/changes.py has them all): heads off, cells cut, tokens hidden.

/** A head, or all of a layer, adds nothing to the stream. */
interface Off {
  kind: "off";
  layer: number;
  head: number | null;
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

export type Change = Off | Cut | Hide;

export const isOff = (changes: readonly Change[], layer: number, head: number): boolean =>
  changes.some((one) => one.kind === "off" && one.layer === layer && (one.head ?? head) === head);

/** Whether a change does nothing more beside another one. */
export function covers(one: Change, other: Change): boolean {
  const holds = (own: number | null, there: number | null) => own === null || own === there;
  if (one.kind === "hide")
    return other.kind === "hide" ? one.token === other.token : other.kind === "cut" && other.key === one.token;
  if (other.kind === "hide" || one.layer !== other.layer || !holds(one.head, other.head)) return false;
  return one.kind === "off" || (other.kind === "cut" && holds(one.query, other.query) && holds(one.key, other.key));
}

/** What a run with a change is compared with: the changes that there are, but for those that cover it. */
export const baseOf = (changes: readonly Change[], change: Change): Change[] =>
  changes.filter((one) => !covers(one, change));

/** (tokens, tokens) 1 where a query of this head sees a key; null where each sees all. Throws where one sees nothing. */
export function maskOf(changes: readonly Change[], layer: number, head: number, tokens: number): Uint8Array | null {
  const cuts = changes.filter(
    (one): one is Cut | Hide =>
      one.kind === "hide" || (one.kind === "cut" && one.layer === layer && (one.head ?? head) === head),
  );
  if (cuts.length === 0) return null;
  const mask = new Uint8Array(tokens * tokens).fill(1);
  const span = (n: number | null) => (n === null ? [0, tokens] : [n, n + 1]) as [number, number];
  for (const cut of cuts) {
    const [from, to] = span(cut.kind === "hide" ? null : cut.query);
    const [keyFrom, keyTo] = span(cut.kind === "hide" ? cut.token : cut.key);
    for (let query = from; query < to; query++) mask.fill(0, query * tokens + keyFrom, query * tokens + keyTo);
  }
  for (let query = 0; query < tokens; query++)
    if (!mask.subarray(query * tokens, (query + 1) * tokens).includes(1))
      throw new Error(`token ${query} would have no key left in layer ${layer}: cut fewer of its keys`);
  return mask;
}
