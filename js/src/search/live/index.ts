// The search engine that a live page of a retrieval carries, a bundle of its own: see js/build.mjs, bertlens/export/html.py.
import { type Line, openLine } from "../../engine/line";
import { serving } from "../../engine/serve";
import type { SearchOverview } from "../../generated/answers";
import { carriedModel, say } from "../../host/carriedmodel";
import { nameOf, readJson } from "../../host/pagemodel";
import { type Carried, SearchSession } from "./session";

type Fields = Record<string, unknown>;

export const serve = serving((carried) => new SearchSession(carried as Carried));

const ANSWERED = ["search_typed", "search_case", "search_words", "search_without"];

/** Whether the model answers a question, and its answers: they wait until it is there. */
export async function connect(code: string) {
  const model = await carriedModel<Omit<Carried, "questions">>(code);
  if (typeof model === "string") {
    say(`${model} the page shows what it carries.`);
    return null;
  }
  const { questions } = readJson<SearchOverview>(nameOf({ op: "search" }))!;
  let hear: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => {
    hear = resolve;
  });
  let line: Line | null = null;
  const changed = () => {
    if (!line) return;
    const { kernel, why, coming } = line.state();
    if (kernel || why) hear();
    else say(`${coming} …`);
  };
  line = openLine({ ...model, carried: { ...model.carried, questions }, changed, say }, serve);
  return async (question: Fields): Promise<Fields | null> => {
    if (question.op === "hello") {
      await settled;
      return { kernel: line.state().kernel };
    }
    if (!ANSWERED.includes(String(question.op))) return null;
    await settled;
    const { why } = line.state();
    if (why) return { error: why };
    const { answer, error } = await line.ask(question);
    return answer?.fields ?? { error };
  };
}
