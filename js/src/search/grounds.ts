// What each word puts into the difference of the two scores: of a passage wherever it stands, in both passages.
import type { SearchCase } from "../generated/answers";
import type { Side } from "./shapes";

export interface Ground {
  part: number; // of the difference
  wrong: number | null; // what it puts into the score of the wrong passage; null: it is not there
  right: number | null;
  places: number; // in the text itself
}

/** By row of a text; rows that are no words of it have none. The question's words have a part for each place. */
export function groundsOf({ texts }: Pick<SearchCase, "texts">, side: Side): (Ground | null)[] {
  const { keys, parts } = texts[side];
  if (!parts) return keys.map(() => null);
  if (side === "query")
    return keys.map((key, row) => (key ? { part: parts[row]!, wrong: null, right: null, places: 1 } : null));
  const [wrong, right] = [sumsOf(texts.wrong), sumsOf(texts.right)];
  return keys.map((key) => {
    if (!key) return null;
    const [w, r] = [wrong.get(key), right.get(key)];
    return {
      part: (w?.sum ?? 0) + (r?.sum ?? 0),
      wrong: w ? w.sum : null,
      right: r ? 0 - r.sum : null,
      places: (side === "wrong" ? w : r)!.places,
    };
  });
}

function sumsOf({ keys, parts }: SearchCase["texts"][Side]): Map<string, { sum: number; places: number }> {
  const sums = new Map<string, { sum: number; places: number }>();
  keys.forEach((key, row) => {
    if (!key) return;
    const { sum, places } = sums.get(key) ?? { sum: 0, places: 0 };
    sums.set(key, { sum: sum + parts![row]!, places: places + 1 });
  });
  return sums;
}

/** The end of the one scale: the largest part of any word of the three texts. */
export function peakOf(of: Pick<SearchCase, "texts">): number {
  const sides: Side[] = ["query", "wrong", "right"];
  return Math.max(1e-9, ...sides.flatMap((side) => groundsOf(of, side).map((ground) => Math.abs(ground?.part ?? 0))));
}
