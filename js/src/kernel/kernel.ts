// Questions from the page to the kernel: a message with an id each way, bytes in the answer's buffers. A large answer comes
// in pieces, messages of the same id that say where in how many bytes theirs belong (bertlens/base/wire.py).
import type { AnyModel } from "@anywidget/types";
import { bytesOf } from "./wire";

/** Where the kernel was, and is no more. */
export const GONE = "Python was stopped or restarted: run the cell again";
/** Of what a saved page cannot answer. */
export const NEEDS_MODEL = "This needs the model, which a saved page does not hold. Open the notebook.";

/** What travels in a message beside its buffers: the answer to one question, or why there is none. */
export interface Reply {
  fields: Record<string, unknown>;
  buffers: DataView[];
}

/** The kernel answered, and its answer was an error message. */
export class KernelError extends Error {}
/** What was asked about is not what the kernel has now. */
export class StaleError extends KernelError {}
/** Nothing can be sent. */
export class ConnectionError extends Error {}

let questions = 0;
const page = Math.random().toString(36).slice(2); // crypto.randomUUID needs https

/**
 * Ask for one operation. Rejects with the kernel's own message, or at once where nothing can be sent. Of an answer in
 * pieces `progress` is told with each how many bytes are here, and of how many.
 */
export function ask(
  model: AnyModel,
  op: string,
  asked: Record<string, unknown>,
  signal: AbortSignal,
  progress?: (here: number, of: number) => void,
): Promise<Reply> {
  let fields: Record<string, unknown> = {};
  let buffer: Uint8Array | undefined;
  let bytes = 0;
  const id = `${page}-${++questions}`;
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      model.off("msg:custom", receive);
      signal.removeEventListener("abort", abort);
      settle();
    };
    const abort = () => finish(() => reject(signal.reason));
    const receive = (message: Record<string, unknown>, buffers: DataView[]) => {
      if (message?.id !== id) return;
      fields = { ...fields, ...message };
      if ("of" in message) {
        const [piece, of] = [bytesOf(buffers[0]!), message.of as number];
        buffer ??= new Uint8Array(of);
        buffer.set(piece, message.at as number);
        bytes += piece.length;
        progress?.(bytes, of);
        if (bytes < of) return;
        buffers = [new DataView(buffer.buffer)];
      }
      finish(() =>
        "error" in message
          ? reject(new (message.stale ? StaleError : KernelError)(String(message.error)))
          : resolve({ fields, buffers: buffers ?? [] }),
      );
    };
    signal.throwIfAborted();
    signal.addEventListener("abort", abort);
    model.on("msg:custom", receive);
    try {
      model.send({ id, op, ...asked });
    } catch {
      finish(() => reject(new ConnectionError(GONE)));
    }
  });
}
