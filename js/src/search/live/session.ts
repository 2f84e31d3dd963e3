// The model in a page of a retrieval: ranks a typed question, contrasts passages, takes words out. It answers as
// bertlens/search/view/ does; what it cannot needs Python.
import type { Fields } from "../../engine/chips";
import type { Answer } from "../../engine/runs";
import type { Served } from "../../engine/serve";
import { createReader } from "../../engine/tokenizer";
import { loadWeights } from "../../engine/weights";
import type { CaseWithout, SearchCase, Strip, StripRow, TypedSearch } from "../../generated/answers";
import * as phrases from "../../generated/phrases";
import { unpack } from "../../kernel/wire";
import { quotation } from "../../paint/quotes";
import { isNothing } from "../../paint/ranked";
import { orderAfter } from "../order";
import type { Pair, Side } from "../shapes";
import { Contrast, type Readings, SUBJECTS, scoresOf, signedNumbers } from "./contrast";
import { Passages, type Ranking } from "./ranking";
import { deletedFrom, type Engine, hiddenVector, type Model, type Reading, read, type Task, tokensOf } from "./reading";

/** What a page carries, see bertlens/search/view/search_engine.py. */
export interface Carried extends Model {
  digits: string;
  search: Model["search"] & {
    first: number; // passages that are scored again
    listed: number; // that a case may be about
    depth: number; // of a list
    ids: string[]; // of passages, in the order in which those of one score stand
    cases: [pair: Pair | null, relevant: number[], itself: number[]][]; // of each question; itself: passages that it is
  };
  questions: { query: string[]; text: string[] };
}

/** A case as a page asks for it: see `caseOf` of search/state.ts. */
interface Subject {
  query: string | null;
  wrong: string | null;
  right: string | null;
  texts: [string | null, string | null, string | null] | null;
}

const TRIED: [Side, number][] = [
  ["wrong", 6],
  ["query", 4],
  ["right", 4],
]; // words of each text that are taken out
const HELD = 24; // texts that were read, and questions that were ranked
const SHOWN = 300; // characters of a passage in the list
const NO_SUM = "its pooling reads one token, and the page has no split by what went in: it needs Python";

/** What was used last is kept. */
async function memo<T>(store: Map<string, T>, key: string, make: () => Promise<T>): Promise<T> {
  const entry = store.get(key) ?? (await make());
  store.delete(key);
  store.set(key, entry);
  for (const old of [...store.keys()].slice(0, -HELD)) store.delete(old);
  return entry;
}

const lower = (text: string) => text[0]!.toLowerCase() + text.slice(1);
const gapOf = ([wrong, right]: Pair) => wrong - right;
const arrow = (before: Pair, after: Pair) => signedNumbers([gapOf(before), gapOf(after)]).join(" → ");

/** What became of both scores and their order without a word. */
function outcomeOf(name: string, how: string, side: Side, before: Pair, after: Pair) {
  const order = orderAfter(before, after);
  const said = `With ${quotation(name)} ${how} in ${lower(SUBJECTS[side])} ${order} (${arrow(before, after)}).`;
  return { after, turned: order === phrases.TURNS, said };
}

export class SearchSession implements Served {
  private engine: Engine | null = null;
  private texts: string[] = [];
  private passages: Passages | null = null;
  private readings = new Map<string, Reading>();
  private rankings = new Map<string, Ranking>();
  private waits: (() => Promise<void>)[] = [];
  private works = false;
  private reader;

  constructor(private carried: Carried) {
    this.reader = createReader(carried.tokenizer);
  }

  async load(part: (n: number) => Promise<{ index: unknown; data: DataView }>, progress: (share: number) => void) {
    const arrays = async (n: number) => {
      const { index, data } = await part(n);
      return unpack(index, data);
    };
    const { shape, search } = this.carried;
    const weights = await loadWeights(shape, arrays, progress);
    const next = 2 + Math.max(...shape.order); // behind the embeddings and the layers
    this.texts = JSON.parse(new TextDecoder().decode((await arrays(next)).texts!.data as Uint8Array));
    const { data, shape: size } = (await arrays(next + 1)).vectors!;
    this.passages = new Passages(data as Uint16Array, size[1]!, search.first);
    this.engine = { model: this.carried, weights, encode: this.reader.encode };
    return { fast: weights.product.fast };
  }

