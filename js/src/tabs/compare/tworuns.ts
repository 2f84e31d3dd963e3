// Two runs as the kernel tells of them (bertlens/widgets/panels/comparison_panel.py), and what is selected of them. Units of both texts
// are counted together, gaps included; a difference is always b − a.

import { batch } from "@preact/signals";
import type { Compared, ComparedAnswers, HeadsApart } from "../../generated/answers";
import { NOT_ALIGNED } from "../../generated/phrases";
import { COMPARED_UNITS, type Questions } from "../../generated/vocabulary";
import { type Answer, type AnswerTo, arrived, fieldsAndArrays, type Kind, type Read } from "../../kernel/answers";
import type { Numbers } from "../../parts/picturetable";
import { useAnswer } from "../../state/useanswer";
import type { View } from "../../state/view";

export type Pair = Compared["queries"][number]; // null is a gap; place: in a, where a has it

type Request = Questions["compared"];

/** One head in both, a window of it. */
export type Maps = AnswerTo<"compared">;

/** Another run as it is asked for: ["original"], ["before"] (the model before a fine-tuning), or ["text", text, second text, "cut" where it may be cut]. */
type Other = string[];

export type { Compared };

/** Two runs as they are shown. Units are those shown: all, or the aligned ones. */
export interface Comparing {
  data: Compared;
  other: Other | null; // null: the view is of two runs
  aligned: boolean;
  hasGaps: boolean;
  queries: Pair[];
  keys: Pair[];
  query: number | null;
  key: number | null;
  pick(choice: { layer?: number; head?: number; query?: number; key?: number }): void;
}

/** The run that the reader chose to stand beside the one shown; null where there is none, or it is the same. */
export function otherOf({ overview, page, synced }: View): Other | null {
  const { run, text, text_pair } = page.compareWith.value;
  const isChanged = overview.changes.length > 0;
  if (run === "before") return [run];
  if (run === "original") return isChanged ? ["original"] : null;
  const isSame = text === overview.text && text_pair === overview.text_pair;
  return text === "" || (isSame && !isChanged) ? null : ["text", text, text_pair, synced.truncation.value ? "cut" : ""];
}

const WITH: Kind<Compared, "compared_with"> = { op: "compared_with", read: ({ fields }) => fields };

/** What is compared; null where nothing is. */
export function comparingOf(view: View): Answer<Comparing> | null {
  const { answers, overview } = view;
  const { compared } = overview;
  if (compared) return { state: "answered", value: comparing(view, compared, null) };
  const run = otherOf(view);
  if (!run) return null;
  const answer = answers.get(WITH, overview, { other: run });
  return answer.state === "answered" ? { ...answer, value: comparing(view, answer.value, run) } : answer;
}

type Unit = { pair: Pair; pin: number | null; n: number }; // n: among all

/** Units with the value of the trait that pins them, null for one that it cannot name. */
export function unitsOf(pairs: Pair[], { only }: Pick<Compared, "only">, beside: boolean): Unit[] {
  let [shared, n] = [0, 0];
  return pairs.map((pair) => {
    const isShared = pair[0] !== null && pair[1] !== null;
    const rank = isShared ? shared++ : null;
    const pin = beside ? (pair[0] === null ? null : pair[2]) : only ? rank : n;
    return { pair, pin, n: n++ };
  });
}

const hasGap = (pair: Pair) => pair.slice(0, 2).includes(null);

function comparing({ synced, page, overview, focus }: View, data: Compared, other: Other | null): Comparing {
  const sides = [data.queries, data.keys ?? data.queries].map((pairs) => unitsOf(pairs, data, other !== null));
  const hasGaps = sides.some((units) => units.some(({ pair }) => hasGap(pair)));
  const aligned = page.alignedOnly.value && hasGaps;
  const [queries, keys] = sides.map((units) => (aligned ? units.filter(({ pair }) => !hasGap(pair)) : units)) as [
    Unit[],
    Unit[],
  ];
  const subject = JSON.stringify([overview.trace, overview.map, other]);
  const pins = () => JSON.stringify([synced.query.value, synced.key.value]);
  const { lone } = page;
  const now = lone.value?.subject === subject && lone.value.pins === pins() ? lone.value : null;
  const pinned = other
    ? [synced.query.value ?? focus.query, synced.key.value ?? focus.key]
    : [synced.query.value, synced.key.value];
  const placeOf = (units: Unit[], pin: number | null, unit: number | null = null) => {
    const at = units.findIndex((one) => (unit === null ? pin !== null && one.pin === pin : one.n === unit));
    return at < 0 ? null : at;
  };
  return {
    ...{ data, other, aligned, hasGaps },
    queries: queries.map(({ pair }) => pair),
    keys: keys.map(({ pair }) => pair),
    query: placeOf(queries, pinned[0]!, now?.query),
    key: placeOf(keys, pinned[1]!, now?.key),
    pick: ({ query, key, ...head }) =>
      batch(() => {
        const row = query === undefined ? null : queries[query]!;
        const col = key === undefined ? null : keys[key]!;
        synced.put({
          ...head,
          ...(row?.pin == null ? {} : { query: row.pin }),
          ...(col?.pin == null ? {} : { key: col.pin }),
        });
        const unpinned = (unit: Unit | null, before?: number | null) =>
          unit ? (unit.pin === null ? unit.n : null) : (before ?? null);
        const [a, b] = [unpinned(row, now?.query), unpinned(col, now?.key)];
        lone.value = a === null && b === null ? null : { subject, pins: pins(), query: a, key: b };
      }),
  };
}

