// A model, an overview and heads for tests of the page's state: the test is the kernel and answers when it wants.
import type { AnyModel } from "@anywidget/types";
import { type Slice, scores } from "../src/compute/attention";
import type { Traits } from "../src/generated/vocabulary";
import { synced as bind, type Synced } from "../src/kernel/synced";
import { createStore, type Store } from "../src/state/store";

type Numbers = Float32Array | Float64Array | Uint8Array;
type Packed = { index: { name: string; dtype: string; shape: number[]; offset: number }[]; data: DataView };

/** As bertlens/base/wire.py packs: every array at a multiple of 8 bytes. */
export function pack(arrays: Record<string, { shape: number[]; data: Numbers }>): Packed {
  const index: Packed["index"] = [];
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const [name, { shape, data }] of Object.entries(arrays)) {
    index.push({ name, dtype: data.constructor.name.replace("Array", "").toLowerCase(), shape, offset });
    const bytes = new Uint8Array(Math.ceil(data.byteLength / 8) * 8);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    parts.push(bytes);
    offset += bytes.length;
  }
  const all = new Uint8Array(offset);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return { index, data: new DataView(all.buffer) };
}

export const LAYERS = 3;
export const HEADS = 4;
const d = 4;

/** Numbers that differ from head to head and are the same each time. */
export const noise = (length: number, seed: number) =>
  Float32Array.from({ length }, (_, n) => 2 * Math.sin(seed * 7.7 + n * 1.3 + (n % 3)));

const side = (tokens: string[]) => ({
  tokens,
  words: tokens.map((token, n) => (token.startsWith("[") ? -1 : n)),
  segments: tokens.map(() => 0),
  special: tokens.map((token) => Number(token.startsWith("["))),
  continuation: "##",
});

type Inputs = Record<string, { shape: number[]; data: Numbers }>;

/** The log-sum-exp of every row. */
export const totals = (slice: Slice): Float64Array =>
  Float64Array.from({ length: slice.S }, (_, i) => Math.log(scores(slice, i).reduce((sum, s) => sum + Math.exp(s), 0)));

/** Queries and keys of a head. */
const queriesAndKeys = (S: number, layer: number, head: number): Inputs => {
  const seed = 1 + layer * HEADS + head;
  const [q, k] = [noise(S * d, seed), noise(S * d, seed + 100)];
  const slice = { S, K: S, d, scaling: 0.5, mask: { kind: "full" } as const, terms: [], q, k };
  return {
    q: { shape: [S, d], data: q },
    k: { shape: [S, d], data: k },
    lse: { shape: [S], data: totals(slice) },
  };
};

/** The kernel's answer to op "head"; `inputs` where it is not to be made up. */
export function headAnswer(
  tokens: string[],
  layer: number,
  head: number,
  inputs: Inputs = queriesAndKeys(tokens.length, layer, head),
) {
  const { index, data } = pack(inputs);
  return { fields: { layer, head, scaling: 0.5, mask: "full", arrays: index }, buffers: [data] };
}

/** The kernel's answer with one array of floats. */
export function floats(name: string, shape: number[], data: Float32Array) {
  const packed = pack({ [name]: { shape, data } });
  return { fields: { arrays: packed.index }, buffers: [packed.data] };
}

const tab = (name: string) => ({ name, label: name, about: "", questions: {}, why_not: "" as string | null });

/** The trait `overview` of a made-up trace with head (layer, head) open. */
export function overviewOf(
  tokens: string[],
  {
    trace = "t1",
    layer = 0,
    head = 0,
    map = "self",
    maps = [map],
    inputs = queriesAndKeys(tokens.length, layer, head),
    ...more
  }: Record<string, unknown> & {
    trace?: string;
    layer?: number;
    head?: number;
    map?: string;
    maps?: string[];
    inputs?: Inputs;
  } = {},
) {
  const S = tokens.length;
  const stats = ["previous", "next", "self", "first", "separator", "entropy", "k90", "max"];
  const { index, data } = pack({
    thumbs: { shape: [LAYERS, HEADS, S, S], data: Uint8Array.from({ length: LAYERS * HEADS * S * S }, (_, n) => n) },
    thumb_max: { shape: [LAYERS, HEADS], data: new Float32Array(LAYERS * HEADS).fill(1) },
    stats: {
      shape: [LAYERS, HEADS, stats.length],
      data: Float32Array.from({ length: LAYERS * HEADS * stats.length }, (_, n) => (n % 97) / 97),
    },
    ...Object.fromEntries(Object.entries(inputs).map(([name, array]) => [`head.${name}`, array])),
  });
  const header = {
    trace,
    subject: trace,
    changes: [],
    map,
    maps,
    model: "made up",
    n_layers: LAYERS,
    n_heads: HEADS,
    head_dim: d,
    dtype: "float32",
    queries: side(tokens),
    keys: null,
    pair: false,
    badges: [],
    text: tokens.join(" "),
    text_pair: "",
    stats,
    measures: ["weight"],
    layer_maps: [],
    spans: [],
    offers: {} as Record<string, string>,
    tabs: ["neurons", "gates", "table"].map(tab),
    versions: {},
    nan_layer: null,
    lens: true,
    made: { lens: "bl.Lens.embedded()", trace: "lens.trace(text)" },
    head: { layer, head, scaling: 0.5, mask: "full" },
    arrays: index,
    ...more,
  };
  return { header, data };
}

