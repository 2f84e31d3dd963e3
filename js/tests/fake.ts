// A model, a picture and heads for tests of the page's state: the test is the kernel and answers when it wants.
import type { AnyModel } from "@anywidget/types";
import { createStore, type Store } from "../src/state/store";
import { synced as bind, type Synced, type Traits } from "../src/state/synced";

type Numbers = Float32Array | Uint8Array;
type Packed = { index: { name: string; dtype: string; shape: number[]; offset: number }[]; data: DataView };

/** As bertlens/wire.py packs: every array at a multiple of 8 bytes. */
export function pack(arrays: Record<string, { shape: number[]; data: Numbers }>): Packed {
  const index: Packed["index"] = [];
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const [name, { shape, data }] of Object.entries(arrays)) {
    index.push({ name, dtype: data instanceof Uint8Array ? "uint8" : "float32", shape, offset });
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
  pieces: tokens,
  words: tokens.map((token, n) => (token.startsWith("[") ? -1 : n)),
  segments: tokens.map(() => 0),
  special: tokens.map((token) => Number(token.startsWith("["))),
});

/** The kernel's answer to op "head". */
export function headAnswer(tokens: string[], layer: number, head: number, more: Record<string, unknown> = {}) {
  const S = tokens.length;
  const seed = 1 + layer * HEADS + head;
  const { index, data } = pack({
    q: { shape: [S, d], data: noise(S * d, seed) },
    k: { shape: [S, d], data: noise(S * d, seed + 100) },
  });
  return { fields: { layer, head, scaling: 0.5, mask: "full", arrays: index, ...more }, buffers: [data] };
}

/** The trait `picture` of a made-up trace with head (layer, head) open. */
export function pictureOf(
  tokens: string[],
  {
    trace = "t1",
    layer = 0,
    head = 0,
    map = "self",
    maps = [map],
    ...more
  }: Record<string, unknown> & {
    trace?: string;
    layer?: number;
    head?: number;
    map?: string;
    maps?: string[];
  } = {},
) {
  const open = headAnswer(tokens, layer, head);
  const S = tokens.length;
  const stats = ["previous", "next", "self", "first", "separator", "entropy", "k90", "max"];
  const arrays = {
    thumbs: { shape: [LAYERS, HEADS, S, S], data: new Uint8Array(LAYERS * HEADS * S * S) },
    thumb_max: { shape: [LAYERS, HEADS], data: new Float32Array(LAYERS * HEADS).fill(1) },
    stats: {
      shape: [LAYERS, HEADS, stats.length],
      data: Float32Array.from({ length: LAYERS * HEADS * stats.length }, (_, n) => (n % 97) / 97),
    },
    "head.q": { shape: [S, d], data: noise(S * d, 1 + layer * HEADS + head) },
    "head.k": { shape: [S, d], data: noise(S * d, 101 + layer * HEADS + head) },
  };
  const { index, data } = pack(arrays);
  const { arrays: _, ...fields } = open.fields;
  const header = {
    trace,
    map,
    maps,
    model: "made up",
    n_layers: LAYERS,
    n_heads: HEADS,
    head_dim: d,
    dtype: "float32",
    neurons: true,
    why_no_neurons: "",
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
    gates: false,
    geometry: false,
    versions: {},
    nan_layer: null,
    lens: true,
    head: fields,
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

export function traitsOf(picture: ReturnType<typeof pictureOf>, more: Partial<Traits> = {}) {
  return {
    panels: ["header", "atlas", "head", "neurons", "table"],
    picture,
    map: picture.header.map,
    layer: picture.header.head.layer,
    head: picture.header.head.head,
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
    ...more,
  };
}

export interface Bench {
  model: FakeModel;
  synced: Synced;
  store: Store;
  end: AbortController;
  /** Questions about heads that wait, as "layer/head". */
  heads(): string[];
  /** Answer the oldest question about this head; then everything that waits for it has run. */
  answer(layer: number, head: number, tokens?: string[]): Promise<void>;
}

/** A store on a fake model. */
export function bench(picture = pictureOf(TOKENS), more: Partial<Traits> = {}): Bench {
  const model = new FakeModel(traitsOf(picture, more));
  const end = new AbortController();
  const synced = bind(model.any, end.signal);
  const store = createStore(model.any, synced, end.signal);
  return {
    model,
    synced,
    store,
    end,
    heads: () =>
      model.asked
        .filter(({ message }) => message.op === "head")
        .map(({ message }) => `${message.layer}/${message.head}`),
    async answer(layer, head, tokens = TOKENS) {
      const n = model.asked.findIndex(
        ({ message }) => message.op === "head" && message.layer === layer && message.head === head,
      );
      const [question] = model.asked.splice(n, 1);
      const { fields, buffers } = headAnswer(tokens, layer, head);
      question!.give(fields, buffers);
      await settled();
    },
  };
}

/** Until every promise that can settle has. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}
