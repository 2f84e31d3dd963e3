// What a view shows, as checks read it; asked for only where a check names it.
import { units } from "../compute/grid";
import { NAMED_ANSWERS } from "../generated/vocabulary";
import { headLabel } from "../paint/format";
import { answersOf } from "../state/effects";
import { doneIn, type Lesson, type Step } from "../state/lesson";
import type { View } from "../state/view";
import { type Facts, type Tree, verdict } from "./verdict";

export function factsOf(view: View, layer = view.shownHead.layer, head = view.shownHead.head): Facts {
  const { overview, shownHead, focus } = view;
  const words = (side: typeof overview.queries) =>
    units(side, true).map(({ label, pieces }): [string, number[]] => [label, pieces]);
  const statistics = Object.fromEntries(overview.stats.map((name) => [name, overview.statistic(layer, head, name)]));
  return {
    statistics,
    queries: words(overview.queries),
    keys: words(overview.keyside),
    special: overview.keyside.special.map((one) => one === 1),
    weight: (i, j) => shownHead.weights.row(i)[j] ?? Number.NaN,
    taken: shownHead.norms && ((i, j) => takenIn(shownHead.weights.row(i), shownHead.norms!)[j] ?? Number.NaN),
    head: headLabel(layer, head),
    query: focus.pinnedQuery ? focus.query : null,
    key: focus.pinnedKey ? focus.key : null,
    get answer() {
      return firstAnswers(view)?.[1] ?? null;
    },
    get before() {
      return firstAnswers(view)?.[0] ?? null;
    },
  };
}

/** Each key's share of what a row takes: ‖αf(x)‖ ÷ its sum. */
function takenIn(row: Float32Array, norms: Float32Array): Float64Array {
  const amounts = Float64Array.from(row, (weight, j) => weight * norms[j]!);
  const sum = amounts.reduce((all, one) => all + one, 0);
  return amounts.map((one) => one / sum);
}

/** What the model says first without the changes and with them; null where it has no answer with a name. */
function firstAnswers(view: View): [before: string, after: string] | null {
  const answer = answersOf(view);
  if (answer.state !== "answered" || answer.value.why_not) return null;
  if (!NAMED_ANSWERS.some((kind) => kind === answer.value.kind)) return null;
  const rows = answer.value.rows.filter(({ position }) => position === answer.value.rows[0]!.position);
  const leader = (of: "before" | "after") => rows.reduce((best, row) => (row[of] > best[of] ? row : best)).name;
  return [leader("before"), leader("after")];
}

const OF_CELLS = ["weight", "taken", "key", "key is", "query is"];

/** Whether a check is of heads alone, so that `headFor` can look for one. */
export const isOfHeads = (tree: unknown): boolean =>
  !Array.isArray(tree) || (!OF_CELLS.includes(tree[0] as string) && tree.slice(1).every(isOfHeads));

/** A head whose statistics fulfil a check of heads alone, null where there is none. */
export function headFor(view: View, tree: Tree): [layer: number, head: number] | null {
  const { n_layers, n_heads } = view.overview;
  for (let n = 0; n < n_layers * n_heads; n++) {
    const [layer, head] = [Math.floor(n / n_heads), n % n_heads];
    if ((verdict(tree, factsOf(view, layer, head)).truth ?? 0) === 1) return [layer, head];
  }
  return null;
}

/** What of the step shown is withheld until there is a guess: what is predicted; "" for nothing, such as for a number
 * that no picture shows. */
export function withheldIn({ synced, page }: View, lesson: Lesson): NonNullable<Step["predict"]> | "" {
  const n = page.lesson.at.value;
  const step = lesson.steps[n];
  return doneIn(synced, n) || typeof step?.tree?.[1] === "number" ? "" : (step?.predict ?? "");
}

/** What a step is done with, by name: these controls are bright. */
export function needsIn({ act, predict, state }: Step = { title: "", text: "" }): string {
  if (act === "predict") return predict === "head" ? "heads" : "";
  if (act !== "find" && act !== "change") return "";
  return state?.text === undefined ? "heads text" : "heads";
}