export interface Asked {
  message: Record<string, unknown> & { id: string; op: string };
  give(fields: Record<string, unknown>, buffers?: DataView[]): void;
}

/** anywidget's model, with every question kept in `asked`. */
export class FakeModel {
  asked: Asked[] = [];
  dead = false;
  saves = 0;
  private handlers = new Map<string, ((...values: unknown[]) => void)[]>();

  constructor(readonly state: Record<string, unknown>) {}

  get = (name: string) => this.state[name];
  set = (name: string, value: unknown) => {
    this.state[name] = value;
    this.emit(`change:${name}`);
  };
  save_changes = () => {
    this.saves++;
  };
  on = (name: string, handler: (...values: unknown[]) => void) => {
    this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]);
  };
  off = (name: string, handler: (...values: unknown[]) => void) => {
    this.handlers.set(
      name,
      (this.handlers.get(name) ?? []).filter((other) => other !== handler),
    );
  };
  emit(name: string, ...values: unknown[]) {
    for (const handler of this.handlers.get(name) ?? []) handler(...values);
  }
  send = (message: Asked["message"]) => {
    if (this.dead) throw new Error("Cannot send");
    this.asked.push({
      message,
      give: (fields, buffers = []) => this.emit("msg:custom", { ...fields, id: message.id }, buffers),
    });
  };
  get listeners() {
    return [...this.handlers.values()].reduce((sum, list) => sum + list.length, 0);
  }
  get any() {
    return this as unknown as AnyModel<Traits>;
  }
}

export const TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"];

export function traitsOf(overview: ReturnType<typeof overviewOf>, more: Partial<Traits> = {}) {
  return {
    parts: ["header", "atlas", "head", "neurons", "table"],
    overview,
    map: overview.header.map,
    layer: overview.header.head.layer,
    head: overview.header.head.head,
    heads: [],
    query: null,
    key: null,
    measure: "weight",
    layer_map: "",
    mode: "matrix",
    view: "neurons",
    text: "",
    text_pair: "",
    truncation: false,
    pair_filter: "all",
    units: "pieces",
    hide_special: false,
    renormalize: false,
    theme: "auto",
    include_layers: null,
    include_heads: null,
    settings: {},
    ...more,
  };
}

type Answering = ReturnType<typeof headAnswer> | ReturnType<typeof floats>;

export interface Bench {
  model: FakeModel;
  synced: Synced;
  store: Store;
  end: AbortController;
  /** Questions about heads that wait, as "layer/head". */
  heads(): string[];
  /** The oldest question of this kind that waits, with these fields; it waits no more. */
  take(op: string, fields?: Record<string, unknown>): Asked;
  /** Answer the oldest question about this head; then everything that waits for it has run. */
  answer(layer: number, head: number, tokens?: string[]): Promise<void>;
  /** Answer all that is asked, also what the answers lead to, at most 100 times; what was asked, as "op layer/head". */
  drain(answer?: (message: Asked["message"]) => Answering): Promise<string[]>;
}

/** A store on a fake model; `limit` bytes of answers are kept. */
export function bench(overview = overviewOf(TOKENS), more: Partial<Traits> = {}, limit?: number): Bench {
  const model = new FakeModel(traitsOf(overview, more));
  const end = new AbortController();
  const synced = bind(model.any, end.signal);
  const store = createStore(model.any, synced, end.signal, limit);
  const take: Bench["take"] = (op, fields = {}) => {
    const asks = ({ message }: Asked) =>
      message.op === op && Object.entries(fields).every(([name, value]) => message[name] === value);
    const n = model.asked.findIndex(asks);
    if (n < 0) throw new Error(`nobody asks for ${op} ${JSON.stringify(fields)}`);
    return model.asked.splice(n, 1)[0]!;
  };
  const made: Parameters<Bench["drain"]>[0] = ({ layer, head }) => headAnswer(TOKENS, Number(layer), Number(head));
  return {
    model,
    synced,
    store,
    end,
    take,
    heads: () =>
      model.asked
        .filter(({ message }) => message.op === "head")
        .map(({ message }) => `${message.layer}/${message.head}`),
    async answer(layer, head, tokens = TOKENS) {
      const { fields, buffers } = headAnswer(tokens, layer, head);
      take("head", { layer, head }).give(fields, buffers);
      await settled();
    },
    async drain(answer = made) {
      const asked: string[] = [];
      while (model.asked.length > 0 && asked.length < 100) {
        const { message, give } = model.asked.shift()!;
        if (message.op === "hello") continue;
        asked.push([message.op, [message.layer, message.head].filter((n) => n !== undefined).join("/")].join(" "));
        const { fields, buffers } = answer(message);
        give(fields, buffers);
        await settled();
      }
      return asked;
    },
  };
}

/** A kernel says hello, or a page that has none. */
export async function hello({ take }: Bench, kernel = true, page = false): Promise<void> {
  take("hello").give({ kernel, page });
  await settled();
}

/** Until every promise that can settle has. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

/** Until all is drawn again and effects have run, which come after a frame: each step begins after what the one before let
 * happen, on a busy machine too. */
export async function quiet(): Promise<void> {
  for (let n = 0; n < 4; n++) await new Promise((done) => setTimeout(done, 30));
}
