// Which questions the list shows: by kind, by a word, by the rank of the first right document.
import type { QuestionList } from "../generated/answers";

export type RankChoice = "any" | "first" | "ten" | "hundred" | "beyond";

export interface Filter {
  kind: string; // "failures", "all", or the place of a kind
  words: string;
  rank: RankChoice;
}

export const RANKS: Record<RankChoice, string> = {
  any: "any rank",
  first: "first",
  ten: "2 to 10",
  hundred: "11 to 100",
  beyond: "further down",
};

const IN_RANK: Record<RankChoice, (rank: number | null) => boolean> = {
  any: () => true,
  first: (rank) => rank === 1,
  ten: (rank) => rank !== null && rank > 1 && rank <= 10,
  hundred: (rank) => rank !== null && rank > 10 && rank <= 100,
  beyond: (rank) => rank === null || rank > 100,
};

/** Whether anybody has judged which passages answer. */
export const isJudged = ({ failed, rank }: QuestionList): boolean =>
  failed.some(Boolean) || rank.some((one) => one !== null);

/** The places of the questions that are listed, in the list's order; every word that is typed stands in the text. */
export function listed({ text, rank, failed, kinds }: QuestionList, filter: Filter): number[] {
  const needles = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
  const isOfKind = (at: number) =>
    filter.kind === "all" || (filter.kind === "failures" ? failed[at]! : kinds[at]!.includes(Number(filter.kind)));
  return text.flatMap((one, at) => {
    if (!isOfKind(at) || !IN_RANK[filter.rank](rank[at]!)) return [];
    const lower = needles.length > 0 ? one.toLowerCase() : "";
    return needles.every((needle) => lower.includes(needle)) ? [at] : [];
  });
}
