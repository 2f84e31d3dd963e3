// The data behind one view: slices that were answered, what is shown now, and how the kernel is doing.
// Caption, controls and pixels read `shown`, which changes only together with the pixels.
import type { AnyModel } from "@anywidget/types";
import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import { type Slice, sliceFrom, weights } from "../compute/attention";
import { ask, KernelError } from "../kernel";
import { unpack } from "../wire";
import { Lru } from "./lru";
import { decodePicture, type Picture } from "./picture";
import type { HeadName, Synced, Traits } from "./synced";

const CACHE_BYTES = 48e6;
const ASKING_AFTER = 300; // ms until the page says that it waits
const SLOW_AFTER = 6000; // ms until it says that the kernel is busy or gone

/** One head, ready to draw: the kernel's slice and the attention recomputed from it. */
export interface HeadData {
  layer: number;
  head: number;
  slice: Slice;
  weights: Float32Array; // (S·K), row = query
}

export interface Shown extends HeadData {
  picture: Picture;
  overlays: HeadData[]; // further heads drawn over it as lines
}

export interface Link {
  state: "saved" | "asking" | "live" | "slow" | "error";
  text: string;
}

export interface Store {
  synced: Synced;
  picture: ReadonlySignal<Picture>;
  shown: Signal<Shown>;
  link: Signal<Link>;
  kernel: Signal<boolean>; // a kernel has answered: text can be traced, pages exported
  running: Signal<boolean>;
  request(
    op: string,
    fields: Record<string, unknown>,
  ): Promise<{ fields: Record<string, unknown>; buffers: DataView[] }>;
  run(text: string, textPair: string): Promise<void>;
}

export const headLabel = (layer: number, head: number) => `L${layer}·H${head}`;

