// A saved page: the model object of a view that has no kernel. Traits live here, and questions are answered from what the
// page carries. bertlens/export/html.py puts this behind the bundle and calls `start` with the bundle's default export, and,
// where the page carries its model, with what makes js/src/engine.
import type { AnyModel } from "@anywidget/types";
import type { connect, Host, Reply } from "../engine/connect";
import type { Carried } from "../engine/runs";
import { NEEDS_MODEL, STILL_LOADING } from "../kernel/kernel";
import { type Packed, unpack } from "./unpack";
import { type FilePart, weightsFile } from "./weightsfile";

type Fields = Record<string, unknown>;
type Engine = () => { connect: typeof connect };
type Listener = (...values: unknown[]) => void;

interface Header extends Fields {
  queries: { pieces: string[] };
  measures: string[];
  layer_maps?: { name: string; label: string }[];
}

/** An overview or an answer, as html.py writes it. */
interface Message {
  header: Header;
  data: Packed;
}

/** A text whose answers a page carries. */
interface Text {
  trace: string;
  text: string;
  text_pair: string;
  holds: string; // which layers
  shown_by: string | null; // the question that shows it
}

/** The traits that the page itself reads. */
interface State extends Fields {
  text: string;
  text_pair: string;
  measure: string;
  query: number | null;
  key: number | null;
}

/** What the page starts from. */
interface Page extends Pick<Text, "holds" | "shown_by"> {
  state: State & { overview: Message };
  overviews: Record<string, Message>; // of other maps
  others: Text[];
  texts: [string, string][]; // that a page with its model offers
  above: boolean; // whether something stands above the view
}

/** A run that the view is to show. */
interface Shown {
  header: Header;
  data: DataView;
  text: string;
  text_pair: string;
}

/** The model, as html.py writes it; `file`: its weights are beside the page. */
interface Live extends Omit<Carried, "tokenizer" | "header" | "texts"> {
  tokenizer: Packed;
  file?: string;
  parts?: FilePart[];
}

interface Widget {
  render(props: { model: AnyModel; el: HTMLElement; signal: AbortSignal; address: Location }): unknown;
}

const DAMAGED = "this part of the page is damaged: it cannot be unpacked";
const CANNOT_UNPACK = "this browser cannot unpack this part of the page: open it in one that has DecompressionStream";
const NO_STREAM =
  "This browser has no DecompressionStream to unpack the model: the page shows the text that it carries.";
const NO_SERVER =
  "The model of this page needs a web server: here, opened from a file, the page shows the text that it carries.";

const refusal = (error: string): Reply => [{ error }];
const read = <T>(name: string): T | null => JSON.parse(document.getElementById(name)?.textContent ?? "null");

/** The same, and takes it out of the page: it is large. */
function take<T>(name: string): T {
  const content = read<T>(name)!;
  document.getElementById(name)!.remove();
  return content;
}

/** A question as the key of its answer: `question_name` in bertlens/export/html.py. */
const nameOf = (question: Fields) => JSON.stringify(Object.entries(JSON.parse(JSON.stringify(question))).sort());

/** Traits and their listeners. */
function createTraits(state: Fields) {
  const listeners = new Map<string, Listener[]>();
  const emit = (name: string, ...values: unknown[]) => {
    for (const listener of [...(listeners.get(name) ?? [])]) listener(...values);
  };
  const traits = {
    get: (name: string) => state[name],
    set(name: string, value: unknown) {
      if (state[name] === value) return;
      state[name] = value;
      emit(`change:${name}`, traits, value);
      emit("change", traits);
    },
    on(name: string, listener: Listener) {
      listeners.set(name, [...(listeners.get(name) ?? []), listener]);
    },
    off(name: string, listener?: Listener) {
      const others = (listeners.get(name) ?? []).filter((other) => listener && other !== listener);
      listeners.set(name, others);
    },
    save_changes() {},
  };
  return { traits, emit };
}

/** The first picture, unpacked; after two seconds `el` says how far that is. Rejects where it is damaged. */
async function unpackSlowly(data: Packed, el: HTMLElement): Promise<DataView> {
  const bar = document.createElement("progress");
  const note = document.createElement("label");
  note.append("unpacking the page ", bar);
  const late = setTimeout(() => el.append(note), 2000);
  try {
    return await unpack(data, (share) => {
      bar.value = share;
    });
  } finally {
    clearTimeout(late);
    note.remove();
  }
}

