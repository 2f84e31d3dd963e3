// The model's side of the messages between a page and its model: in a Worker, or on the page where none may be had.
import type { Answer } from "./runs";

/** To the model. `part`: one that it asked for. */
export type ToModel =
  | { kind: "start"; carried: unknown }
  | { kind: "part"; index: unknown; data: DataView }
  | { kind: "ask"; id: number; question: Record<string, unknown> }
  | { kind: "there" }; // is it there still?

/** To the page. */
export type ToPage =
  | { kind: "here" }
  | { kind: "wanted"; part: number }
  | { kind: "loading"; share: number }
  | { kind: "loaded"; fast: boolean }
  | { kind: "broken"; why: string }
  | { kind: "long"; tokens: number; seconds: number } // a run that begins
  | { kind: "answer"; id: number; answer?: Answer; error?: string };

/** What both sides send and hear by: a Worker's own scope, or a port. */
interface Port {
  postMessage(message: ToPage): void;
  onmessage: ((event: MessageEvent<ToModel>) => void) | null;
}

/** A model that gets its weights part by part, and answers questions; rejects with one sentence. */
export interface Served {
  load(
    part: (n: number) => Promise<{ index: unknown; data: DataView }>,
    progress: (share: number) => void,
  ): Promise<{ fast: boolean }>;
  answer(question: Record<string, unknown>): Promise<Answer>;
}

export type Serve = (port: Port) => void;

/** `open` makes the model of what a page carries of it; `tell` hears of runs that take long, before they begin. */
export const serving =
  (open: (carried: unknown, tell: (tokens: number, seconds: number) => void) => Served): Serve =>
  (port) => {
    let session: Served | null = null;
    let take: (part: { index: unknown; data: DataView }) => void = () => undefined;
    const say = (message: ToPage) => port.postMessage(message);
    const request = (n: number) =>
      new Promise<{ index: unknown; data: DataView }>((resolve) => {
        take = resolve;
        say({ kind: "wanted", part: n });
      });
    const start = async (carried: unknown) => {
      session = open(carried, (tokens, seconds) => say({ kind: "long", tokens, seconds }));
      say({ kind: "loaded", ...(await session.load(request, (share) => say({ kind: "loading", share }))) });
    };
    port.onmessage = ({ data: message }) => {
      if (message.kind === "there") say({ kind: "here" });
      else if (message.kind === "part") take(message);
      else if (message.kind === "start")
        start(message.carried).catch((error: Error) => say({ kind: "broken", why: error.message }));
      else {
        const { id } = message;
        session!.answer(message.question).then(
          (answer) => say({ kind: "answer", id, answer }),
          (error: Error) => say({ kind: "answer", id, error: error.message }),
        );
      }
    };
    say({ kind: "here" });
  };
