// What the kernel answered. Each question is asked once and its answer is in one of three states. Answers are kept within
// a budget; one that a component looks at is never dropped, or it would be asked for again and again.
import { effect, type Signal, signal } from "@preact/signals";
import type { Again, Schema } from "../generated/answers";
import type { Questions } from "../generated/vocabulary";
import { type Reply, StaleError } from "./kernel";
import type { Link } from "./link";
import { type Arrays, unpack, type WireArray } from "./wire";

const LIMIT = 128e6; // bytes
export const PATIENCE = 60_000; // ms

type Fields = Record<string, unknown>;

export type Answer<T> =
  | { state: "asking"; done?: number; told?: Pick<Again, "doing" | "said"> } // the share that is made, 0 to 1, and what else is said of it
  | { state: "answered"; value: T; pending?: readonly number[] } // of a long text: layers that are still to come
  | { state: "refused"; reason: string; isStale?: true }; // isStale: another run is on its way, or here already

export type Arguments<Op> = Op extends keyof Questions ? Questions[Op] : Record<string, unknown>;

/** What is answered to a question; of one that is not in the table anything. */
export type FieldsOf<Op> = Op extends keyof Schema ? Schema[Op]["fields"] : Fields;
type ArraysOf<Op> = Op extends keyof Schema
  ? { [Name in keyof Schema[Op]["arrays"]]: WireArray<Exclude<Schema[Op]["arrays"][Name], undefined>> }
  : Arrays;
/** The same with its arrays among the fields. */
export type AnswerTo<Op extends keyof Schema> = Schema[Op]["fields"] & Schema[Op]["arrays"];

export interface Read<Op = string> {
  fields: FieldsOf<Op>;
  arrays: ArraysOf<Op>;
  pending?: readonly number[];
}

/** A kind of question: what is asked, and how the answer is read. */
export interface Kind<T, Op extends string = string> {
  op: Op;
  needs?: string; // of what the maps offer: else it is refused with the reason, and not asked
  read(reply: Read<Op>, args: Arguments<Op>): T;
  bytes?(value: T): number; // that it takes beside what came
  instead?(): Promise<T | null>; // how a page without a kernel finds it out; null where the kernel is to be asked
  layered?: boolean; // it is of all layers: of a long text it is asked for one by one
  ofOriginal?: boolean; // it is of the run without changes: while it is asked again after a change, the last one stays
  spoken?: boolean; // the line above says what goes wrong; else the view does, where the answer would be
}

/** An answer's fields with its arrays among them. */
export const fieldsAndArrays = <Op extends keyof Schema>({ fields, arrays }: Read<Op>): AnswerTo<Op> =>
  Object.assign({}, fields, ...Object.entries(arrays as Arrays).map(([name, { data }]) => ({ [name]: data })));

/** The attention maps that a question is about: an overview names them. Of what is about no text: none. */
export type Subject = { trace?: string; map?: string; byLayer?: boolean };

/** Asks layer by layer until all is here or nobody looks, and puts what there is under the name. */
export type LayerQueue = <T, Op extends string>(
  name: string,
  kind: Kind<T, Op>,
  subject: Subject,
  args: Arguments<Op>,
) => Promise<void>;

interface Entry {
  answer: Signal<Answer<unknown>>;
  bytes: number;
  watched: boolean;
}

export class Answers {
  private entries = new Map<string, Entry>(); // what was used longest ago first
  setLayerQueue: (ask: LayerQueue) => void = () => undefined; // set by who draws thumbnails: state/layerqueue.ts
  private layers = new Promise<LayerQueue>((resolve) => {
    this.setLayerQueue = resolve;
  });

  constructor(
    private ask: (op: string, fields: Record<string, unknown>) => Promise<Reply>,
    readonly link: Link,
    readonly limit = LIMIT,
  ) {}

  /** What is known of a question, which is asked if need be. `known` is the answer where none has to be asked for. */
  get<T, Op extends string>(kind: Kind<T, Op>, subject: Subject, args: Arguments<Op>, known?: () => T): Answer<T> {
    const name = JSON.stringify([kind.op, subject.trace, subject.map, args]);
    const entry = this.entries.get(name);
    this.entries.delete(name);
    this.entries.set(name, entry ?? this.open(name)); // the last one again
    if (!entry && known) this.settle(name, kind, known());
    else if (!entry) this.pose(name, kind, subject, args);
    return this.entries.get(name)!.answer.value as Answer<T>;
  }