export async function start(widget: Widget, engine?: Engine): Promise<void> {
  const el = document.getElementById("bertlens")!;
  const page = read<Page>("bertlens-data")!;
  const unpacks = !!globalThis.DecompressionStream;
  if (!unpacks && page.state.overview.data.length !== undefined) {
    el.textContent = "This browser cannot unpack the page: open it in one that has DecompressionStream.";
    return;
  }
  const complete = new Promise<void>((resolve) => {
    if (document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
    else resolve();
  });
  const { header, data: packed } = page.state.overview;
  const data = await unpackSlowly(packed, el).catch(() => null);
  if (!data) {
    el.textContent = "This page is damaged: its data cannot be unpacked.";
    return;
  }
  const state = Object.assign<State, { overview: { header: Header; data: DataView } }>(page.state, {
    overview: { header, data },
  });
  const { traits, emit } = createTraits(state);
  const opening: Shown = { header, data, text: state.text, text_pair: state.text_pair };

  const show = ({ header, data, text, text_pair }: Shown) => {
    const before = state.overview.header.queries.pieces;
    // what was pinned stays where the same token stands there
    const same = (n: number | null) => (n !== null && before[n] === header.queries.pieces[n] ? n : null);
    const measure = header.measures.includes(state.measure) ? {} : { measure: "weight" };
    const pinned = { query: same(state.query), key: same(state.key) };
    const changes = { ...pinned, layer_map: "", ...measure, text, text_pair, overview: { header, data } };
    for (const [name, value] of Object.entries(changes)) traits.set(name, value);
  };
  const carried = async ({ trace, text, text_pair }: Text): Promise<Shown> => {
    const { header, data } = read<Message>(`${trace} overview`)!;
    return { header, data: await unpack(data), text, text_pair };
  };
  const otherOf = (trace: unknown) => page.others.find((other) => other.trace === trace);

  /** A text that the page carries is shown at once, with or without the model. */
  const bring = async ({ text, text_pair }: Fields): Promise<Reply> => {
    const is = (other: { text: string; text_pair: string }) =>
      other.text === text && other.text_pair === (text_pair ?? "");
    const other = page.others.find(is);
    if (!other && !is(opening)) return refusal(STILL_LOADING);
    show(other ? await carried(other) : opening);
    return [{}];
  };
  const answer = async ({ id: _, trace, ...question }: Fields): Promise<Reply> => {
    const { op, map, layer } = question;
    if (op === "hello") return [{ kernel: false }];
    if (op === "trace" && engine) return bring(question);
    const name = nameOf(question);
    const opens = [page, ...page.others].find(({ shown_by }) => shown_by === name);
    if (opens) {
      show("trace" in opens ? await carried(opens) : opening);
      return [{}];
    }
    const other = otherOf(trace);
    const prefix = other ? `${trace} ` : "";
    const message = op === "overview" && !other ? page.overviews[String(map)] : read<Message>(prefix + name);
    if (message) return [message.header, [await unpack(message.data)]];
    const word = state.overview.header.layer_maps?.find(({ name }) => name === question.kind);
    if (op === "layer_map" && word)
      return refusal(
        `${word.label} of layer ${layer} is not in this page, which holds those that were shown when it was saved`,
      );
    // every layer that is in the page is there with all of its heads
    if (layer !== undefined && !read(prefix + nameOf({ op: "head", map, layer, head: 0 })))
      return refusal(`layer ${layer} is not in this page, which holds ${(other ?? page).holds}`);
    return refusal(NEEDS_MODEL);
  };

  const texts = unpacks ? page.texts : [];
  const coming = { kernel: false, coming: "loading the model", texts };
  let reply = engine
    ? async (message: Fields): Promise<Reply> => (message.op === "hello" ? [coming] : answer(message))
    : answer;
  const damaged = () => refusal(unpacks ? DAMAGED : CANNOT_UNPACK);
  const model = Object.assign(traits, {
    async send(message: Fields) {
      // never before send returns; and answers may still be on their way, unlike what is in the page's data
      await (["hello", "overview"].includes(String(message.op)) || complete);
      const [fields, buffers = []] = await reply(message).catch(damaged);
      emit("msg:custom", { ...fields, id: message.id }, buffers);
    },
  });

  const say = (text: string) => {
    document.getElementById("bertlens-says")!.textContent = text;
  };
  const load = async (engine: Engine) => {
    const { tokenizer, file, parts = [], ...about } = take<Live>("bertlens-live");
    const refuse = (why: string) => {
      reply = answer;
      emit("comm_live_update");
      say(why);
    };
    if (!unpacks) return refuse(NO_STREAM);
    if (file && document.location.protocol === "file:") return refuse(NO_SERVER);
    const files = JSON.parse(new TextDecoder().decode(await unpack(tokenizer)));
    const inPage: Host["part"] = async (n) => {
      const { index, data } = take<{ index: unknown; data: Packed }>(`bertlens-weights-${n}`);
      return { index, data: await unpack(data) };
    };
    reply = engine().connect({
      code: `(${engine})().serve(self)`,
      carried: { ...about, tokenizer: files, header, texts: [header, ...page.others] as unknown as Fields[] },
      size: file ? parts.reduce((sum, { size }) => sum + size, 0) : undefined,
      part: file ? weightsFile(file, parts) : inPage,
      texts,
      answer,
      async show(run) {
        const other = otherOf(run);
        show(other ? await carried(other) : typeof run === "string" ? opening : (run as Shown));
      },
      changed: () => emit("comm_live_update"),
      say,
    });
  };
  if (engine) {
    Object.assign(state, { layout: { on: model.on, off: model.off } }); // by which the view hears that the model is there
    complete.then(() => load(engine)).catch(() => say("This page is damaged: its model cannot be read."));
  }
  const up = () => location.hash.startsWith("#bertlens=") && el.scrollIntoView();
  if (page.above) addEventListener("hashchange", up);
  const { signal } = new AbortController();
  widget.render({ model: model as unknown as AnyModel, el, signal, address: document.location });
}
