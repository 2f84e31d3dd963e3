// Two texts as the kernel tells of them (bertlens/widgets/similarity/similarity_panel.py), and how it is asked.
import type {
  BaselineFields,
  ByLayer,
  LateFields,
  SharedWord,
  SimilarFields,
  TextSide,
  VocabularyWords,
} from "../../generated/answers";
import { LIMITS } from "../../generated/vocabulary";
import type { Answer, Kind } from "../../kernel/answers";
import type { View } from "../../state/view";

export type { ByLayer, LateFields as Late, SharedWord, TextSide as Side, VocabularyWords as Vocabulary };
/** What is not the text's own: of a template, of a prompt, or put behind a query by the model. */
export type TokenKind = LateFields["kinds"][number][number];

export interface Matrix {
  shape: number[];
  data: ArrayLike<number>;
}

/** By vectors of the last layer, or by tokens that went in. */
export type SplitName = "output" | "input";

export type Similar = Omit<SimilarFields, "splits"> & {
  splits: SplitName[];
  pairs: Matrix | null; // (tokens of a, tokens of b), with biases last where there are any
};

export const SPLITS: Record<SplitName, string> = { output: "vectors of the last layer", input: "tokens that went in" };

const FUNCTIONS: Record<string, string> = {
  dot: "dot product",
  euclidean: "Euclidean distance × −1",
  manhattan: "Manhattan distance × −1",
};

/** What the model's number is called. */
export const functionWords = ({ function: name }: Similar): string => FUNCTIONS[name] ?? name;

const similarFrom = (fields: SimilarFields, pairs: Matrix | null = null) => ({ ...fields, pairs }) as Similar;
const SIMILAR: Kind<Similar, "similar"> = {
  op: "similar",
  read: ({ fields, arrays }) => similarFrom(fields, arrays.pairs),
};
const WITHOUT: Kind<Matrix, "similar_without"> = { op: "similar_without", read: ({ arrays }) => arrays.without };

/** The texts that were typed; none: the view's own. */
export function typedOf({ page }: View): string[] | null {
  const { a, b, task_a, task_b } = page.similarTo.value;
  return a && b ? [a, b, task_a, task_b] : null;
}

export const questionOf = (view: View) => {
  const texts = typedOf(view);
  return (texts ? { texts } : {}) as { texts: string[] };
};

/** The two texts that are shown; null where there is one only. */
export function similarOf(view: View): Answer<Similar> | null {
  const { overview, answers } = view;
  if (typedOf(view)) return answers.get(SIMILAR, overview, questionOf(view));
  const fields = overview.similar;
  if (!fields) return null;
  return { state: "answered", value: similarFrom(fields, overview.arrays["similar.pairs"]) };
}

const INPUT: Kind<Pick<Similar, "pairs" | "gap">, "similar_input"> = {
  op: "similar_input",
  read: ({ fields, arrays }) => ({ pairs: arrays.pairs, gap: fields.gap }),
};

/** Which split is shown; null where none is, or one that takes work is not asked for. */
export function splitNameOf({ page }: View, data: Similar): SplitName | null {
  const choice = page.similarOf.value;
  if (data.splits.includes(choice as SplitName)) return choice as SplitName;
  if (data.splits.includes("output")) return "output";
  return data.splits.includes("input") && choice !== "none" && isCheap(data) ? "input" : null;
}

/** The two texts with the split that is shown. */
export function withSplit(view: View, data: Similar): Answer<Similar> {
  const name = splitNameOf(view, data);
  if (name !== "input") return { state: "answered", value: name ? data : { ...data, pairs: null } };
  const answer = view.answers.get(INPUT, view.overview, questionOf(view));
  return answer.state === "answered" ? { ...answer, value: { ...data, ...answer.value, why_not: "" } } : answer;
}

const LAYERS: Kind<ByLayer, "similar_layers"> = { op: "similar_layers", read: ({ fields }) => fields };
export const layersOf = (view: View): Answer<ByLayer> => view.answers.get(LAYERS, view.overview, questionOf(view));

/** What is left of the number without each word. */
export const withoutOf = (view: View): Answer<Matrix> => view.answers.get(WITHOUT, view.overview, questionOf(view));

/** Whether each word is taken out unasked: it is a run for each. */
export const isCheap = ({ sides }: Similar): boolean => sides.every(({ tokens }) => tokens.length <= LIMITS.attributed);

const BASELINE: Kind<BaselineFields, "similar_baseline"> = { op: "similar_baseline", read: ({ fields }) => fields };

export const baselineOf = (view: View): Answer<BaselineFields> =>
  view.answers.get(BASELINE, view.overview, questionOf(view));
