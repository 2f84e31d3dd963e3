// The data behind one view: what was answered, what is shown now, and how the kernel is doing.
// Caption, controls and pixels read `shown`, which changes only together with the pixels.
import type { AnyModel } from "@anywidget/types";
import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import { type Slice, sliceFrom, weights } from "../compute/attention";
import { type Measure, measured } from "../compute/measure";
import { type Answer, ask, KernelError } from "../kernel";
import { type Arrays, unpack } from "../wire";
import { Lru } from "./lru";
import { decodePicture, type Picture } from "./picture";
import type { HeadName, Synced, Traits } from "./synced";

const CACHE_BYTES = 48e6;
const ASKING_AFTER = 300; // ms until the page says that it waits
const SLOW_AFTER = 6000; // ms until it says that the kernel is busy or gone

/** One head as it was answered: the kernel's slice and the attention recomputed from it. */
interface HeadAnswer {
  slice: Slice;
  weights: Float32Array; // (S·K), row = query
}

/** One head, ready to draw. */
export interface HeadData extends HeadAnswer {
  layer: number;
  head: number;
  norms: Float32Array | null; // ‖f(x_j)‖, (K); null while only weights are shown
  values: Float32Array; // (S·K) the measure shown
}

export interface Shown extends HeadData {
  picture: Picture;
  measure: Measure;
  thumbs: Thumbs;
  layerMap: { kind: string; values: Float32Array } | null; // instead of a head: a map of the whole layer
  overlays: HeadData[]; // further heads drawn over it as lines
}

/** The atlas's thumbnails of one measure: entries of the colour table. */
export interface Thumbs {
  measure: Measure;
  data: Uint8Array; // (L·H·rows·cols)
  max: Float32Array; // (L·H) the value of entry 255
}

export interface Link {
  state: "saved" | "asking" | "live" | "slow" | "error";
  text: string;
  behind?: boolean; // the picture may not be of what is selected: the view says what it is of
}

export interface Store {
  synced: Synced;
  picture: ReadonlySignal<Picture>;
  shown: Signal<Shown>;
  link: Signal<Link>;
  kernel: Signal<boolean>; // a kernel has answered: text can be traced, pages exported
  running: Signal<boolean>;
  /** Ask the kernel; `background` for what nobody waits for: only its failure is said. */
  request(op: string, fields: Record<string, unknown>, background?: boolean): Promise<Answer>;
  run(text: string, textPair: string): Promise<void>;
}

export const headLabel = (layer: number, head: number) => `L${layer}·H${head}`;

