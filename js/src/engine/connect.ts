// What a live page asks its model: what it does not carry.
import { ANOTHER_TEXT } from "../generated/phrases";
import { NEEDS_PYTHON } from "../kernel/needs";
import { openLine, type Source } from "./line";
import { isAnswered, isShowing } from "./registry";
import type { Answer, Carried } from "./runs";
import { serving } from "./serve";
import { ANOTHER, Session } from "./session";

/** An answer as a page has it: fields, buffers. */
export type Reply = [Record<string, unknown>, DataView[]?];

/** What a saved page gives (js/src/host/savedpage.ts). */
export interface Host extends Source {
  carried: Carried;
  texts: [string, string][]; // that the page offers
  answer(question: Record<string, unknown>): Promise<Reply>; // from what the page carries
  show(shown: Exclude<Answer["show"], undefined>): Promise<void>;
}

export const serve = serving((carried, tell) => new Session(carried as Carried, tell));

/** Answers as a kernel would. */
export function connect(host: Host): (message: Record<string, unknown>) => Promise<Reply> {
  const line = openLine(host, serve);
  let turns = 0; // of what is to be shown the last one counts, of what the page carries too
  const answering = async (question: Record<string, unknown>): Promise<Reply> => {
    const { op, trace } = question;
    const isGesture = isShowing(String(op));
    if (op === "hello") return [{ ...line.state(), page: true, texts: host.texts }];
    const turn = isGesture ? ++turns : turns;
    if (op === "overview" || op === "trace" || host.carried.texts.some((one) => one.trace === trace)) {
      const reply = await host.answer({ ...question, trace });
      if (!reply[0].error) return reply;
    }
    if (!isAnswered(String(op))) return [{ error: NEEDS_PYTHON }];
    const { answer, error } = await line.ask(question);
    if (turn === turns && isGesture) line.say();
    if (!answer) return [{ error, stale: [ANOTHER, ANOTHER_TEXT].includes(error!) }];
    if (answer.show !== undefined) {
      if (turn !== turns) return [{ error: ANOTHER, stale: true }];
      await host.show(answer.show);
    }
    return [answer.fields, answer.data ? [answer.data] : []];
  };

  let texts = 0; // on their way: what is done to the one before comes too late
  return async ({ id: _, ...question }) => {
    if (question.op !== "trace")
      return question.op === "change" && texts > 0 ? [{ error: ANOTHER_TEXT, stale: true }] : answering(question);
    texts++;
    return answering(question).finally(() => texts--);
  };
}
