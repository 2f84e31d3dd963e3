// A saved page of a retrieval: what was computed is in data elements; of the rest a live page computes what its model can,
// and what is left is refused in a sentence.
import type { AnyModel } from "@anywidget/types";
import { createModel, nameOf, readJson } from "../host/pagemodel";
import type { connect } from "./live";

type Fields = Record<string, unknown>;

/** What makes js/src/search/live. */
export type Engine = () => { connect: typeof connect };

const NEEDS_PYTHON = "it needs Python: r.explore() in a notebook";
export const NEGATIVES_NEED = 'Hard negatives need Python: r.hard_negatives(5).save("triplets.parquet").';
const DAMAGED = "This page is damaged: its model cannot be read.";
const REFUSALS: Record<string, string> = {
  search_negatives: NEGATIVES_NEED,
  search_case: `This page carries the cases of other questions, not of this one: ${NEEDS_PYTHON}.`,
  search_without: `This page carries what a few words do, not what this one does: ${NEEDS_PYTHON}.`,
  search_typed: `A typed question is read by the model, which this page does not carry: ${NEEDS_PYTHON}, or a page that was saved with live=True.`,
  search_heads: `Heads are told apart and switched off in Python: r.explore() in a notebook.`,
  search_work: `This is work of minutes in Python: r.explore() in a notebook.`,
};

type Read = (name: string) => Fields | null;

/** Why a page does not answer a question that it does not carry. */
function refusal({ op, texts }: Fields): Fields {
  if (op === "hello") return { kernel: false };
  if (texts && op === "search_case")
    return { error: `A text that is rewritten is read by the model: ${NEEDS_PYTHON}.` };
  return { error: REFUSALS[String(op)] ?? `This is not in the page: ${NEEDS_PYTHON}.` };
}

/** What a page without a model answers: what it carries, or why it does not. */
export const answerOf = (question: Fields, read: Read): Fields => read(nameOf(question)) ?? refusal(question);

/** The model object of the page, once all of it has arrived. */
export function pageModel(engine?: Engine): AnyModel {
  const arrived = new Promise<void>((resolve) => {
    if (document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
    else resolve();
  });
  const live = arrived.then(() =>
    engine?.()
      .connect(`(${engine})().serve(self)`)
      .catch(() => {
        document.getElementById("bertlens-says")!.textContent = DAMAGED;
        return null;
      }),
  );
  const { model } = createModel(readJson<Fields>("bertlens-data")!, async ({ id: _, ...question }) => {
    await arrived;
    const carried = readJson<Fields>(nameOf(question));
    return [carried ?? (await (await live)?.(question)) ?? refusal(question)];
  });
  return model as unknown as AnyModel;
}