export function createStore(model: AnyModel<Traits>, synced: Synced, until: AbortSignal): Store {
  const cache = new Lru<HeadAnswer | Thumbs | Float32Array>(CACHE_BYTES);
  const sent = computed(() => decodePicture(synced.picture.value)); // what the kernel put into the trait
  const otherMaps = signal<ReadonlyMap<string, Picture>>(new Map()); // encoder, decoder, cross: asked for when chosen
  const picture = computed(() => {
    const p = sent.value;
    return (synced.map.value !== p.map && otherMaps.value.get(`${p.trace}/${synced.map.value}`)) || p;
  });
  const link = signal<Link>({ state: "saved", text: "saved picture" });
  const kernel = signal(false);
  const running = signal(false);
  let pending = 0;

  async function request(op: string, fields: Record<string, unknown>, background = false): Promise<Answer> {
    const quiet = op === "hello"; // a saved page has no kernel to answer it: no reason to worry anybody
    const warn = (warning: Link) => () => {
      if (!quiet && !background) link.value = warning;
    };
    const asking = setTimeout(warn({ state: "asking", text: "waiting for the kernel …" }), ASKING_AFTER);
    const slow = setTimeout(warn({ state: "slow", text: "kernel busy or gone", behind: true }), SLOW_AFTER);
    pending++;
    try {
      const answer = await ask(model, op, fields, until);
      if (quiet) kernel.value = answer.fields.kernel === true;
      if (pending === 1 || link.value.state !== "live")
        link.value = kernel.value ? { state: "live", text: "kernel live" } : { state: "saved", text: "saved page" };
      return answer;
    } catch (error) {
      if (!until.aborted) {
        if (quiet) link.value = { state: "saved", text: "saved picture, no kernel" };
        else if (error instanceof KernelError) link.value = { state: "error", text: error.message };
        else link.value = { state: "error", text: "no kernel", behind: true };
      }
      throw error;
    } finally {
      pending--;
      clearTimeout(asking);
      clearTimeout(slow);
    }
  }

  const inFlight = new Set<string>();
  /** What is cached under a name; null if it has to be asked for, which then is under way. */
  function fetched<T extends HeadAnswer | Thumbs | Float32Array>(
    name: string,
    op: string,
    fields: Record<string, unknown>,
    read: (answer: Record<string, unknown>, arrays: Arrays) => { value: T; bytes: number },
  ): T | null {
    const found = cache.get(name);
    if (found) return found as T;
    if (inFlight.has(name)) return null;
    inFlight.add(name);
    request(op, fields)
      .then(({ fields: answer, buffers }) => {
        try {
          const { value, bytes } = read(answer, unpack(answer.arrays as never, buffers[0]!));
          cache.set(name, value, bytes);
        } catch (error) {
          link.value = {
            state: "error",
            text: `an answer that cannot be read (${(error as Error).message})`,
            behind: true,
          };
          throw error;
        }
        inFlight.delete(name);
        refreshed.value++;
      })
      .catch(() => inFlight.delete(name)); // the link shows why; the picture stays, labelled as what it is
    return null;
  }
  const refreshed = signal(0); // counts answers: each may complete what is selected

  const answerOf = (fields: Record<string, unknown>, arrays: Arrays) => {
    const slice = sliceFrom(fields, arrays);
    const value = { slice, weights: weights(slice) };
    return { value, bytes: value.weights.byteLength + 2 * (slice.q?.byteLength ?? 0) };
  };
  const floats = (name: string) => (_: unknown, arrays: Arrays) => {
    const value = arrays[name]!.data as Float32Array;
    return { value, bytes: value.byteLength };
  };

  const place = (p: Picture) => `${p.trace}/${p.map}`;
  const of = (p: Picture) => ({ trace: p.trace, map: p.map });

  function headAnswer(p: Picture, layer: number, head: number): HeadAnswer | null {
    const name = `${place(p)}/${layer}/${head}`;
    if (p.head.layer === layer && p.head.head === head && !cache.get(name)) {
      const { value, bytes } = answerOf(p.head, p.headArrays);
      cache.set(name, value, bytes);
    }
    return fetched(name, "head", { ...of(p), layer, head }, answerOf);
  }

  /** A head with the measure, null until all of it is here. ‖f(x)‖ comes for a layer's heads at once. */
  function headData(p: Picture, [layer, head]: HeadName, measure: Measure): HeadData | null {
    const answer = headAnswer(p, layer, head);
    const all =
      measure === "weight"
        ? null
        : fetched(`${place(p)}/norms/${layer}`, "norms", { ...of(p), layer }, floats("norms"));
    if (!answer || (measure !== "weight" && !all)) return null;
    const { S, K } = answer.slice;
    const norms = all?.subarray(head * K, (head + 1) * K) ?? null;
    return { ...answer, layer, head, norms, values: measured(answer.weights, norms, S, K, measure) };
  }

  const plain = new WeakMap<Picture, Thumbs>(); // one object a picture, so that only another one is drawn again
  function thumbsOf(p: Picture, measure: Measure): Thumbs | null {
    if (measure === "weight") {
      if (!plain.has(p)) plain.set(p, { measure, data: p.thumbs.data, max: p.thumbMax });
      return plain.get(p)!;
    }
    return fetched(`${place(p)}/thumbs/${measure}`, "thumbs", { ...of(p), measure }, (_, arrays) => {
      const data = arrays.thumbs!.data as Uint8Array;
      return { value: { measure, data, max: arrays.thumb_max!.data as Float32Array }, bytes: data.byteLength };
    });
  }

  const first = (p: Picture): Shown => ({
    ...headData(p, [p.head.layer, p.head.head], "weight")!,
    picture: p,
    measure: "weight",
    thumbs: thumbsOf(p, "weight")!,
    layerMap: null,
    overlays: [],
  });
  const shown = signal<Shown>(first(untracked(() => picture.value)));

  /** Show what is selected once all of it is here; an answer for an older selection only fills the cache. */
  function refresh(): void {
    refreshed.value;
    const p = picture.value;
    const exists = ([l, h]: HeadName) => l >= 0 && l < p.n_layers && h >= 0 && h < p.n_heads;
    let selected: HeadName = [synced.layer.value, synced.head.value];
    if (!exists(selected)) selected = [p.head.layer, p.head.head];
    const overlaid = synced.heads.value.filter((n) => exists(n) && (n[0] !== selected[0] || n[1] !== selected[1]));
    const measure = p.measures.includes(synced.measure.value) ? synced.measure.value : "weight";
    const kind = p.layer_maps.includes(synced.layer_map.value) ? synced.layer_map.value : "";
    untracked(() => {
      const found = [selected, ...overlaid].map((name) => headData(p, name, measure));
      const [layer] = selected;
      const values =
        kind && fetched(`${place(p)}/${kind}/${layer}`, "layer_map", { ...of(p), layer, kind }, floats("values"));
      const thumbs = thumbsOf(p, measure);
      if (found.every((data) => data !== null) && values !== null) {
        const [main, ...overlays] = found as [HeadData, ...HeadData[]];
        const layerMap = values ? { kind, values } : null;
        shown.value = {
          ...main,
          picture: p,
          measure,
          layerMap,
          overlays,
          thumbs: thumbs ?? (shown.value.picture === p ? shown.value.thumbs : thumbsOf(p, "weight")!),
        };
      } else if (shown.value.picture !== p) shown.value = first(p);
    });
  }
  until.addEventListener("abort", effect(refresh));

  // A map switch (encoder, decoder, cross) is a new picture, asked for like any other answer.
  const switchMap = effect(() => {
    const map = synced.map.value;
    const p = sent.value;
    if (map === p.map || !p.maps.includes(map) || otherMaps.value.has(`${p.trace}/${map}`)) return;
    request("picture", { trace: p.trace, map }).then(
      ({ fields, buffers }) => {
        const arrived = decodePicture({ header: fields, data: buffers[0]! });
        otherMaps.value = new Map([...otherMaps.peek(), [`${p.trace}/${map}`, arrived]]); // its own id is another
      },
      () => undefined,
    );
  });
  until.addEventListener("abort", switchMap);

  request("hello", {}).catch(() => undefined);

  async function run(text: string, textPair: string): Promise<void> {
    running.value = true;
    try {
      await request("trace", { text, text_pair: textPair });
    } finally {
      running.value = false;
    }
  }

  return { synced, picture, shown, link, kernel, running, request, run };
}