  private open(name: string): Entry {
    const watch = (watched: boolean) => () => {
      entry.watched = watched;
      // nobody looks at a refusal any more: asked again the next time
      if (!watched && entry.answer.peek().state === "refused") this.entries.delete(name);
    };
    const answer = signal<Answer<unknown>>({ state: "asking" }, { watched: watch(true), unwatched: watch(false) });
    const entry = { answer, bytes: 0, watched: false };
    return entry;
  }

  private pose<T, Op extends string>(name: string, kind: Kind<T, Op>, subject: Subject, args: Arguments<Op>): void {
    const refuse = (reason: string, more: { isStale?: true } = {}) =>
      this.put(name, { state: "refused", reason, ...more }, 0);
    if (kind.layered && subject.byLayer) {
      this.layers.then((ask) => ask(name, kind, subject, args));
      return;
    }
    const pose = async (): Promise<{ value: T; bytes?: number } | null> => {
      const reply = this.plain(kind.op, subject, args, (answer) => {
        const { again, done, doing, said } = answer.fields as Partial<Again>;
        if (!again) return kind.read(answer as Read<Op>, args);
        if (typeof done === "number" && this.entries.has(name))
          this.put(name, { state: "asking", done, ...(doing === undefined ? {} : { told: { doing, said } }) }, 0);
        return null;
      });
      this.link.follow(name, reply, PATIENCE, refuse, !kind.spoken);
      const { value, bytes } = await reply;
      if (value !== null) return { value, bytes };
      return this.isWanted(name) ? pose() : null; // part of it is done
    };
    const local = kind.instead?.() ?? Promise.resolve(null);
    const reply = kind.instead ? local.then((value) => (value === null ? pose() : { value })) : pose();
    reply.then(
      (answer) => answer && this.settle(name, kind, answer.value, answer.bytes),
      (error: Error) => refuse(error.message, error instanceof StaleError ? { isStale: true } : {}),
    );
  }

  /** Ask, read, and keep nothing. */
  plain<T>(
    op: string,
    { trace, map }: Subject,
    args: Record<string, unknown>,
    read: (answer: Read) => T,
  ): Promise<{ value: T; bytes?: number }> {
    return this.ask(op, { trace, map, ...args }).then(({ fields, buffers }) => {
      try {
        const value = read({ fields, arrays: fields.arrays ? unpack(fields.arrays, buffers[0]!) : {} });
        return { value, bytes: buffers[0]?.byteLength };
      } catch (error) {
        throw new Error(`an answer that cannot be read (${(error as Error).message})`);
      }
    });
  }

  private settle<T, Op extends string>(name: string, kind: Kind<T, Op>, value: T, bytes = 0): void {
    this.put(name, { state: "answered", value }, bytes + (kind.bytes?.(value) ?? 0));
  }

  /** Whether somebody looks at an answer; else it goes, and is asked for again the next time. */
  isWanted(name: string): boolean {
    return Boolean(this.entries.get(name)?.watched) || !this.entries.delete(name);
  }

  /** A late answer too: its entry may be gone. Then what is older and nobody looks at makes room. */
  put(name: string, answer: Answer<unknown>, bytes: number): void {
    const entry = this.entries.get(name) ?? this.open(name);
    this.entries.set(name, Object.assign(entry, { bytes }));
    entry.answer.value = answer;
    if (answer.state === "refused" && !entry.watched) this.entries.delete(name);
    let total = [...this.entries.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [other, one] of this.entries) {
      const isKept = other === name || one.watched || one.answer.peek().state !== "answered";
      if (total <= this.limit || isKept) continue;
      total -= one.bytes;
      this.entries.delete(other);
    }
  }
}

/** The answer as soon as all of it is here. Rejects where it is refused. */
export const arrived = <T>(get: () => Answer<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const end = effect(() => {
      const answer = get();
      if (answer.state === "asking" || (answer.state === "answered" && answer.pending?.length)) return;
      if (answer.state === "answered") resolve(answer.value);
      else reject(new Error(answer.reason));
      queueMicrotask(() => end());
    });
  });