export function createStore(model: AnyModel<Traits>, synced: Synced, until: AbortSignal): Store {
  const cache = new Lru<HeadData>(CACHE_BYTES);
  const sent = computed(() => decodePicture(synced.picture.value)); // what the kernel put into the trait
  const otherMaps = signal<ReadonlyMap<string, Picture>>(new Map()); // encoder, decoder, cross: asked for when chosen
  const picture = computed(() => {
    const p = sent.value;
    return (synced.map.value !== p.map && otherMaps.value.get(`${p.trace}/${synced.map.value}`)) || p;
  });
  const link = signal<Link>({ state: "saved", text: "saved picture" });
  const kernel = signal(false);
  const running = signal(false);
  const pending = new Set<string>();

  const keyOf = (p: Picture, layer: number, head: number) => `${p.trace}/${p.map}/${layer}/${head}`;

  function keep(p: Picture, fields: Record<string, unknown>, arrays: Parameters<typeof sliceFrom>[1]): HeadData {
    const slice = sliceFrom(fields, arrays);
    const data: HeadData = {
      layer: fields.layer as number,
      head: fields.head as number,
      slice,
      weights: weights(slice),
    };
    const bytes = data.weights.byteLength + 2 * (slice.q?.byteLength ?? 0);
    cache.set(keyOf(p, data.layer, data.head), data, bytes);
    return data;
  }

  const firstOf = (p: Picture): HeadData => {
    const { layer, head } = p.head;
    return cache.get(keyOf(p, layer, head)) ?? keep(p, p.head, p.headArrays);
  };

  const first = untracked(() => picture.value);
  const shown = signal<Shown>({ ...firstOf(first), picture: first, overlays: [] });

  async function request(op: string, fields: Record<string, unknown>) {
    const where = `L${shown.peek().layer}·H${shown.peek().head}`;
    const name = `${op} ${Math.random()}`;
    pending.add(name);
    const saved = untracked(() => !kernel.value);
    const asking = setTimeout(() => {
      if (!(saved && op === "hello")) link.value = { state: "asking", text: "waiting for the kernel …" };
    }, ASKING_AFTER);
    const slow = setTimeout(() => {
      if (saved && op === "hello") return;
      link.value = { state: "slow", text: `kernel busy or gone: the picture is of ${where}` };
    }, SLOW_AFTER);
    try {
      const answer = await ask(model, op, fields, until);
      pending.delete(name);
      if (pending.size === 0 || link.value.state !== "live") {
        link.value =
          kernel.value || answer.fields.kernel === true
            ? { state: "live", text: "kernel live" }
            : { state: "saved", text: "saved page" };
      }
      return answer;
    } catch (error) {
      pending.delete(name);
      if (until.aborted) throw error;
      link.value =
        error instanceof KernelError
          ? { state: "error", text: error.message }
          : { state: "error", text: `no kernel: the picture is of ${where}` };
      throw error;
    } finally {
      clearTimeout(asking);
      clearTimeout(slow);
    }
  }

  const inFlight = new Map<string, Promise<HeadData>>();
  function fetchHead(p: Picture, layer: number, head: number): Promise<HeadData> {
    const key = keyOf(p, layer, head);
    let answer = inFlight.get(key);
    if (!answer) {
      answer = request("head", { trace: p.trace, map: p.map, layer, head })
        .then(({ fields, buffers }) => keep(p, fields, unpack(fields.arrays as never, buffers[0]!)))
        .finally(() => inFlight.delete(key));
      inFlight.set(key, answer);
    }
    return answer;
  }

  /** Show what is selected as soon as all of it is here; an answer for an older selection only fills the cache. */
  function refresh(): void {
    const p = picture.value;
    const wanted: HeadName[] = [[synced.layer.value, synced.head.value]];
    for (const [layer, head] of synced.heads.value) {
      if (!wanted.some(([l, h]) => l === layer && h === head)) wanted.push([layer, head]);
    }
    const valid = wanted.filter(([l, h]) => l >= 0 && l < p.n_layers && h >= 0 && h < p.n_heads);
    if (valid.length === 0) valid.push([p.head.layer, p.head.head]);
    untracked(() => {
      firstOf(p);
      const found = valid.map(([l, h]) => cache.get(keyOf(p, l, h)));
      const missing = valid.filter((_, n) => !found[n]);
      if (missing.length === 0) {
        const [primary, ...overlays] = found as HeadData[];
        shown.value = { ...primary!, picture: p, overlays };
        return;
      }
      if (shown.value.picture !== p) shown.value = { ...firstOf(p), picture: p, overlays: [] };
      Promise.all(missing.map(([l, h]) => fetchHead(p, l, h))).then(
        () => turn(),
        () => undefined, // the link shows why; the picture stays, labelled as what it is
      );
    });
  }

  let dispose = () => {};
  function turn(): void {
    dispose();
    dispose = effect(refresh);
  }
  turn();
  until.addEventListener("abort", () => dispose());

  request("hello", {}).then(
    ({ fields }) => {
      kernel.value = fields.kernel === true;
      if (kernel.value) link.value = { state: "live", text: "kernel live" };
    },
    () => {
      link.value = { state: "saved", text: "saved picture, no kernel" };
    },
  );

  async function run(text: string, textPair: string): Promise<void> {
    running.value = true;
    try {
      await request("trace", { text, text_pair: textPair });
    } finally {
      running.value = false;
    }
  }

  const switchMap = effect(() => {
    const map = synced.map.value;
    const p = sent.value;
    if (map === p.map || !p.maps.includes(map) || otherMaps.value.has(`${p.trace}/${map}`)) return;
    request("picture", { trace: p.trace, map }).then(
      ({ fields, buffers }) => {
        const arrived = decodePicture({ header: fields, data: buffers[0]! });
        otherMaps.value = new Map([...otherMaps.peek(), [`${arrived.trace}/${arrived.map}`, arrived]]);
      },
      () => undefined,
    );
  });
  until.addEventListener("abort", switchMap);

  return { synced, picture, shown, link, kernel, running, request, run };
}
