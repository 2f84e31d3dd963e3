// Labelled examples as the kernel tells of them (bertlens/tasks/view/task_panel.py), and what the reader chose of them.
import { type Signal, signal } from "@preact/signals";
import { sorted } from "../../compute/sorted";
import type * as answers from "../../generated/answers";
import type {
  ErrorNotes,
  HeadEffects,
  PruningCurve,
  SizeFields,
  SliceRates,
  TurnedEffects,
  WordEffects,
} from "../../generated/answers";
import type { Answer, Kind, Read } from "../../kernel/answers";
import type { Link } from "../../kernel/link";
import { upTo } from "../../paint/format";
import type { View } from "../../state/view";

export type {
  AgainstFields as Against,
  ErrorNote,
  PartEffect,
  SitePart as Part,
  TaskMetric as Metric,
  TurnedEffect,
  TurnedHead,
} from "../../generated/answers";
export type { ErrorNotes, HeadEffects, PruningCurve, SliceRates, TurnedEffects, WordEffects };

export type Column = answers.Column & { numbers: ArrayLike<number> }; // of texts none

export interface Examples {
  columns: Column[];
  n: number;
  cut: number; // characters that texts were cut to, 0 for none
}

export type Task = Omit<answers.TaskFields, "columns" | "batch"> & Examples;

const columnsOf = ({ fields, arrays }: Read<"task" | "task_table">): Examples => {
  const columns = fields.columns.map((one) => ({ ...one, numbers: arrays[one.name]?.data ?? [] }));
  const { values, numbers } = columns[0]!;
  return { columns, cut: fields.cut, n: Math.max(values?.length ?? 0, numbers.length) };
};

export const TASK: Kind<Task, "task"> = { op: "task", read: (read) => ({ ...read.fields, ...columnsOf(read) }) };
export const TABLE: Kind<Examples, "task_table"> = { op: "task_table", read: columnsOf };

export type EffectOf = "loss" | "accuracy";

/** What takes long: it is begun by the reader, and what it found. */
export interface Works {
  heads: HeadEffects;
  pruning: PruningCurve;
  layers: SizeFields;
  errors: ErrorNotes;
  slices: SliceRates;
  words: WordEffects;
  turned: TurnedEffects;
}
export type WorkName = keyof Works;

const WORK: Kind<unknown, "task_work"> = {
  op: "task_work",
  read: ({ fields }) => ("stopped" in fields ? false : fields),
};

/** What a piece of work found: false where it was stopped; undefined where it was not begun. */
export function workOf<W extends WorkName>(view: View, task: Task, work: W): Answer<Works[W] | false> | undefined {
  const { subject, starts } = stateOf(view);
  const { times, way } = starts.value[work] ?? { times: 0, way: {} };
  const isDone = task.held.includes(work) || work === "slices"; // which run no model
  if (!times && !isDone) return undefined;
  const repeat = times > 1 ? { again: times } : {}; // another question: what was stopped is no answer to it
  return view.answers.get(WORK, subject, { work, ...way, ...repeat }) as Answer<Works[W] | false>;
}

/** What effects are of, and how a part is taken out: named before the work begins. */
export interface Way {
  effect_of: EffectOf;
  ablation: "zero" | "mean" | "resample";
}

export type Side = "confusion" | "scores" | "heads" | "layers" | "errors" | "slices" | "words" | "change" | ""; // "": none
type Order = { name: string; down: boolean };

/** What the reader chose; the widget's other parts know nothing of it. */
export interface State {
  subject: { trace: string; map: string }; // what is asked is of no text
  search: Signal<string>;
  only: Signal<string>; // "all", "wrong", "right", or what changed: "fixed" …
  cell: Signal<[label: string, guess: string] | null>;
  order: Signal<Order | null>;
  rows: Signal<{ name: string; of: ReadonlySet<number> } | null>; // of a slice
  opened: Signal<{ row: number; subject: string } | null>;
  side: Signal<Side | null>; // null until the reader chose
  starts: Signal<Record<string, { times: number; way: Partial<Way> }>>; // work by its name: how often, and how
  way: Signal<Way>; // of what begins next
  coloured: Signal<"effect" | "estimate">;
}

