// The first picture: everything the page can show before it asks the kernel anything.
import type { Span } from "../compute/grid";
import type { Measure } from "../compute/measure";
import { type Arrays, unpack } from "../wire";

/** The tokens along one side of an attention map. */
export interface Side {
  tokens: string[];
  pieces: string[];
  words: number[]; // word of every piece, -1 for special tokens
  segments: number[];
  special: number[];
}

/** What the tokenizer did: bertlens.inputs.InputReport.to_dict(). */
export interface Badge {
  kind: string;
  label: string;
  detail: string;
  severity: "info" | "warning";
}

export interface PictureHeader {
  trace: string;
  map: string;
  maps: string[];
  model: string;
  n_layers: number;
  n_heads: number;
  head_dim: number | null;
  dtype: string;
  neurons: boolean;
  why_no_neurons: string;
  queries: Side;
  keys: Side | null;
  pair: boolean;
  spans: Span[]; // named runs of tokens: protein domains
  badges: Badge[];
  text: string;
  text_pair: string;
  stats: string[];
  measures: Measure[]; // what the kernel can give of a head
  layer_maps: string[]; // and of a whole layer
  evidence: boolean; // whether the cells behind a gate can be asked for
  gates: boolean; // whether heads can be scored as gates
  survey: boolean; // whether there are statistics of a corpus
  versions: Record<string, string>;
  nan_layer: number | null;
  lens: boolean;
  head: Record<string, unknown> & { layer: number; head: number };
}

export interface Picture extends PictureHeader {
  queries: Side;
  keyside: Side; // the key side, the query side again where the map is square
  square: boolean;
  thumbs: { data: Uint8Array; rows: number; cols: number };
  thumbMax: Float32Array; // (L·H)
  statistic(layer: number, head: number, name: string): number;
  headArrays: Arrays;
}

export function decodePicture(trait: { header: Record<string, unknown>; data: DataView }): Picture {
  const header = trait.header as unknown as PictureHeader & { arrays: unknown };
  const arrays = unpack(header.arrays as never, trait.data);
  const thumbs = arrays.thumbs!;
  const stats = arrays.stats!.data as Float32Array;
  const headArrays: Arrays = {};
  for (const [name, array] of Object.entries(arrays)) {
    if (name.startsWith("head.")) headArrays[name.slice(5)] = array;
  }
  return {
    ...header,
    keyside: header.keys ?? header.queries,
    square: header.keys === null,
    thumbs: { data: thumbs.data as Uint8Array, rows: thumbs.shape[2]!, cols: thumbs.shape[3]! },
    thumbMax: arrays.thumb_max!.data as Float32Array,
    statistic(layer, head, name) {
      const column = header.stats.indexOf(name);
      return column < 0 ? Number.NaN : stats[(layer * header.n_heads + head) * header.stats.length + column]!;
    },
    headArrays,
  };
}
