// Parts of a score tried out: what the split said of each, and what switching it off does, beside the split.
import { useEffect } from "preact/hooks";
import { scores, visible } from "../../compute/attention";
import { headLabel, signed } from "../../paint/format";
import { tokenQuote } from "../../parts/token";
import { useView, type View } from "../../state/view";
import type { Asked, Tried } from "../../state/whatif";
import type { Part, Split } from "../../state/whystate";
import { put, undo } from "../../whatif/doing";
import { EffectTable } from "../matter/changetable";
import { partName, samePlace } from "./scoresplit";
import { triedWords } from "./splitwords";

/** Whether a part can be switched off. */
export const canTry = (view: View, { kind, layer }: Part): boolean =>
  layer !== null && (kind === "head" || kind === "mlp") && view.link.kernel.value && !view.overview.offers.whatif;

const MOST = 20; // parts that are kept

const samePart = (a: Part, b: Part) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;

/** The change that a part is tried by, and its line of Python. */
const askedOf = ({ layer, head }: Part): Asked => (head === null ? ["mlp", layer] : ["off", layer, head]);
const codeOf = ({ layer, head }: Part) => (head === null ? `whatif.mlp(${layer})` : `whatif.off(${layer}, ${head})`);

/** Whether the run shown is the one without this part, and nothing else changed. */
export const isOff = ({ overview }: View, part: Part): boolean =>
  overview.changes.length === 1 && overview.changes[0]!.code === codeOf(part);

/** What was tried of the score that a split is of. */
const triedOf = ({ page, overview }: View, split: Split): Tried[] =>
  page.whatif.tried.value.filter(
    (one) => one.subject === overview.subject && samePlace(one.split, split) && one.split.against === split.against,
  );

/** Switch a part of a split off, and nothing else, or on again: the reader stays where it was tried. */
export function tryOut(view: View, split: Split, part: Part): void {
  const { page, overview } = view;
  if (isOff(view, part)) {
    undo(view);
    return;
  }
  const trial = triedOf(view, split).find((one) => samePart(one.part, part));
  const tried = { subject: overview.subject, split, part, after: trial?.after ?? null };
  page.whatif.tried.value = [...page.whatif.tried.value.filter((one) => one !== trial), tried].slice(-MOST);
  page.tabChosen.value = true;
  put(view, () => [askedOf(part)]);
}

/** The score of the split's cell in the run shown, less that of what it is against. */
function scoreNow({ shownHead }: View, { query, key, against }: Split): number {
  const { slice } = shownHead;
  const row = scores(slice, query);
  if (against === null) return row[key]!;
  if (typeof against === "number") return row[key]! - row[against]!;
  const rivals = Array.from(row).filter((_, j) => j !== key && visible(slice, query, j));
  return row[key]! - rivals.reduce((sum, one) => sum + one, 0) / rivals.length;
}

/** The score without a part, once that run has been shown with the split's head. */
function afterOf(view: View, { split, part, after }: Tried): number | null {
  const { shownHead } = view;
  const isHere =
    isOff(view, part) && shownHead.layer === split.layer && shownHead.head === split.head && shownHead.slice.q;
  return isHere ? scoreNow(view, split) : after;
}

/** Every part of this score that was tried, as a row; of the last one what the split had said. */
export function TriedOut({ split }: { split: Split }) {
  const view = useView();
  const { page, overview } = view;
  const tried = triedOf(view, split);
  const afters = tried.map((one) => afterOf(view, one));
  useEffect(() => {
    if (!tried.some((one, n) => one.after !== afters[n])) return;
    const withScore = (one: Tried) => (tried.includes(one) ? { ...one, after: afters[tried.indexOf(one)]! } : one);
    page.whatif.tried.value = page.whatif.tried.value.map(withScore);
  });
  const trials = tried.map((one, n) => ({ ...one, after: afters[n] ?? null })).filter(({ after }) => after !== null);
  if (trials.length === 0) return null;
  const trial = trials.find(({ part }) => isOff(view, part)) ?? trials.at(-1)!;
  const token = (n: number) => tokenQuote(overview.keyside.tokens[n]!);
  const cell = `${token(split.query)} at ${token(split.key)} in ${headLabel(split.layer, split.head)}`;
  return (
    <div data-testid="tried">
      <p>{triedWords(split, trial.part, trial.after!)}</p>
      <EffectTable
        caption={`Score of ${cell}${lessWords(view, split)}, nats`}
        rows={trials.map(({ part, after }) => ({
          name: `${partName(part)} off`,
          before: signed(split.total),
          after: signed(after!),
          change: `${after! - split.total >= 0.005 ? "+" : ""}${signed(after! - split.total)}`,
          label: `${partName(part)} off`,
          isShown: isOff(view, part),
        }))}
        show={(n) => put(view, () => [askedOf(trials[n]!.part)])}
      />
    </div>
  );
}

/** What the score of a split is less, in words. */
const lessWords = ({ overview }: View, { against }: Split): string =>
  against === null
    ? ""
    : `, less ${against === "others" ? "the mean of the other keys’" : `that at ${tokenQuote(overview.keyside.tokens[against as number]!)}`}`;
