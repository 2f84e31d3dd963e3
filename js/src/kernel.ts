// Questions from the page to the kernel: one message with an id each way, bytes in the answer's buffers.
import type { AnyModel } from "@anywidget/types";

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

let asked = 0;
const page = Math.random().toString(36).slice(2); // crypto.randomUUID needs https

/** Ask for one operation. Rejects with the kernel's own message, or at once where nothing can be sent. */
export function ask(model: AnyModel, op: string, fields: Record<string, unknown>, signal: AbortSignal): Promise<Reply> {
  const id = `${page}-${++asked}`;
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      model.off("msg:custom", receive);
      signal.removeEventListener("abort", abort);
      settle();
    };
    const abort = () => finish(() => reject(signal.reason));
    const receive = (message: Record<string, unknown>, buffers: DataView[]) => {
      if (message?.id !== id) return;
      finish(() =>
        "error" in message
          ? reject(new (message.stale ? StaleError : KernelError)(String(message.error)))
          : resolve({ fields: message, buffers: buffers ?? [] }),
      );
    };
    signal.throwIfAborted();
    signal.addEventListener("abort", abort);
    model.on("msg:custom", receive);
    try {
      model.send({ id, op, ...fields });
    } catch {
      finish(() => reject(new ConnectionError("no kernel")));
    }
  });
}
