// The data behind one view: its traits, what was answered, what is shown, and how the kernel is doing.

import type { AnyModel } from "@anywidget/types";
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Traits } from "../generated/vocabulary";
import { commOf } from "../host/comm";
import { Answers, PATIENCE } from "../kernel/answers";
import { ask, ConnectionError, GONE, type Reply } from "../kernel/kernel";
import { Link } from "../kernel/link";
import type { Synced } from "../kernel/synced";
import { createShownHead, type Grown, type ShownHead } from "./shownhead";

export interface Store {
  synced: Synced;
  answers: Answers;
  shownHead: ReadonlySignal<ShownHead>;
  grown: Grown;
  link: Link;
  running: ReadonlySignal<boolean>; // a text is on its way
  spent: ReadonlySignal<number>; // ms that the last text took, infinite before there was one
  /** Ask for something that is not kept. After `patience` ms the page says that there is no answer; a later one still counts. */
  request(
    op: string,
    fields: Record<string, unknown>,
    patience?: number,
    tired?: (reason: string) => void,
  ): Promise<Reply>;
  run(text: string, textPair: string): Promise<void>;
  /** A question that shows another run. */
  show(op: string, fields: Record<string, unknown>): Promise<void>;
}

export function createStore(model: AnyModel<Traits>, synced: Synced, until: AbortSignal, limit?: number): Store {
  const link = new Link(until);
  const comm = commOf(model);
  link.saved.value = comm.isGone();
  const send = (op: string, fields: Record<string, unknown>) =>
    comm.isGone()
      ? Promise.reject(new ConnectionError(link.saved.peek() ? "not in this page: open the notebook" : GONE))
      : ask(model, op, fields, until, link.load);
  const answers = new Answers(send, link, limit);
  const runs = signal(0);
  const spent = signal(Number.POSITIVE_INFINITY);
  const running = computed(() => runs.value > 0);
  const request: Store["request"] = (op, fields, patience = 10 * PATIENCE, tired = () => undefined) => {
    const reply = send(op, fields);
    link.follow(op, reply, patience, tired);
    return reply;
  };
  const greet = () => link.greet(send("hello", {}));
  greet();
  comm.follow(() => (comm.isGone() ? link.lose() : greet()), until);
  const { shownHead, grown } = createShownHead(synced, answers, link, until);
  const show: Store["show"] = async (op, fields) => {
    let count = 1;
    const stop = () => {
      runs.value -= count;
      count = 0; // tired first, answered later
    };
    runs.value++;
    await request(op, fields, 10 * PATIENCE, stop).finally(stop);
  };
  return {
    ...{ synced, answers, shownHead, grown, link, running, spent, request, show },
    run: async (text, text_pair) => {
      const start = performance.now();
      await show("trace", { text, text_pair });
      spent.value = performance.now() - start;
    },
  };
}
