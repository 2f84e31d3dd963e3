// From step to step: the view in the state that a step names, and what was done in it.

import { headLabel } from "../paint/format";
import { change, changesOf } from "../state/changequeue";
import { type Done, doneIn, type Lesson, type Step } from "../state/lesson";
import { knownIn, restore, type State } from "../state/snapshot";
import type { View } from "../state/view";
import type { Asked } from "../state/whatif";

/** Show a step, and what it is about. */
export function go(view: View, lesson: Lesson, n: number): void {
  const step = lesson.steps[n];
  if (!step) return;
  const { page } = view;
  page.lesson.at.value = n;
  page.announcement.value = `step ${n + 1} of ${lesson.steps.length}: ${step.title}`;
  void enter(view, step.state, () => missing(view, step));
}

/** Why a guess about one head cannot be asked for here: this model has no such head. "" where it can. */
function missing({ overview }: View, { predict, state }: Step): string {
  const [layer, head] = [Number(state?.layer ?? 0), Number(state?.head ?? 0)];
  const { n_layers, n_heads } = overview;
  if ((predict !== "key" && predict !== "number") || (layer < n_layers && head < n_heads)) return "";
  return `This step is about ${headLabel(layer, head)}. This model has ${n_layers} layers of ${n_heads} heads: go on to the next step.`;
}

/** Bring the view into the state of a step; without one it stays as it is. */
export async function enter(view: View, state: State | undefined, why = () => ""): Promise<void> {
  const { lesson } = view.page;
  const turn = ++lesson.turn;
  const isLast = () => turn === lesson.turn;
  lesson.entered.value = null;
  lesson.refused.value = "";
  if (!state) return;
  lesson.busy.value = true;
  try {
    await bring(view, state, isLast);
    if (isLast()) lesson.refused.value = why();
  } catch (error) {
    if (isLast()) lesson.refused.value = (error as Error).message;
  } finally {
    if (isLast()) lesson.busy.value = false;
  }
}

async function bring(view: View, state: State, isLast: () => boolean): Promise<void> {
  const { text, text_pair = "", changes = [], ...selection } = state;
  const isOther = text !== undefined && (text !== view.overview.text || text_pair !== view.overview.text_pair);
  const target = changes as Asked[];
  if (isOther || target.length > 0 || changesOf(view.overview).length > 0) {
    const isCarried = isOther && target.length === 0 && view.link.coming.peek() !== ""; // it may be: the page says
    if (!view.link.kernel.peek() && !isCarried)
      throw new Error(`This step is of another run. ${view.link.needs.peek()}`);
    if (isOther) await view.run(text as string, text_pair as string);
    if (!isLast()) return;
    if (target.length > 0 || changesOf(view.overview).length > 0) await change(view, () => target);
  }
  if (isLast()) restore(view, { ...knownIn(selection), theme: view.synced.theme.peek() });
}

/** Keep what was done in the step shown; of a guess the first counts. */
export function keep(view: View, lesson: Lesson, given: Done): void {
  const { synced, page } = view;
  const n = page.lesson.at.peek();
  const previous = doneIn(synced, n);
  const remainder = (synced.lesson_done.peek() ?? []).filter((one) => one !== previous);
  const hints = page.lesson.hints.peek()[n] ?? 0;
  const step = { step: n + 1, act: lesson.steps[n]!.act ?? "read", hints };
  synced.put({ lesson_done: [...remainder, { ...previous, ...step, ...given }] });
}
