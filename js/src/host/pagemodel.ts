// What stands in a page for the model object of a widget's host: traits that live here, and data elements with answers.
import type { Reply } from "../engine/connect";

type Fields = Record<string, unknown>;
type Listener = (...values: unknown[]) => void;
export type Answering = (message: Fields) => Promise<Reply>;

/** A data element of the page; null where there is none. */
export const readJson = <T>(name: string): T | null => JSON.parse(document.getElementById(name)?.textContent ?? "null");

/** A question as the key of its answer: `question_name` in bertlens/export/html.py. */
export const nameOf = (question: Fields) => JSON.stringify(Object.entries(JSON.parse(JSON.stringify(question))).sort());

/** Traits and their listeners, as a widget has them of its host; `reply` answers its messages. */
export function createModel(state: Fields, reply: Answering) {
  const listeners = new Map<string, Listener[]>();
  const emit = (name: string, ...values: unknown[]) => {
    for (const listener of [...(listeners.get(name) ?? [])]) listener(...values);
  };
  const model = {
    get: (name: string) => state[name],
    set(name: string, value: unknown) {
      if (state[name] === value) return;
      state[name] = value;
      emit(`change:${name}`, model, value);
      emit("change", model);
    },
    on(name: string, listener: Listener) {
      listeners.set(name, [...(listeners.get(name) ?? []), listener]);
    },
    off(name: string, listener?: Listener) {
      const remainder = (listeners.get(name) ?? []).filter((other) => listener && other !== listener);
      listeners.set(name, remainder);
    },
    save_changes() {},
    async send(message: Fields) {
      const [fields, buffers = []] = await reply(message);
      emit("msg:custom", { ...fields, id: message.id }, buffers);
    },
  };
  return { model, emit };
}
