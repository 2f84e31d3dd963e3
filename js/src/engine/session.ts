// The third source of a page's answers, beside a kernel and what a page carries: the model in the page. It answers as the
// kernel does, and says of what it cannot that it needs Python.
import { unpack } from "../kernel/wire";
import { chipOf, NEEDS_PYTHON, readChange } from "./asked";
import type { Change } from "./changes";
import { moved, rowOf } from "./effects";
import { cosine, type Pass, pooled, run } from "./forward";
import { type Fields, headerOf, type Vocabulary } from "./overview";
import { pack, type Shaped } from "./pack";
import { type Pictures, picturesOf, rolesOf } from "./pictures";
import { createEncoder, type Encoded, type TokenizerFiles } from "./tokenizer";
import { loadWeights, type Shape, type Weights } from "./weights";

/** What a page carries of its model beside the weights. */
export interface Carried {
  shape: Shape;
  tokenizer: TokenizerFiles;
  vocabulary: Vocabulary;
  parts: number;
  vectors: boolean; // its answer is the mean of a text's vectors
  digits: string; // what the rounding of the weights changes, in words
  header: Fields; // of the overview that the page carries
}

/** What an answer leaves: fields and bytes; `show`: the page is to show this run, null: the one that it carries. */
export interface Answer {
  fields: Fields;
  data?: DataView;
  show?: { header: Fields; data: DataView; text: string; text_pair: string } | null;
}

interface Shown {
  id: string;
  texts: [string, string];
  encoded: Encoded;
  original: Pass;
  pass: Pass;
  pictures: Pictures;
  known: Change[]; // that the page may name by number
  subject: string;
}

