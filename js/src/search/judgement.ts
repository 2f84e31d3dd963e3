// What the passages of a case are called, by whether somebody has judged.
import type { SearchCase } from "../generated/answers";

/** Where nobody has judged, neither passage is wrong or right. */
export const unjudged = (said: string): string =>
  said
    .replace(/\b(the) wrong (?=one\b)/gi, "$1 ")
    .replace(/\b(the) wrong (?=passage\b)/gi, "$1 one ")
    .replace(/\b(the) right (?=one\b|passage\b)/gi, "$1 other ");

/** Of a case: as it is where somebody has judged. */
export const byJudgement = ({ judged }: Pick<SearchCase, "judged">, said: string): string =>
  judged ? said : unjudged(said);
