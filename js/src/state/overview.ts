// The overview: what the page gets of a trace at first, all that it can show before it asks the kernel anything.
import type { Span, TokenSide } from "../compute/grid";
import type { Compared, HeadFields, ModelAnswer, SimilarFields } from "../generated/answers";
import type { Measure, Traits } from "../generated/vocabulary";
import { type Arrays, fromBase64, unpack } from "../kernel/wire";
import { tell } from "../paint/textprops";

/** What the tokenizer did: bertlens.text.encoding.InputReport.to_dict(). */
export interface Badge {
  kind: string;
  label: string;
  detail: string;
  severity: "info" | "warning";
}

/** A map of a whole layer that the kernel can compute, and the words for it. */
export interface LayerMap {
  name: string;
  label: string;
  about: string;
  symbol: string;
  said_as: Measure | ""; // in whose words its cells are told
}

/** A tab below; `why_not` says why it has nothing to show, null where nobody asked for it. */
export interface Tab {
  name: string;
  label: string;
  about: string;
  questions: Record<string, string[]>; // with the names of their arguments
  why_not: string | null;
}

/** A change of the run: bertlens/whatif/chips.py. */
export interface Change {
  id: number; // by which the kernel knows it
  label: string;
  about: string;
  off: [layer: number, head: number | null] | null; // heads that are switched off
  scale?: [layer: number, head: number | null, factor: number] | null; // heads that are louder or softer
  code: string; // in Python, "" where it takes more than numbers
}

/** Tokens that are the patches of an image, row by row: bertlens/text/patches.py. */
export interface Patches {
  rows: number;
  cols: number;
  tokens: number[]; // their positions
  picture: string | null; // what they were cut from, as a data address
}

/** The atlas's thumbnails of one measure: entries of the colour table. */
export interface Thumbs {
  measure: Measure;
  data: Uint8Array; // (L·H·rows·cols)
  max: Float32Array; // (L·H) the value of entry 255
  pending?: readonly number[]; // layers that are still to come
}

interface Header {
  trace: string;
  subject: string; // the text and its model: the same whatever is changed in the run
  changes: Change[];
  map: string; // the attention maps of the trace that this is of
  maps: string[];
  model: string;
  n_layers: number;
  n_heads: number;
  head_dim: number | null;
  dtype: string;
  queries: TokenSide;
  keys: TokenSide | null;
  pair: boolean;
  spans: Span[]; // named runs of tokens: protein domains
  badges: Badge[];
  text: string;
  text_pair: string;
  mask?: string; // what stands for a word that the model is to guess, "" where it guesses none
  mask_joins?: boolean; // no blank stands before it: that would be a token of its own
  stats: string[];
  pending: readonly number[]; // layers whose thumbnails and statistics are still to be asked for
  measures: Measure[]; // what the kernel can give of a head
  layer_maps: LayerMap[]; // and of a whole layer
  offers: Record<string, string>; // capability -> "", or the reason why it cannot be had
  tabs: Tab[];
  versions: Record<string, string>;
  nan_layer: number | null;
  lens: boolean;
  apart: boolean; // the model reads a second text on its own
  made: { lens: string; trace: string }; // in Python; lens "" where there is none
  answers?: ModelAnswer; // of a changed run
  patches?: Patches;
  compared?: Compared; // of two runs
  similar?: SimilarFields; // of two texts
  ranking?: Ranking;
  languages?: Record<string, string>; // of texts
  head: HeadFields;
}

/** Passages in their order for a query, of which one is shown below. */
export interface Ranking {
  query: string;
  crosses: boolean; // the model reads query and passage as one input
  rows: [passage: string, score: number, words: string][];
}

export interface Overview extends Header {
  byLayer: boolean; // a long text, of which what is of all layers comes one by one
  keyside: TokenSide; // the key side, the query side again where the map is square
  square: boolean;
  thumbs: Thumbs; // of the weights
  numbers: Float32Array; // (L·H·stats)
  thumbShape: [rows: number, cols: number];
  statistic(layer: number, head: number, name: string): number;
  even(layer: number, head: number, name: string): number; // of rows that are even over what they see; 0 of a long text
  headArrays: Arrays; // of `head`
  arrays: Arrays;
  moved: Float32Array | null; // of a changed run: see state/effects.ts
}

export const thumbsFrom = (measure: Measure, { thumbs, thumb_max }: Arrays): Thumbs => ({
  measure,
  data: thumbs!.data as Uint8Array,
  max: thumb_max!.data as Float32Array,
});

/** An overview as the trait has it, or as an answer about other maps of the trace. */
export function overviewFrom(fields: Record<string, unknown>, arrays: Arrays): Overview {
  const header = fields as unknown as Header;
  tell(header.languages);
  const stats = arrays.stats!.data as Float32Array;
  const statistic = (values: Float32Array) => (layer: number, head: number, name: string) => {
    const column = header.stats.indexOf(name);
    return column < 0 ? Number.NaN : values[(layer * header.n_heads + head) * header.stats.length + column]!;
  };
  const ofHead = Object.entries(arrays).filter(([name]) => name.startsWith("head."));
  return {
    ...header,
    arrays,
    keyside: header.keys ?? header.queries,
    square: header.keys === null,
    pending: header.pending ?? [],
    byLayer: Boolean(header.pending?.length),
    numbers: stats,
    thumbs: thumbsFrom("weight", arrays),
    thumbShape: [arrays.thumbs!.shape[2]!, arrays.thumbs!.shape[3]!],
    statistic: statistic(stats),
    even: arrays.even ? statistic(arrays.even.data as Float32Array) : () => 0,
    moved: (arrays.moved?.data as Float32Array | undefined) ?? null,
    headArrays: Object.fromEntries(ofHead.map(([name, array]) => [name.slice("head.".length), array])),
  };
}

/** The trait; its bytes are text where the host may lose buffers. */
export const decodeOverview = ({ header, data }: Traits["overview"]): Overview =>
  overviewFrom(header, unpack(header.arrays, typeof data === "string" ? fromBase64(data) : data));