  /** One at a time: they share the memory of a pass. A strip of many runs lets others in between. */
  answer(question: Fields): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waits.push(async () => {
        try {
          resolve({ fields: (await this.answered(question)) as unknown as Fields });
        } catch (error) {
          reject(error);
        }
      });
      if (!this.works) this.work();
    });
  }

  private async work(): Promise<void> {
    this.works = true;
    await this.others();
    this.works = false;
  }

  private async others(): Promise<void> {
    for (let next = this.waits.shift(); next; next = this.waits.shift()) await next();
  }

  private answered(question: Fields): Promise<unknown> {
    const subject = question as unknown as Subject;
    if (question.op === "search_typed") return this.typed(String(question.text));
    if (question.op === "search_case") return this.case(subject);
    if (question.op === "search_words") return this.words(subject);
    return this.without(subject, question.side as Side, String(question.word), String(question.how));
  }

  private read = (text: string, task: Task): Promise<Reading> =>
    memo(this.readings, `${task} ${text}`, () => read(this.engine!, text, task));

  private ranking = (question: string): Promise<Ranking> =>
    memo(this.rankings, question, async () => {
      const start = performance.now();
      const { vector } = await this.read(question, "query");
      return { ...this.passages!.ranking(vector), ms: performance.now() - start };
    });

  private async typed(text: string): Promise<TypedSearch> {
    const { order, scores, ms } = await this.ranking(text);
    const reading = await this.read(text, "query");
    return {
      rows: scores.map((score, n) => ({
        passage: this.carried.search.ids[order[n]!]!,
        score,
        text: this.texts[order[n]!]!.slice(0, SHOWN),
      })),
      passages: order.length,
      ms,
      notes: this.notesOf([["query", reading]]),
    };
  }

  /** The question as it stands in the list, or as it was typed; which passages stand beside each other. */
  private async subject({ query, wrong, right, texts }: Subject) {
    const { questions, search } = this.carried;
    const at = query === null ? -1 : questions.query.indexOf(query);
    const question = at < 0 ? (texts?.[0] ?? "") : questions.text[at]!;
    const { order: all } = await this.ranking(question);
    const [pair, relevant, itself] = search.cases[at] ?? [all.length > 1 ? ([all[0]!, all[1]!] as Pair) : null, [], []];
    const order = itself.length ? all.filter((row) => !itself.includes(row)) : all;
    const rows = [wrong, right].map((name, n) => (name === null ? pair?.[n] : search.ids.indexOf(name)));
    if (rows.some((row) => row === undefined || row < 0)) throw new Error(phrases.ONE_PASSAGE);
    return { question, order, relevant: new Set(relevant), rows: rows as Pair };
  }

  private async contrast(subject: Subject): Promise<Contrast> {
    const { question, rows } = await this.subject(subject);
    const [query, wrong, right] = subject.texts ?? [null, null, null];
    const readings: Readings = {
      query: await this.read(query ?? question, "query"),
      wrong: await this.read(wrong ?? this.texts[rows[0]]!, "document"),
      right: await this.read(right ?? this.texts[rows[1]]!, "document"),
    };
    return new Contrast(readings, this.carried.answer.pooling === "first" ? NO_SUM : "");
  }

  private async case(asked: Subject): Promise<SearchCase> {
    const { ids, listed, depth } = this.carried.search;
    const contrast = await this.contrast(asked);
    const { order, relevant, rows } = await this.subject(asked);
    const { answer, digits } = this.carried;
    const sides = Object.entries(contrast.readings) as [Side, Reading][];
    const notes = [...(answer.said ? [answer.said] : []), ...this.notesOf(sides), digits];
    const shown = asked.query === null ? this.carried.search.first : listed;
    return {
      ...contrast.fields(notes),
      passages: [...new Set([...order.slice(0, shown), ...rows])].map((row) => {
        const rank = order.indexOf(row) + 1;
        return { passage: ids[row]!, rank: rank > depth ? null : rank || null, relevant: relevant.has(row) };
      }),
      wrong: ids[rows[0]]!,
      right: ids[rows[1]]!,
      judged: relevant.size > 0,
    };
  }

  /** How texts are read: prompts, cuts, what is unknown. */
  private notesOf(sides: [Side, Reading][]): string[] {
    const notes = sides.flatMap(([side, { prompt, isCut, input }]) => [
      ...(prompt ? [phrases.BEHIND_PROMPT({ subject: SUBJECTS[side], prompt: quotation(prompt) })] : []),
      ...(isCut ? [`${SUBJECTS[side]} is cut to ${input.ids.length} tokens.`] : []),
    ]);
    const unknown = sides.flatMap(([side, { unknown: count }]) => {
      const tokens = count === 1 ? "1 token is" : `${count} tokens are`;
      return count ? [phrases.UNKNOWN_IN({ subject: SUBJECTS[side], tokens })] : [];
    });
    return [...notes, ...unknown];
  }

  /** Words that may matter, by the split, each hidden. */
  private async words(asked: Subject): Promise<Strip> {
    const contrast = await this.contrast(asked);
    if (contrast.whyNot) throw new Error(phrases.NO_NAMED_WORD({ why: contrast.whyNot }));
    const [before, rows]: [Pair, StripRow[]] = [contrast.scores, []];
    for (const [side, count] of TRIED) {
      const gains = [...contrast.gains(side)].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, count);
      for (const [key, gain] of gains) {
        if (isNothing(gain)) continue;
        await this.others();
        const reading = contrast.readings[side];
        const vector = await hiddenVector(this.engine!, reading, tokensOf(reading, key));
        const scores = scoresOf({ ...contrast.readings, [side]: { vector } });
        const name = contrast.nameOf(side, key);
        rows.push({ name, key, side, ...outcomeOf(name, "hidden", side, before, scores) });
      }
    }
    const sign = Math.sign(contrast.difference) || 1;
    return { before, rows: rows.sort((a, b) => sign * (gapOf(a.after) - gapOf(b.after))) };
  }

  /** Both scores without a word, hidden or cut out of the text. */
  private async without(asked: Subject, side: Side, key: string, how: string): Promise<CaseWithout> {
    const contrast = await this.contrast(asked);
    const [reading, before] = [contrast.readings[side], contrast.scores];
    const place = lower(SUBJECTS[side]);
    if (!reading.keys.includes(key)) throw new Error(`${SUBJECTS[side]} has no word ${quotation(key)} as it is read`);
    const name = contrast.nameOf(side, key);
    let vector: Float64Array;
    if (how === "deleted") {
      const text = deletedFrom(reading, key);
      if (!text) throw new Error(phrases.NOTHING_LEFT({ word: quotation(name), place }));
      vector = (await this.read(text, side === "query" ? "query" : "document")).vector;
    } else vector = await hiddenVector(this.engine!, reading, tokensOf(reading, key));
    const scores = scoresOf({ ...contrast.readings, [side]: { vector } });
    const outcome = outcomeOf(name, how, side, before, scores);
    const isEqual = isNothing(gapOf(before), Math.max(...before.map(Math.abs)));
    return { before, ...outcome, ...(isEqual ? { said: phrases.NO_ORDER } : {}) };
  }
}
