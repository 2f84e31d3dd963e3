// What a model adds to a head's scores beside q·k, made of few numbers where they are needed: a number for each distance,
// products of queries or keys with vectors of distances, or of a second pair of queries and keys. As bertlens/run/score_bias.py.
import type { Arrays } from "../kernel/wire";

/** A term of a head's scores; `name` is one of SCORE_TERMS. Distances are key − query = 1 − S … K − 1. */
export type ScoreTerm = { name: string } & (
  | { of: "distance"; numbers: Float32Array } // (S + K − 1)
  | { of: "query" | "key"; vectors: Float32Array; rows: ArrayLike<number> } // (n·d); which of them a distance has, (S + K − 1)
  | { of: "pairs"; queries: Float32Array; keys: Float32Array; size: number } // (S·size), (K·size)
  | { of: "cells"; numbers: Float32Array } // (S·K)
);

/** What a term reads of a slice. */
interface Vectors {
  S: number;
  K: number;
  d: number;
  q: Float32Array;
  k: Float32Array;
}

/** The terms in an answer: its field `terms`, and the arrays of the n-th of them, `term{n}` and `term{n}.by`. */
export function termsFrom(fields: Record<string, unknown>, arrays: Arrays): ScoreTerm[] {
  const names = (fields.terms ?? []) as Pick<ScoreTerm, "name" | "of">[];
  return names.map(({ name, of }, n) => {
    const { data, shape } = arrays[`term${n}`]!;
    const numbers = data as Float32Array;
    const by = arrays[`term${n}.by`]?.data;
    if (of === "query" || of === "key") return { name, of, vectors: numbers, rows: by as Uint16Array };
    if (of === "pairs") return { name, of, queries: numbers, keys: by as Float32Array, size: shape[1]! };
    return { name, of, numbers };
  });
}

/** What a term adds to the score of query i and key j. */
export function termAt(term: ScoreTerm, { S, K, d, q, k }: Vectors, i: number, j: number): number {
  const distance = j - i + S - 1;
  switch (term.of) {
    case "distance":
      return term.numbers[distance]!;
    case "query":
      return dot(q, i * d, term.vectors, term.rows[distance]! * d, d);
    case "key":
      return dot(k, j * d, term.vectors, term.rows[distance]! * d, d);
    case "pairs":
      return dot(term.queries, i * term.size, term.keys, j * term.size, term.size);
    case "cells":
      return term.numbers[i * K + j]!;
  }
}

/** Four sums at a time: they do not wait for one another. */
export function dot(q: Float32Array, from: number, k: Float32Array, at: number, d: number): number {
  let a = 0,
    b = 0,
    c = 0,
    e = 0,
    n = 0;
  for (; n + 4 <= d; n += 4) {
    a += q[from + n]! * k[at + n]!;
    b += q[from + n + 1]! * k[at + n + 1]!;
    c += q[from + n + 2]! * k[at + n + 2]!;
    e += q[from + n + 3]! * k[at + n + 3]!;
  }
  for (; n < d; n++) a += q[from + n]! * k[at + n]!;
  return a + b + c + e;
}
