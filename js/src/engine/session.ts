// The third source of a page's answers, beside a kernel and what a page carries: the model in the page. It answers as the
// kernel does, and says of what it cannot that it needs Python.
import * as phrases from "../generated/phrases";
import { COMPARED_RUNS, LIMITS } from "../generated/vocabulary";
import { unpack } from "../kernel/wire";
import { answersOf } from "./answers/beforeafter";
import { moved } from "./answers/changeeffects";
import { evenOf, headOf } from "./answers/heads";
import type { Change } from "./changes";
import { chipOf, type Fields, readChange } from "./chips";
import { Pace } from "./pace";
import { pack } from "./pack";
import { sideOf } from "./pictures";
import { answering } from "./registry";
import { headerOf } from "./runheader";
import { type Answer, type Carried, type Engine, perHead, runOf, type Shown } from "./runs";
import { createReader } from "./tokenizer";
import { loadWeights } from "./weights";

const SAID_FROM = 1; // seconds of a run that is said to take them

/** Of a run that a later one made useless. */
export const ANOTHER = "another run was asked for";

export class Session {
  private reader;
  private engine: Engine | null = null;
  private runs: Shown[] = []; // that the page may show: what it asked about last, and all since
  private catalogues = new Map<string, Change[]>(); // of each subject, that the page may name by number
  private beside: Shown[] = []; // runs of other texts that the page set beside the one shown, the latest last
  private pageRun: Shown | null = null; // of the text that was last asked about of those that the page carries
  private pace = new Pace();
  private count = 0;
  private controller = new AbortController(); // the last run that was asked for
  private turn: Promise<unknown> = Promise.resolve();

  /** `tell` is told of runs that take long, before they begin. */
  constructor(
    private carried: Carried,
    private tell: (tokens: number, seconds: number) => void = () => undefined,
  ) {
    this.reader = createReader(carried.tokenizer);
  }

  async load(part: (n: number) => Promise<{ index: unknown; data: DataView }>, progress: (share: number) => void) {
    const arrays = async (n: number) => {
      const { index, data } = await part(n);
      return unpack(index, data);
    };
    const weights = await loadWeights(this.carried.shape, arrays, progress);
    this.engine = { carried: this.carried, weights, ...this.reader };
    await this.pace.tried(weights);
    return { fast: weights.product.fast };
  }

  /** Rejects with one sentence. */
  async answer(question: Fields): Promise<Answer> {
    const { op } = question;
    if (op === "trace" || op === "change") {
      this.controller.abort(new Error(ANOTHER));
      this.controller = new AbortController();
    }
    const { signal } = this.controller;
    const turn = this.turn.then(() => this.inTurn(question, signal));
    this.turn = turn.catch(() => undefined);
    return turn;
  }

  private async inTurn(question: Fields, signal: AbortSignal): Promise<Answer> {
    const { op } = question;
    if (op === "trace") {
      signal.throwIfAborted();
      return this.show(
        await this.make([String(question.text ?? ""), String(question.text_pair ?? "")], [], null, signal),
      );
    }
    if (op === "second_run") return this.second(String(question.text ?? ""), signal);
    const run = await this.about(question.trace);
    if (op === "change") {
      signal.throwIfAborted();
      return this.changed(run, question.changes, signal);
    }
    return answering(String(op))(this.engine!, run, question as never, signal);
  }

  /** The run that is shown, which need not be the last: one that was overtaken never is. That of the page's own text is
   * made when it is asked about. */
  private async about(id: unknown): Promise<Shown> {
    const second = this.beside.find((run) => run.id === id);
    if (second) return second;
    const at = this.runs.findIndex((run) => run.id === id);
    if (at >= 0) {
      this.runs.splice(0, at);
      return this.runs[0]!;
    }
    const source = this.carried.texts.find(({ trace }) => trace === id);
    if (!source) throw new Error(phrases.ANOTHER_TEXT);
    if (this.pageRun && this.pageRun.id === id) return this.pageRun;
    const run = await this.make([String(source.text), String(source.text_pair)], [], null);
    this.pageRun = { ...run, id: String(id), subject: String(source.subject) };
    return this.pageRun;
  }