const STEP = COMPARED_UNITS / 2;

/** The first unit of the window that shows one. */
export const startOf = (size: number, unit: number | null) =>
  Math.max(0, Math.min(STEP * Math.floor(((unit ?? 0) - STEP / 2) / STEP), size - COMPARED_UNITS));

/** What is asked of the two runs, beside the rest. */
const about = ({ aligned, other }: Pick<Comparing, "aligned" | "other">) => ({
  ...(aligned ? { aligned } : {}),
  ...(other ? { other } : {}),
});

const HEADS: Kind<HeadsApart, "compared_heads"> = { op: "compared_heads", read: ({ fields }) => fields };
const ANSWERS: Kind<ComparedAnswers, "compared_answers"> = { op: "compared_answers", read: ({ fields }) => fields };
const MAPS: Kind<Maps, "compared"> = { op: "compared", read: fieldsAndArrays };

function requestOf({ synced, overview }: View, runs: Comparing): Request {
  const measure = synced.measure.value;
  return {
    layer: synced.layer.value,
    head: synced.head.value,
    measure: overview.measures.includes(measure) ? measure : "weight",
    row: startOf(runs.queries.length, runs.query),
    col: startOf(runs.keys.length, runs.key),
    ...about(runs),
  };
}

/** What came with the first picture, if it is what is asked for. */
function mapsAtHand({ overview }: View, { data: { open } }: Comparing, request: Request): (() => Maps) | undefined {
  const names = ["layer", "head", "measure", "row", "col", "aligned"] as const;
  if (!open || names.some((name) => open[name] !== request[name])) return undefined;
  const { "compared.a": a, "compared.b": b } = overview.arrays;
  return () => MAPS.read({ fields: open, arrays: { a, b } as Read<"compared">["arrays"] }, request);
}

export function useMaps(view: View, runs: Comparing): Answer<Maps> {
  const request = requestOf(view, runs);
  return useAnswer(MAPS, request, { known: mapsAtHand(view, runs, request) });
}

export function useHeads(runs: Comparing): Answer<HeadsApart> {
  const { heads, open } = runs.data;
  const isThere = heads !== null && Boolean(open?.aligned) === runs.aligned;
  return useAnswer(HEADS, about(runs), isThere ? { known: () => heads } : {});
}

export const useModelAnswers = ({ other }: Comparing): Answer<ComparedAnswers> =>
  useAnswer(ANSWERS, about({ aligned: false, other }));

/** The cosine of the vectors of the run shown and of another text; null for other models, and before it is known. */
export function cosineWith({ answers, overview }: View, text: string): number | null {
  const isVector = overview.tabs.some(({ name, why_not }) => name === "similarity" && why_not === "");
  if (!isVector || text === overview.text) return null;
  const answer = answers.get(ANSWERS, overview, { other: ["text", text, "", ""] });
  const [, , before, cosine] = (answer.state === "answered" && answer.value.rows[0]) || [];
  return before === null ? (cosine ?? null) : null;
}

/** b − a, NaN at gaps. */
export const differenceOf = ({ a, b }: Maps): Float32Array => a.map((value, n) => b[n]! - value);

/** Names of units: that of a where it has one, with its place where the name comes again. */
export function named(pairs: Pair[]): string[] {
  const names = pairs.map(([a, b]) => a ?? b!);
  const repeats = new Set(names.filter((name, n) => names.indexOf(name) !== n));
  return pairs.map(
    ([a, , place], n) => `${names[n]}${repeats.has(names[n]!) ? ` (${a === null ? "b " : ""}${place})` : ""}`,
  );
}

/** The units that a window shows. */
export const windowOf = <T>(units: T[], from: number): T[] => units.slice(from, from + COMPARED_UNITS);

/** What both runs are, for a file. */
export function compareFacts(view: View): [name: string, words: string][] {
  const answer = comparingOf(view);
  if (answer?.state !== "answered") return [];
  const { data, aligned } = answer.value;
  return [
    ...data.sides.map((side, n): [string, string] => ["ab"[n]!, sideWords(side)]),
    ["aligned", `${data.said[Number(aligned)]}${aligned ? "" : ` Empty: ${NOT_ALIGNED}`}`],
  ];
}

const sideWords = ({ model, text, changes }: Compared["sides"][number]) =>
  [model, text, ...changes].filter(Boolean).join("; ");

/** The cells of the head shown, a line each. */
export async function compareNumbers(view: View): Promise<Numbers> {
  const answer = comparingOf(view);
  const runs = answer && (await arrived(() => comparingOf(view)!));
  if (!runs) throw new Error("nothing is compared yet");
  const request = requestOf(view, runs);
  const maps = await arrived(() => view.answers.get(MAPS, view.overview, request, mapsAtHand(view, runs, request)));
  const [rows, cols] = [windowOf(named(runs.queries), maps.row), windowOf(named(runs.keys), maps.col)];
  const cell = (value: number) => (Number.isNaN(value) ? null : value);
  const changes = differenceOf(maps);
  return {
    columns: ["query_index", "query", "key_index", "key", "a", "b", "b − a"],
    rows: rows.flatMap((query, i) =>
      cols.map((key, j) => {
        const n = i * cols.length + j;
        return [maps.row + i, query, maps.col + j, key, cell(maps.a[n]!), cell(maps.b[n]!), cell(changes[n]!)];
      }),
    ),
    facts: [...compareFacts(view), ["head of b", `L${maps.other.join("·H")}`]],
  };
}
