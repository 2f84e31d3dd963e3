// Two runs as the kernel tells of them (bertlens/widgets/answers/compare.py), and what is selected of them. Units of both texts
// are counted together, gaps included; a difference is always b − a.

import type { HeadName } from "../../generated/vocabulary";
import { type Answer, arrived, type Kind } from "../../kernel/answers";
import type { Numbers } from "../../parts/picturetable";
import type { Overview } from "../../state/overview";
import { useAnswer } from "../../state/useanswer";
import type { View } from "../../state/view";

export type Pair = [a: string | null, b: string | null, place: number]; // null is a gap; place: in a, where a has it

interface Side {
  model: string;
  text: string;
  changes: string[];
}

interface HeadsAnswer {
  apart?: number[]; // nats, (L·H)
  most?: { layer: number; head: number; words: string; cell: [query: number, key: number] }[];
  nearest?: [layer: number, head: number, layerB: number, headB: number, nats: number][]; // where not matched by index
}

type Asked = {
  layer: number;
  head: number;
  measure: string;
  row: number; // the first units of the window
  col: number;
};

export interface Compared {
  sides: [Side, Side];
  by: "tokens" | "words";
  queries: Pair[];
  keys: Pair[] | null; // null: the same
  said: string;
  matched: boolean; // heads by their index
  heads: HeadsAnswer | null; // null: to be asked for
  open: (Asked & { other: HeadName }) | null;
}

/** One head in both, a window of it. */
export type Maps = Asked & {
  other: HeadName; // of b
  a: Float32Array; // (rows·cols), NaN at gaps
  b: Float32Array;
};

export const comparedOf = ({ compared }: Overview) => compared as unknown as Compared;
export const keysOf = ({ keys, queries }: Compared): Pair[] => keys ?? queries;

const WINDOW = 128; // as bertlens/widgets/answers/compare.py
const STEP = WINDOW / 2;

/** The first unit of the window that shows one. */
export const startOf = (size: number, unit: number | null) =>
  Math.max(0, Math.min(STEP * Math.floor(((unit ?? 0) - STEP / 2) / STEP), size - WINDOW));

const HEADS: Kind<HeadsAnswer> = { op: "compared_heads", read: ({ fields }) => fields as HeadsAnswer };
const MAPS: Kind<Maps> = {
  op: "compared",
  read: ({ fields, arrays }, asked) => ({
    ...(asked as Asked),
    other: fields.other as HeadName,
    a: arrays.a!.data as Float32Array,
    b: arrays.b!.data as Float32Array,
  }),
};

const askedOf = ({ synced, overview }: View): Asked => {
  const data = comparedOf(overview);
  const measure = synced.measure.value;
  return {
    layer: synced.layer.value,
    head: synced.head.value,
    measure: overview.measures.includes(measure) ? measure : "weight",
    row: startOf(data.queries.length, synced.query.value),
    col: startOf(keysOf(data).length, synced.key.value),
  };
};

/** What came with the first picture, if it is what is asked for. */
function known({ overview }: View, asked: Asked): (() => Maps) | undefined {
  const { open } = comparedOf(overview);
  if (!open || Object.entries(asked).some(([name, value]) => open[name as keyof Asked] !== value)) return undefined;
  return () =>
    MAPS.read(
      { fields: open, arrays: { a: overview.arrays["compared.a"]!, b: overview.arrays["compared.b"]! } },
      asked,
    );
}

export function useMaps(view: View): Answer<Maps> {
  const asked = askedOf(view);
  return useAnswer(MAPS, asked, { known: known(view, asked) });
}

export function useHeads({ overview }: View): Answer<HeadsAnswer> {
  const { heads } = comparedOf(overview);
  return useAnswer(HEADS, {}, heads ? { known: () => heads } : {});
}

/** b − a, NaN at gaps. */
export const differenceOf = ({ a, b }: Maps): Float32Array => a.map((value, n) => b[n]! - value);

/** Names of units: that of a where it has one, with its place where the name comes again. */
export function named(pairs: Pair[]): string[] {
  const names = pairs.map(([a, b]) => a ?? b!);
  const again = new Set(names.filter((name, n) => names.indexOf(name) !== n));
  return pairs.map(
    ([a, , place], n) => `${names[n]}${again.has(names[n]!) ? ` (${a === null ? "b " : ""}${place})` : ""}`,
  );
}

/** The units that a window shows. */
export const windowOf = <T>(units: T[], from: number): T[] => units.slice(from, from + WINDOW);

const sideWords = ({ model, text, changes }: Side) => [model, text, ...changes].filter(Boolean).join("; ");

/** The cells of the head shown, a line each. */
export async function compareNumbers(view: View): Promise<Numbers> {
  const data = comparedOf(view.overview);
  const asked = askedOf(view);
  const maps = await arrived(() => view.answers.get(MAPS, view.overview, asked, known(view, asked)));
  const [rows, cols] = [windowOf(named(data.queries), maps.row), windowOf(named(keysOf(data)), maps.col)];
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
    facts: [
      ["a", sideWords(data.sides[0])],
      ["b", `${sideWords(data.sides[1])}; head L${maps.other.join("·H")}`],
      ["aligned", `${data.said} Empty: that text has no such token`],
    ],
  };
}
