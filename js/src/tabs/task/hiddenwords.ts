// What becomes of an example's answer where each word is hidden, in runs of their own; asked in the view of a task alone.
import { isSure, logOdds, toldChange } from "../../compute/logodds";
import type { HiddenWords } from "../../generated/answers";
import { type Answer, fieldsAndArrays, type Kind } from "../../kernel/answers";
import { isOfHead, placeIn } from "../../kernel/opened";
import type { View } from "../../state/view";

const PART = 0.05; // of the answer: what moves less carries none of it

const HIDDEN: Kind<HiddenWords, "hidden_words"> = { op: "hidden_words", needs: "whatif", read: fieldsAndArrays };

/** Null in other views, of a changed run, and while the reader looks at a head of their own or at another answer. */
export function hiddenWordsOf(view: View): Answer<HiddenWords> | null {
  const { synced, overview, page, answers } = view;
  if (!synced.parts.value.includes("examples") || overview.changes.length > 0) return null;
  if (page.target.value || page.front.factor.value !== null || !isOfHead(placeIn(synced))) return null;
  return answers.get(HIDDEN, overview, {});
}

/** The words by what the answer loses without each, the largest loss first: of a probability near to 1 in log-odds. */
export function lossesOf({ words, unit, before }: HiddenWords) {
  return words
    .flatMap(([pieces, after]) =>
      after === null || Number.isNaN(after) ? [] : [{ pieces, after, loss: -toldChange(unit, before, after - before) }],
    )
    .sort((a, b) => b.loss - a.loss);
}

/** The number, or of a probability near to 1 its log-odds. */
export const wholeOf = ({ unit, before }: HiddenWords, value = before): number =>
  isSure(unit, before) ? logOdds(value) : value;

/** Whether a change is a part of the answer to speak of. */
export const isPart = (answer: HiddenWords, change: number): boolean =>
  Math.abs(change) >= PART * Math.abs(wholeOf(answer));

/** By the first token of each word how much of the answer goes with it, 0 to 1; null before it is known. */
export function lossLines(answer: Answer<HiddenWords> | null): Map<number | undefined, number> | null {
  if (answer?.state !== "answered" || answer.value.why_not) return null;
  const whole = Math.max(Math.abs(wholeOf(answer.value)), 1e-9);
  return new Map(lossesOf(answer.value).map(({ pieces, loss }) => [pieces[0], Math.max(0, Math.min(1, loss / whole))]));
}

/** The first token of the word that the answer rests on; undefined where it rests on none. */
export function heaviestOf(answer: Answer<HiddenWords> | null): number | undefined {
  if (answer?.state !== "answered") return undefined;
  const [first] = lossesOf(answer.value);
  return first && first.loss > 0 && isPart(answer.value, first.loss) ? first.pieces[0] : undefined;
}
