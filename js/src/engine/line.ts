// The page's side of the line to its model: finds it a place to run, hands it its weights, hears whether it is there still.
import type { Answer } from "./runs";
import type { Serve, ToModel, ToPage } from "./serve";

/** What a page has of its model. */
export interface Source {
  code: string; // that serves in a Worker
  carried: unknown; // what the model is told before it has weights
  size?: number; // bytes of the weights, where they are beside the page
  part(n: number, tell: (share: number) => void): Promise<{ index: unknown; data: DataView }>; // tells of all of it
  changed(): void; // whether the model is there
  say(text: string): void; // beside the picture
}

const PATIENCE = 3000; // ms for a Worker to say that it is there
const LOOK = 50; // ms between two looks whether the model is there
const TICK = 2000; // ms between two looks whether it is there still
const SILENT = 30; // looks in which it says nothing while it works
const GONE = 2; // and while it has nothing else to do than to say that it is there
export const STOPPED = "The model in this page has stopped: load the page again.";
const OWN = "What you type is run in this page, and stays on it.";
const SLOW = "This browser refuses WebAssembly: the model runs ten times slower.";

interface Port {
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

function onThisPage(serve: Serve): Port {
  const { port1, port2 } = new MessageChannel();
  serve(port2 as never);
  return port1 as never;
}

/** What the model answered, or why it did not. */
export interface Reply {
  answer?: Answer;
  error?: string;
}

export interface Line {
  /** kernel: whether the model is there; coming: how far it is; why: it is not. */
  state(): { kernel: boolean; coming: string; why: string };
  /** Waits for the model, or for why it cannot be had. */
  ask(question: Record<string, unknown>): Promise<Reply>;
  /** What is said of the model again, where a run that takes long was announced. */
  say(): void;
}

export function openLine(source: Source, serve: Serve): Line {
  const waits = new Map<number, (message: ToPage & { kind: "answer" }) => void>();
  let [port, isLoaded, count, coming]: [Port | null, boolean, number, string] = [null, false, 0, ""];
  const tell = (text: string) => {
    if (text === coming) return;
    coming = text;
    source.changed();
  };
  let progress = 0;
  const load = (share: number) => {
    progress = Math.max(progress, share);
    tell(
      `loading the model ${Math.floor(100 * progress)} %${source.size ? ` of ${Math.ceil(source.size / 1e6)} MB` : ""}`,
    );
  };

  let [note, why, isLong] = [OWN, "", false]; // what is said of the model that is there; why it is not
  let [silent, works] = [0, true]; // looks since it was heard; whether it may be at work
  const hear = ({ data: message }: MessageEvent<ToPage>) => {
    silent = 0;
    if (message.kind === "answer") waits.get(message.id)?.(message);
    else if (message.kind === "wanted")
      source.part(message.part, load).then(({ index, data }) => {
        port!.postMessage({ kind: "part", index, data }, [data.buffer as ArrayBuffer]);
      }, cannot);
    else if (message.kind === "loading") load(message.share);
    else if (message.kind === "broken") cannot(new Error(message.why));
    else if (message.kind === "long") {
      isLong = true;
      source.say(`${message.tokens} tokens: about ${message.seconds} s. What you type stays on this page.`);
    } else if (message.kind === "loaded") {
      isLoaded = true;
      note = message.fast ? OWN : `${OWN} ${SLOW}`;
      source.say(note);
      tell("");
    }
    works = !isLoaded || waits.size > 0;
  };
  const end = (reason: string) => {
    [why, isLoaded, coming] = [reason, false, ""];
    port?.terminate?.();
    clearInterval(looks);
    for (const [id, answer] of waits) answer({ kind: "answer", id, error: why });
    source.say(why);
    source.changed();
  };
  const cannot = ({ message }: Error) => end(`The model cannot be run here: ${message}`);
  const look = () => {
    if (silent++ === (works ? SILENT : GONE)) end(STOPPED);
    else port!.postMessage({ kind: "there" });
  };
  let looks: ReturnType<typeof setInterval> | undefined;
  const start = async () => {
    load(0);
    port = (await startWorker(source.code)) ?? onThisPage(serve);
    port.onmessage = hear;
    if (port.terminate) {
      port.onerror = () => end(STOPPED);
      looks = setInterval(look, TICK);
    }
    port.postMessage({ kind: "start", carried: source.carried });
  };
  const ask = async (question: Record<string, unknown>) => {
    while (coming) await new Promise((done) => setTimeout(done, LOOK));
    if (why) return { error: why };
    return new Promise<Reply>((resolve) => {
      const id = ++count;
      if (waits.size === 0) {
        works = false; // until it has said that it is there, which it does before it begins
        port!.postMessage({ kind: "there" });
      }
      waits.set(id, (message) => {
        waits.delete(id);
        resolve(message);
      });
      port!.postMessage({ kind: "ask", id, question });
    });
  };
  const say = () => {
    if (isLong && !why) source.say(note);
    isLong = false;
  };
  start().catch(cannot);
  return { state: () => ({ kernel: isLoaded, coming, why }), ask, say };
}
