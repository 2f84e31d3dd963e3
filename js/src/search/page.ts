// A saved page of a retrieval: what was computed is in data elements, the rest is refused in a sentence.
import type { AnyModel } from "@anywidget/types";
import { createModel, nameOf, readJson } from "../host/pagemodel";

type Fields = Record<string, unknown>;

const NEEDS_PYTHON = "it needs Python: r.explore() in a notebook";
export const NEGATIVES_NEED = 'Hard negatives need Python: r.hard_negatives(5).save("triplets.parquet").';
const REFUSALS: Record<string, string> = {
  search_negatives: NEGATIVES_NEED,
  search_case: `This page carries the cases of other questions, not of this one: ${NEEDS_PYTHON}.`,
  search_without: `This page carries what a few words do, not what this one does: ${NEEDS_PYTHON}.`,
};

/** What a page answers: what it carries, or why it does not. */
export function answerOf(question: Fields, read: (name: string) => Fields | null): Fields {
  if (question.op === "hello") return { kernel: false };
  if (question.texts) return { error: `A text that is rewritten is read by the model: ${NEEDS_PYTHON}.` };
  return (
    read(nameOf(question)) ?? { error: REFUSALS[String(question.op)] ?? `This is not in the page: ${NEEDS_PYTHON}.` }
  );
}

/** The model object of the page, once all of it has arrived. */
export function pageModel(): AnyModel {
  const arrived = new Promise<void>((resolve) => {
    if (document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
    else resolve();
  });
  const { model } = createModel(readJson<Fields>("bertlens-data")!, async ({ id: _, ...question }) => {
    await arrived;
    return [answerOf(question, readJson<Fields>)];
  });
  return model as unknown as AnyModel;
}
