// A saved page: the model object of a view that has no kernel. Traits live here, and questions are answered from what the
// page carries. bertlens/export/html.py puts this behind the bundle and calls `start` with the bundle's default export, and,
// where the page carries its model, with what makes js/src/engine.
import type { AnyModel } from "@anywidget/types";
import type { connect, Reply } from "../engine/connect";
import type { Carried } from "../engine/runs";
import type { Traits } from "../generated/vocabulary";
import { stateIn } from "../kernel/address";
import { NEEDS_MODEL } from "../kernel/kernel";
import { movedBy } from "../kernel/opened";
import { carriedModel, say } from "./carriedmodel";
import { type Answering, createModel, nameOf, readJson } from "./pagemodel";
import { type Packed, unpack } from "./unpack";

type Fields = Record<string, unknown>;
type Engine = () => { connect: typeof connect };

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

/** What the page starts from. */
interface Page extends Pick<Text, "holds" | "shown_by"> {
  state: Omit<Traits, "overview"> & { overview: Message };
  overviews: Record<string, Message>; // of other maps
  others: Text[];
  texts: [string, string][]; // that a page with its model offers
  above: boolean; // whether something stands above the view
}

/** A run that the view is to show. */
interface Shown {
  header: Header;
  data: DataView;
  text: unknown;
  text_pair: unknown;
}

interface Widget {
  render(props: { model: AnyModel; el: HTMLElement; signal: AbortSignal; address: Location }): unknown;
}

const DAMAGED = "this part of the page is damaged: it cannot be unpacked";
const CANNOT_UNPACK = "this browser cannot unpack this part of the page: open it in one that has DecompressionStream";
const refusal = (error: string): Reply => [{ error }];

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

/** The runs that a page carries, and what it answers of them; `set` puts a trait. */
class SavedRuns {
  readonly opening: Shown;

  constructor(
    private page: Page,
    private set: (name: string, value: unknown) => void,
  ) {
    const { overview, text, text_pair } = page.state;
    this.opening = { header: overview.header, data: overview.data as unknown as DataView, text, text_pair };
  }

  find = (trace: unknown) => this.page.others.find((other) => other.trace === trace);

  /** Show a text that the page carries, or without one what it opens on. */
  async open(other?: Text): Promise<Reply> {
    if (other) {
      const { header, data } = readJson<Message>(`${other.trace} overview`)!;
      this.show({ ...other, header, data: await unpack(data) });
    } else this.show(this.opening);
    return [{}];
  }

  /** What was pinned stays where the same token stands there. */
  show({ header, data, text, text_pair }: Shown): void {
    const { overview, query, key, measure } = this.page.state;
    const { pieces } = overview.header.queries;
    const now = header.queries.pieces;
    const pinOf = (n: number | null) => {
      const piece = n === null ? undefined : pieces[n]; // at the same place, or at its only other one
      if (n === null || piece === now[n]) return n;
      const at = now.indexOf(piece!);
      return at >= 0 && at === now.lastIndexOf(piece!) ? at : null;
    };
    const pinned = { query: pinOf(query), key: pinOf(key), layer_map: "" };
    const fallback = header.measures.includes(measure) ? {} : { measure: "weight" };
    const changes = {
      ...movedBy(this.page.state, pinned),
      ...fallback,
      text,
      text_pair,
      overview: { header, data },
    };
    for (const [name, value] of Object.entries(changes)) this.set(name, value);
  }