const states = new WeakMap<Link, State>();

export function stateOf({ link, overview }: View): State {
  let state = states.get(link);
  if (!state) {
    state = {
      subject: { trace: "", map: overview.map },
      search: signal(""),
      only: signal("all"),
      cell: signal(null),
      order: signal(null),
      rows: signal(null),
      opened: signal(null),
      side: signal(null),
      starts: signal({}),
      way: signal<Way>({ effect_of: "loss", ablation: "zero" }),
      coloured: signal("effect"),
    };
    states.set(link, state);
  }
  return state;
}

export const taskOf = (view: View): Answer<Task> => view.answers.get(TASK, stateOf(view).subject, {});

/** All examples, as soon as they are here; until then, and in a saved page, those that matter most. */
export function examplesOf(view: View, task: Task): Examples {
  if (task.n === task.examples || !view.link.kernel.value) return task;
  const table = view.answers.get(TABLE, stateOf(view).subject, {});
  return table.state === "answered" ? table.value : task;
}

export const columnOf = ({ columns }: Examples, name: string) => columns.find((one) => one.name === name);

/** A cell as it is sorted and copied. */
export function valueAt({ kind, values, names, numbers }: Column, n: number): string | number {
  if (kind === "text") return values![n]!;
  return kind === "class" ? names![numbers[n]!]! : numbers[n]!;
}

export const rowAt = (examples: Examples, n: number): number => Number(columnOf(examples, "row")?.numbers[n] ?? n);

/** Whether an answer is wrong; null where the task has no such thing. */
export function isWrong(examples: Examples, n: number): boolean | null {
  const right = columnOf(examples, "right");
  return right ? right.numbers[n] === 0 : null;
}

/** The examples that the reader asked for, in his order. */
export function listed(examples: Examples, { search, only, cell, order, rows }: State): number[] {
  const words = search.value.trim().toLowerCase();
  const number = /^#?\d+$/.test(words) ? Number(words.replace("#", "")) : null;
  const texts = examples.columns.filter(({ kind }) => kind === "text");
  const [label, guess, change] = ["label", "guess", "change"].map((name) => columnOf(examples, name));
  const pair = cell.value;
  const slice = rows.value;
  const places = upTo(examples.n).filter((n) => {
    if (change && change.names!.includes(only.value)) {
      if (valueAt(change, n) !== only.value) return false;
    } else if (["wrong", "right"].includes(only.value) && isWrong(examples, n) !== (only.value === "wrong"))
      return false;
    if (pair && label && guess && (valueAt(label, n) !== pair[0] || valueAt(guess, n) !== pair[1])) return false;
    if (slice && !slice.of.has(rowAt(examples, n))) return false;
    if (!words) return true;
    const isIt = number !== null && rowAt(examples, n) === number;
    return isIt || texts.some(({ values }) => values![n]!.toLowerCase().includes(words));
  });
  const by = order.value && columnOf(examples, order.value.name);
  return by ? sorted(places, (n) => valueAt(by, n), order.value!.down) : places;
}

/** The example that is shown, as its place among them; null where it is none of them. */
export function shownPlace(view: View, examples: Examples, task: Task): number | null {
  const { overview } = view;
  const state = stateOf(view);
  if (!state.opened.peek() && task.opened !== null)
    state.opened.value = { row: task.opened, subject: overview.subject };
  const opened = state.opened.value;
  const [text, pair] = ["text", "text_pair"].map((name) => columnOf(examples, name)?.values);
  const at = upTo(examples.n).find((n) =>
    opened?.subject === overview.subject
      ? rowAt(examples, n) === opened.row
      : text?.[n] === overview.text && (pair?.[n] ?? "") === overview.text_pair,
  );
  return at ?? null;
}

/** Run an example, and show it. */
export async function openRow(view: View, row: number): Promise<void> {
  await view.show("task_open", { row });
  stateOf(view).opened.value = { row, subject: view.overview.subject };
}