export class Session {
  private weights: Weights | null = null;
  private encode;
  private shown: Shown | null = null;
  private own: Shown | null = null; // of the text that the page carries
  private count = 0;
  private wanted = new AbortController(); // the last run that was asked for
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private carried: Carried) {
    this.encode = createEncoder(carried.tokenizer);
  }

  async load(part: (n: number) => Promise<{ index: unknown; data: DataView }>, progress: (share: number) => void) {
    const arrays = async (n: number) => {
      const { index, data } = await part(n);
      return unpack(index, data);
    };
    this.weights = await loadWeights(this.carried.shape, arrays, progress);
    return { fast: this.weights.product.fast };
  }

  /** Rejects with one sentence. */
  async answer(question: Fields): Promise<Answer> {
    const { op } = question;
    if (op === "trace" || op === "change") {
      this.wanted.abort(new Error("another text was asked for"));
      this.wanted = new AbortController();
    }
    const { signal } = this.wanted;
    const turn = this.turn.then(() => this.inTurn(question, signal));
    this.turn = turn.catch(() => undefined);
    return turn;
  }

  private async inTurn(question: Fields, signal: AbortSignal): Promise<Answer> {
    const { op } = question;
    if (op === "trace") {
      signal.throwIfAborted();
      return this.another(String(question.text ?? ""), String(question.text_pair ?? ""), signal);
    }
    const shown = await this.about(question.trace);
    if (op === "change") {
      signal.throwIfAborted();
      return this.changed(shown, question.changes, signal);
    }
    const { heads } = this.carried.shape;
    if (op === "head") {
      const { fields, arrays } = this.head(shown, question.layer as number, question.head as number);
      return answerOf(fields, arrays);
    }
    if (op === "rows") return this.rows(shown, question.query as number, question.last as number);
    if (op === "statistics" && question.by === "weight") return this.statistics(shown, question.layer);
    if (op === "moved") return answerOf({}, { moved: [moved(shown.original, shown.pass, heads), this.perHead] });
    if (op === "matters" && this.isSwept(shown, question)) {
      const nothing = new Float32Array(this.carried.shape.layers * heads).fill(Number.NaN); // there is no estimate
      return answerOf({ metric: METRIC }, { values: [nothing, this.perHead] });
    }
    if (op === "matters_exact" && this.isSwept(shown, question))
      return this.withoutEach(shown, question.layer as number, signal);
    if (op === "answers" && !question.target) return { fields: await this.answers(shown) };
    throw new Error(NEEDS_PYTHON);
  }

  private get perHead() {
    return [this.carried.shape.layers, this.carried.shape.heads];
  }

  /** The run that is shown; that of the page's own text is made when it is asked about. */
  private async about(id: unknown): Promise<Shown> {
    if (this.shown && this.shown.id === id) return this.shown;
    const { header } = this.carried;
    if (id !== header.trace) throw new Error("the text has changed since: choose the head again");
    if (this.own) return this.own;
    const made = await this.make([String(header.text), String(header.text_pair)], [], null);
    const own = { ...made, id: String(id), subject: String(header.subject) };
    this.own = own;
    return own;
  }

  private async another(text: string, pair: string, signal: AbortSignal): Promise<Answer> {
    const { header } = this.carried;
    if (text === header.text && pair === header.text_pair) return { fields: {}, show: null };
    const made = await this.make([text, pair], [], null, signal);
    this.shown = made;
    return { fields: {}, show: await this.overview(made) };
  }

  private async changed(shown: Shown, asked: unknown, signal: AbortSignal): Promise<Answer> {
    const { layers, heads } = this.carried.shape;
    const sizes = { layers, heads, tokens: shown.encoded.ids.length };
    const changes = (asked as unknown[]).map((one) => readChange(one, shown.known, sizes));
    if (changes.length === 0 && shown.subject === this.carried.header.subject) return { fields: {}, show: null };
    const made = await this.make(shown.texts, changes, shown, signal);
    this.shown = made;
    return { fields: {}, show: await this.overview(made) };
  }

  /** Of a text with changes; `before`: another run of the same text. */
  private async make(
    texts: [string, string],
    changes: Change[],
    before: Shown | null,
    signal?: AbortSignal,
  ): Promise<Shown> {
    const { shape, vocabulary, header } = this.carried;
    const encoded = before?.encoded ?? this.encode(texts[0], texts[1] || undefined);
    const roles = rolesOf(encoded, vocabulary.separator, texts[1] !== "");
    const pictures = picturesOf(shape, encoded.ids.length, roles, header.stats as string[]);
    const pass = await run(this.weights!, encoded, changes, signal, pictures.look);
    const id = `here ${++this.count}`;
    const same = (one: Change, other: Change) => JSON.stringify(one) === JSON.stringify(other);
    const known = [...(before?.known ?? [])];
    for (const change of changes) if (!known.some((one) => same(one, change))) known.push(change);
    const original = before?.original ?? pass;
    const subject = before?.subject ?? `text ${this.count}`;
    return { id, texts, encoded, original, pass, pictures: pictures.made, known, subject };
  }

  private async overview(shown: Shown): Promise<NonNullable<Answer["show"]>> {
    const { header: template, vocabulary, digits, shape } = this.carried;
    const { texts, encoded, pass, pictures, known } = shown;
    const { layer, head } = template.head as { layer: number; head: number };
    const opened = this.head(shown, layer, head);
    const { side } = pictures;
    const ofHead = Object.entries(opened.arrays).map(([name, array]) => [`head.${name}`, array] as const);
    const { index, data } = pack({
      ...this.pictures(pictures, [shape.layers, shape.heads], side),
      ...Object.fromEntries(ofHead),
      ...(pass.changes.length > 0 ? { moved: [moved(shown.original, pass, shape.heads), this.perHead] } : {}),
    });
    const header = {
      ...headerOf(template, encoded, texts, vocabulary, digits),
      ...{ trace: shown.id, subject: shown.subject, head: opened.fields, arrays: index },
      changes: pass.changes.map((one) => chipOf(one, known.findIndex(isThe(one)), encoded.tokens)),
      ...(pass.changes.length > 0 ? { answers: await this.answers(shown) } : {}),
    };
    return { header, data, text: texts[0], text_pair: texts[1] };
  }

  private pictures({ thumbs, thumb_max, stats }: Pictures, size: number[], side: number): Record<string, Shaped> {
    const names = this.carried.header.stats as string[];
    return {
      thumbs: [thumbs, [...size, side, side]],
      thumb_max: [thumb_max, size],
      stats: [stats, [...size, names.length]],
    };
  }

  private head({ pass }: Shown, layer: number, head: number): { fields: Fields; arrays: Record<string, Shaped> } {
    const { q, k, lse, seen } = pass.layers[layer]!;
    const { heads, width } = this.carried.shape;
    const [tokens, size] = [pass.tokens, width / heads];
    const own = (values: Float32Array): Shaped => [
      values.subarray(head * tokens * size, (head + 1) * tokens * size),
      [tokens, size],
    ];
    const mask = seen[head];
    return {
      fields: { layer, head, scaling: 1 / Math.sqrt(size), mask: mask ? "bits" : "full" },
      arrays: {
        ...{ q: own(q), k: own(k) },
        lse: [Float64Array.from(lse.subarray(head * tokens, (head + 1) * tokens)), null],
        ...(mask ? { bits: bitsOf(mask, tokens) } : {}),
      },
    };
  }

  /** Rows of all heads for some queries, their mean. */
  private rows({ pass }: Shown, query: number, last: number): Answer {
    const { layers, heads } = this.carried.shape;
    const weight = new Float32Array(layers * heads * pass.tokens);
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++)
        for (let i = query; i <= last; i++) {
          const row = rowOf(pass, layer, head, i, heads);
          const at = (layer * heads + head) * pass.tokens;
          for (let j = 0; j < row.length; j++) weight[at + j]! += row[j]! / (last - query + 1);
        }
    return answerOf({}, { weight: [weight, [layers, heads, pass.tokens]] });
  }

  private statistics({ pictures: { stats, received }, pass }: Shown, layer: unknown): Answer {
    const { heads, layers } = this.carried.shape;
    const names = this.carried.header.stats as string[];
    const part = (values: Float32Array, each: number): Shaped =>
      typeof layer === "number"
        ? [values.subarray(layer * heads * each, (layer + 1) * heads * each), [1, heads, each]]
        : [values, [layers, heads, each]];
    return answerOf({ names }, { stats: part(stats, names.length), received: part(received, pass.tokens) });
  }

  private isSwept = ({ texts }: Shown, { metric, target }: Fields) =>
    this.carried.vectors && !texts[1] && metric === METRIC && !target;

  /** What switching off each head of a layer changes of the answer, (H). */
  private async withoutEach({ encoded, original, pass }: Shown, layer: number, signal: AbortSignal): Promise<Answer> {
    const before = pooled(original);
    const own = cosine(before, pooled(pass));
    const values = new Float32Array(this.carried.shape.heads);
    for (let head = 0; head < values.length; head++) {
      const without = await run(this.weights!, encoded, [...pass.changes, { kind: "off", layer, head }], signal);
      values[head] = cosine(before, pooled(without)) - own;
    }
    return answerOf({ metric: METRIC, layer }, { values: [values, null] });
  }

  /** Of a text the cosine of its vector with that of the run without changes; of two texts their similarity. */
  private async answers({ texts, original, pass }: Shown): Promise<Fields> {
    const nothing = { metrics: [], choices: [], places: [] };
    const refused = { ...nothing, kind: "", unit: "", said: "", rows: [], why_not: NEEDS_PYTHON };
    if (!this.carried.vectors) return refused;
    const found = { ...nothing, unit: "cosine", said: "mean of all tokens", why_not: "" };
    if (!texts[1]) {
      const metrics = [[METRIC, "cosine with the embedding before", "cosine"]];
      const after = pass === original ? 1 : cosine(pooled(original), pooled(pass));
      return {
        ...found,
        metrics,
        kind: "embedding",
        rows: [[-1, "cosine of the embedding with the one before", 1, after]],
      };
    }
    if (pass.changes.some(({ kind }) => kind !== "off")) return refused;
    const vectors = [];
    for (const changes of [original.changes, pass.changes])
      for (const text of texts) vectors.push(pooled(await run(this.weights!, this.encode(text), changes)));
    const [a, b, c, d] = vectors as [Float32Array, Float32Array, Float32Array, Float32Array];
    const rows = [[-1, "similarity of the two texts", cosine(a, b), cosine(c, d)]];
    return { ...found, kind: "similarity", rows };
  }
}

const METRIC = "similarity"; // of a text's vector with that of the run without changes

const isThe = (change: Change) => (other: Change) => JSON.stringify(other) === JSON.stringify(change);

function answerOf(fields: Fields, arrays: Record<string, Shaped>): Answer {
  const { index, data } = pack(arrays);
  return { fields: { ...fields, arrays: index }, data };
}

/** A bit per key, lowest first, each query's in bytes of its own. */
function bitsOf(seen: Uint8Array, tokens: number): Shaped {
  const stride = Math.ceil(tokens / 8);
  const bits = new Uint8Array(tokens * stride);
  for (let i = 0; i < tokens; i++)
    for (let j = 0; j < tokens; j++) bits[i * stride + (j >> 3)]! |= seen[i * tokens + j]! << (j & 7);
  return [bits, [tokens, stride]];
}