  answer = async ({ id: _, trace, ...question }: Fields): Promise<Reply> => {
    const { page } = this;
    const { op, map, layer } = question;
    if (op === "hello") return [{ kernel: false }];
    if (op === "trace") {
      const is = (run: Shown | Text) => run.text === question.text && run.text_pair === (question.text_pair ?? "");
      const match = page.others.find(is);
      if (match || is(this.opening)) return this.open(match);
    }
    const name = nameOf(question);
    if (page.shown_by === name) return this.open();
    const opens = page.others.find(({ shown_by }) => shown_by === name);
    if (opens) return this.open(opens);
    const text = this.find(trace);
    const prefix = text ? `${trace} ` : "";
    const message = op === "overview" && !text ? page.overviews[String(map)] : readJson<Message>(prefix + name);
    if (message) return [message.header, [await unpack(message.data)]];
    const word = page.state.overview.header.layer_maps?.find(({ name }) => name === question.kind);
    if (op === "layer_map" && word)
      return refusal(
        `${word.label} of layer ${layer} is not in this page, which holds those that were shown when it was saved`,
      );
    // every layer that is in the page is there with all of its heads
    if (layer !== undefined && !readJson(prefix + nameOf({ op: "head", map, layer, head: 0 })))
      return refusal(`layer ${layer} is not in this page, which holds ${(text ?? page).holds}`);
    return refusal(NEEDS_MODEL);
  };
}

/** What answers while the model is loaded, and once it is: without one what the page carries. Rejects where it is damaged. */
async function load(engine: Engine, page: Page, runs: SavedRuns, changed: () => void): Promise<Answering> {
  const model = await carriedModel<Omit<Carried, "header" | "texts">>(`(${engine})().serve(self)`);
  if (typeof model === "string") {
    say(`${model} the page shows the text that it carries.`);
    return runs.answer;
  }
  const { header } = runs.opening;
  return engine().connect({
    ...model,
    carried: { ...model.carried, header, texts: [header, ...page.others] as unknown as Fields[] },
    texts: page.texts,
    answer: runs.answer,
    async show(run) {
      if (typeof run === "string") await runs.open(runs.find(run));
      else runs.show(run as Shown);
    },
    changed,
    say,
  });
}

export async function start(widget: Widget, engine?: Engine): Promise<void> {
  const el = document.getElementById("bertlens")!;
  const page = readJson<Page>("bertlens-data")!;
  const { state } = page;
  const { header, data } = state.overview;
  const unpacks = !!globalThis.DecompressionStream;
  if (!unpacks && data.length !== undefined) {
    el.textContent = "This browser cannot unpack the page: open it in one that has DecompressionStream.";
    return;
  }
  const complete = new Promise<void>((resolve) => {
    if (document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => resolve(), { once: true });
    else resolve();
  });
  try {
    Object.assign(state, { overview: { header, data: await unpackSlowly(data, el) } });
  } catch {
    el.textContent = "This page is damaged: its data cannot be unpacked.";
    return;
  }
  const damaged = () => refusal(unpacks ? DAMAGED : CANNOT_UNPACK);
  const { model, emit } = createModel(state, async (message) => {
    // never before send returns; and answers may still be on their way, unlike what is in the page's data
    await (["hello", "overview"].includes(String(message.op)) || complete);
    return reply(message).catch(damaged);
  });
  const runs = new SavedRuns(page, model.set);
  const coming = { kernel: false, page: true, coming: "loading the model", texts: unpacks ? page.texts : [] };
  let reply: Answering = runs.answer;
  if (engine) {
    Object.assign(state, { layout: { on: model.on, off: model.off } }); // by which the view hears that the model is there
    const changed = () => emit("comm_live_update");
    const connected = complete
      .then(() => load(engine, page, runs, changed))
      .catch(() => {
        say("This page is damaged: its model cannot be read.");
        return runs.answer;
      });
    reply = async (message) => {
      if (message.op === "hello") return [coming];
      const own = await runs.answer(message);
      return own[0].error ? (await connected)(message) : own;
    };
    connected.then((answering) => {
      reply = answering;
      changed(); // what the view has heard of the model until now came from the page
    });
  }
  const follow = () => {
    const state = stateIn(location.hash);
    if (!state) return;
    if (state.text) runs.answer({ op: "trace", text: state.text }).catch(damaged);
    el.scrollIntoView();
  };
  if (page.above) {
    addEventListener("hashchange", follow);
    complete.then(follow);
  }
  const { signal } = new AbortController();
  widget.render({ model: model as unknown as AnyModel, el, signal, address: document.location });
}
