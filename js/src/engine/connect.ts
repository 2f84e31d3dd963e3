// The page's side: finds the model a place to run, hands it its weights, and asks it what the page does not carry.
import { ANOTHER_TEXT } from "../generated/phrases";
import { STILL_LOADING } from "../kernel/kernel";
import { NEEDS_PYTHON } from "../kernel/needs";
import { isAnswered, isShowing } from "./registry";
import type { Answer, Carried } from "./runs";
import { serve, type ToModel, type ToPage } from "./serve";
import { ANOTHER } from "./session";

/** An answer as a page has it: fields, buffers. */
export type Reply = [Record<string, unknown>, DataView[]?];

/** What a saved page gives (js/src/host/savedpage.ts). */
export interface Host {
  code: string; // that serves in a Worker
  carried: Carried;
  size?: number; // bytes of the weights, where they are beside the page
  texts: [string, string][]; // that the page offers
  part(n: number, tell: (share: number) => void): Promise<{ index: unknown; data: DataView }>; // tells of all of it
  answer(question: Record<string, unknown>): Promise<Reply>; // from what the page carries
  show(shown: Exclude<Answer["show"], undefined>): Promise<void>;
  changed(): void; // whether the model is there
  say(text: string): void; // beside the picture
}

const PATIENCE = 3000; // ms for a Worker to say that it is there
const TICK = 2000; // ms between two looks whether it is there still
const SILENT = 30; // looks in which it says nothing while it works
const GONE = 2; // and while it has nothing else to do than to say that it is there
export const STOPPED = "The model in this page has stopped: load the page again.";
const OWN = "What you type is run in this page, and stays on it.";
const SLOW = "This browser refuses WebAssembly: the model runs ten times slower.";

interface Line {
  postMessage(message: ToModel, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToPage>) => void) | null;
  onerror?: ((event: ErrorEvent) => void) | null; // of a Worker, as what follows
  terminate?(): void;
}

/** A Worker from the code, or null where none may be had. */
function startWorker(code: string): Promise<Worker | null> {
  return new Promise((resolve) => {
    try {
      const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
      const worker = new Worker(address);
      const end = (ready: Worker | null) => () => {
        clearTimeout(late);
        URL.revokeObjectURL(address);
        if (!ready) worker.terminate();
        resolve(ready);
      };
      const late = setTimeout(end(null), PATIENCE);
      worker.onerror = end(null);
      worker.onmessage = end(worker);
    } catch {
      resolve(null);
    }
  });
}

function onThisPage(): Line {
  const { port1, port2 } = new MessageChannel();
  serve(port2 as never);
  return port1 as never;
}

/** Answers as a kernel would. */
export function connect(host: Host): (message: Record<string, unknown>) => Promise<Reply> {
  const waits = new Map<number, (message: ToPage & { kind: "answer" }) => void>();
  let [line, isLoaded, count, coming]: [Line | null, boolean, number, string] = [null, false, 0, ""];
  const tell = (text: string) => {
    if (text === coming) return;
    coming = text;
    host.changed();
  };
  let progress = 0;
  const load = (share: number) => {
    progress = Math.max(progress, share);
    tell(`loading the model ${Math.floor(100 * progress)} %${host.size ? ` of ${Math.ceil(host.size / 1e6)} MB` : ""}`);
  };

  let [note, why, isLong] = [OWN, "", false]; // what is said of the model that is there; why it is not
  let [silent, works] = [0, true]; // looks since it was heard; whether it may be at work
  const hear = ({ data: message }: MessageEvent<ToPage>) => {
    silent = 0;
    if (message.kind === "answer") waits.get(message.id)?.(message);
    else if (message.kind === "wanted")
      host.part(message.part, load).then(({ index, data }) => {
        line!.postMessage({ kind: "part", index, data }, [data.buffer as ArrayBuffer]);
      }, cannot);
    else if (message.kind === "loading") load(message.share);
    else if (message.kind === "broken") cannot(new Error(message.why));
    else if (message.kind === "long") {
      isLong = true;
      host.say(`${message.tokens} tokens: about ${message.seconds} s. What you type stays on this page.`);
    } else if (message.kind === "loaded") {
      isLoaded = true;
      note = message.fast ? OWN : `${OWN} ${SLOW}`;
      host.say(note);
      tell("");
    }
    works = !isLoaded || waits.size > 0;
  };
  const end = (reason: string) => {
    [why, isLoaded, coming] = [reason, false, ""];
    line?.terminate?.();
    clearInterval(looks);
    for (const [id, answer] of waits) answer({ kind: "answer", id, error: why });
    host.say(why);
    host.changed();
  };
  const cannot = ({ message }: Error) => end(`The model cannot be run here: ${message}`);
  const look = () => {
    if (silent++ === (works ? SILENT : GONE)) end(STOPPED);
    else line!.postMessage({ kind: "there" });
  };
  let looks: ReturnType<typeof setInterval> | undefined;
  const start = async () => {
    load(0);
    line = (await startWorker(host.code)) ?? onThisPage();
    line.onmessage = hear;
    if (line.terminate) {
      line.onerror = () => end(STOPPED);
      looks = setInterval(look, TICK);
    }
    line.postMessage({ kind: "start", carried: host.carried });
  };
  start().catch(cannot);

  const ask = (question: Record<string, unknown>) =>
    new Promise<ToPage & { kind: "answer" }>((resolve) => {
      const id = ++count;
      if (waits.size === 0) {
        works = false; // until it has said that it is there, which it does before it begins
        line!.postMessage({ kind: "there" });
      }
      waits.set(id, (message) => {
        waits.delete(id);
        resolve(message);
      });
      line!.postMessage({ kind: "ask", id, question });
    });

  let turns = 0; // of what is to be shown the last one counts, of what the page carries too
  const answering = async (question: Record<string, unknown>): Promise<Reply> => {
    const { op, trace } = question;
    if (op === "hello") return [{ kernel: isLoaded, coming, why, page: true, texts: host.texts }];
    const turn = isShowing(String(op)) ? ++turns : turns;
    if (op === "overview" || op === "trace" || host.carried.texts.some((one) => one.trace === trace)) {
      const reply = await host.answer({ ...question, trace });
      if (!reply[0].error) return reply;
    }
    if (why) return [{ error: why }];
    if (!isLoaded) return [{ error: STILL_LOADING }];
    if (!isAnswered(String(op))) return [{ error: NEEDS_PYTHON }];
    const { answer, error } = await ask(question);
    if (isLong && turn === turns && isShowing(String(op)) && !why) {
      isLong = false;
      host.say(note);
    }
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