  /** Another text, which the page does not show but sets beside the one shown; the latest are kept. */
  private async second(text: string, signal: AbortSignal): Promise<Answer> {
    const run = await this.make([text, ""], [], null, signal);
    this.beside = [...this.beside, run].slice(-COMPARED_RUNS);
    const { header, data } = await this.overview(run);
    return { fields: header, data };
  }

  private async show(run: Shown): Promise<Answer> {
    this.runs.push(run);
    return { fields: {}, show: await this.overview(run) };
  }

  private async changed(shown: Shown, asked: unknown, signal: AbortSignal): Promise<Answer> {
    const [layers, heads] = perHead(this.carried);
    const sizes = { layers, heads, tokens: shown.encoded.ids.length };
    const catalogue = this.catalogueOf(shown);
    const changes = (asked as unknown[]).map((one) => readChange(one, catalogue, sizes));
    for (const change of changes) if (!catalogue.some(isThe(change))) catalogue.push(change);
    const source = this.carried.texts.find(({ subject }) => subject === shown.subject);
    if (changes.length === 0 && source) return { fields: {}, show: String(source.trace) };
    return this.show(await this.make(shown.texts, changes, shown, signal));
  }

  /** Of a text with changes; `before`: another run of the same text. */
  private async make(
    texts: [string, string],
    changes: Change[],
    before: Shown | null,
    signal?: AbortSignal,
  ): Promise<Shown> {
    const long = (tokens: number) => {
      const seconds = this.pace.secondsOf(tokens);
      if (seconds > SAID_FROM) this.tell(tokens, Math.ceil(seconds));
    };
    const run = await this.pace.timed(() => runOf(this.engine!, texts, changes, before, signal, long));
    const id = `here ${++this.count}`;
    return { ...run, id, subject: before?.subject ?? `text ${this.count}` };
  }

  private catalogueOf({ subject }: Shown): Change[] {
    const catalogue = this.catalogues.get(subject) ?? [];
    this.catalogues.set(subject, catalogue);
    return catalogue;
  }

  private async overview(shown: Shown): Promise<Exclude<Answer["show"], string | undefined>> {
    const { header: template, vocabulary, digits, shape } = this.carried;
    const { texts, encoded, original, pass, pictures } = shown;
    const catalogue = this.catalogueOf(shown);
    const { layer, head } = template.head as { layer: number; head: number };
    const opened = headOf(shown, this.carried, layer, head);
    const ofHead = Object.entries(opened.arrays).map(([name, array]) => [`head.${name}`, array] as const);
    const [size, side] = [perHead(this.carried), sideOf(pass.tokens)];
    const isChanged = pass.changes.length > 0;
    const { index, data } = pack({
      thumbs: [pictures.thumbs, [...size, side, side]],
      thumb_max: [pictures.thumb_max, size],
      stats: [pictures.stats, [...size, (template.stats as string[]).length]],
      ...Object.fromEntries(ofHead),
      ...(pass.tokens <= LIMITS.even ? { even: evenOf(this.engine!, shown) } : {}),
      ...(isChanged ? { moved: [moved(original, pass, shape.heads), size] } : {}),
    });
    const header = {
      ...headerOf(template, encoded, texts, vocabulary, digits),
      ...{ trace: shown.id, subject: shown.subject, head: opened.fields, arrays: index },
      changes: pass.changes.map((one) => chipOf(one, catalogue.findIndex(isThe(one)), encoded.tokens)),
      ...(isChanged ? { answers: await answersOf(this.engine!, shown) } : {}),
    };
    return { header, data, text: texts[0], text_pair: texts[1] };
  }
}

const isThe = (change: Change) => (other: Change) => JSON.stringify(other) === JSON.stringify(change);
