// The kernel's answer to "survey": what every head does over a corpus, and in the text at hand. Reading it, naming it.

import type { MapTrust, ParsedSentence, Relation, SurveyFields } from "../../generated/answers";
import { type HeadName, STATISTICS } from "../../generated/vocabulary";
import { arrived, type Kind, type Read } from "../../kernel/answers";
import type { TypedArray } from "../../kernel/wire";
import { counted, percent, signed } from "../../paint/format";
import type { Numbers } from "../../parts/picturetable";
import type { CorpusChoice } from "../../state/page";
import type { View } from "../../state/view";

export type { MapTrust, ParsedSentence as Sentence, Relation };
export type By = CorpusChoice["by"];

/** What the parts of the view share: the data, what of it is shown, and how to change that. */
export interface Choice extends CorpusChoice {
  data: Survey;
  put: (change: Partial<CorpusChoice>) => void;
  pick: (layer: number, head: number) => void;
}

/** Another head, and how far it is. */
export interface Near {
  layer: number;
  head: number;
  apart: number;
}

/** Statistics of every head; arrays are (K·L·H), bins (K·L·H·B). */
export interface Survey extends SurveyFields {
  n_layers: number;
  n_heads: number;
  all: HeadName[];
  mean(name: string, by: By, average: CorpusChoice["average"], layer: number, head: number): number;
  inText(name: string, by: By, layer: number, head: number): number; // in the text shown
  /** Of the texts of its length: mean, standard deviation, half the interval, the text's z; NaN where too few. */
  alikes(what: "mean" | "sd" | "reach" | "z", name: string, by: By, layer: number, head: number): number;
  unusual(name: string, by: By, layer: number, head: number): boolean; // the text lies outside the interval
  /** Flags that those nearest in length have, each among the others, on average and 9 of 10 at most: of a statistic, or
   * of a head; NaN: not known. */
  ownFlags(by: By, of: string | HeadName): [mean: number, most: number];
  /** At least and at most so many of them lie lower than the text. */
  lower(name: string, by: By, layer: number, head: number): [least: number, most: number];
  count(name: string, by: By): number; // of them that have the statistic
  /** How many of them have a value in each bin. */
  bins(name: string, by: By, layer: number, head: number): TypedArray;
  edges(name: string): TypedArray; // of the bins, B + 1
  headMap: Float32Array | null; // (L·H·2)
  nearest(layer: number, head: number): Near[]; // by the true distances, nearest first
  guesses: Int32Array | null; // (2·L·H·W) word that a head predicts for each word, direction by direction
}

export function readSurvey({ fields, arrays }: Pick<Read<"survey">, "fields" | "arrays">): Survey {
  const [L, H] = [fields.gates.length, fields.gates[0]!.length];
  const at = (name: string, l: number, h: number) => (fields.names.indexOf(name) * L + l) * H + h;
  const [, edgeCount] = arrays.edges!.shape as [number, number];
  const B = edgeCount - 1;
  return {
    ...fields,
    n_layers: L,
    n_heads: H,
    all: Array.from({ length: L * H }, (_, n) => [Math.floor(n / H), n % H]),
    mean: (name, by, average, l, h) => arrays[`${average}.${by}`]!.data[at(name, l, h)]!,
    inText: (name, by, l, h) => arrays[`sentence.${by}`]!.data[at(name, l, h)]!,
    alikes: (what, name, by, l, h) => arrays[`${what}.${by}`]!.data[at(name, l, h)]!,
    unusual: (name, by, l, h) => arrays[`unusual.${by}`]!.data[at(name, l, h)] === 1,
    ownFlags: (by, of) => {
      const { data } = arrays[`own.${typeof of === "string" ? "statistics" : "heads"}.${by}`]!;
      const n = typeof of === "string" ? fields.names.indexOf(of) : of[0] * H + of[1];
      return [data[n]!, data[data.length / 2 + n]!];
    },
    lower: (name, by, l, h) => {
      const { data } = arrays[`lower.${by}`]!;
      return [data[at(name, l, h)]!, data[data.length / 2 + at(name, l, h)]!];
    },
    count: (name, by) => fields.alike.counts[by][fields.names.indexOf(name)]!,
    bins: (name, by, l, h) => arrays[`bins.${by}`]!.data.subarray(at(name, l, h) * B, (at(name, l, h) + 1) * B),
    edges: (name) => {
      const k = fields.names.indexOf(name);
      return arrays.edges!.data.subarray(k * edgeCount, (k + 1) * edgeCount);
    },
    headMap: (arrays.map?.data as Float32Array) ?? null,
    nearest: (l, h) => {
      const [heads, distances] = [arrays.nearest!, arrays.apart!.data];
      const k = heads.shape[1]!;
      return Array.from(heads.data.subarray((l * H + h) * k, (l * H + h + 1) * k), (n, at) => ({
        layer: Math.floor(n / H),
        head: n % H,
        apart: distances[(l * H + h) * k + at]!,
      }));
    },
    guesses: (arrays.guesses?.data as Int32Array) ?? null,
  };
}

export const SURVEY: Kind<Survey, "survey"> = { op: "survey", read: readSurvey };

export const labelOf = (name: string): string => STATISTICS[name]?.label ?? name.replaceAll("_", " ");
export const aboutOf = (name: string): string => STATISTICS[name]?.about ?? "";

/** Where a value lies among bins, in bins from the left; values beyond the last edge lie in the last bin. */
export function binOf(value: number, edges: ArrayLike<number>): number {
  const end = edges.length - 2;
  let bin = 0;
  while (bin < end && value >= edges[bin + 1]!) bin++;
  const [from, to] = [edges[bin]!, edges[bin + 1]!];
  return bin + Math.max(0, Math.min(1, (value - from) / (to - from)));
}

const tokens = ([from, to]: Survey["span"]) => `${from === to ? from : `${from} to ${to}`} tokens`;
export const textCount = (n: number, segments = 1) =>
  `${n.toLocaleString("en")} ${segments === 2 ? "pair" : "text"}${n === 1 ? "" : "s"}`;

/** Which texts the text is compared with. */
export const alikeOf = ({ alike: { texts, segments, span } }: Survey) =>
  `${textCount(texts, segments)} of ${tokens(span)}`;
/** Which texts there are. */
export const allOf = ({ texts, span }: Survey) => `${textCount(texts)} of ${tokens(span)}`;

/** Which texts the gates are counted in: they depend on the length. */
export const gatesOf = (data: Survey) => (data.gates_alike ? alikeOf(data) : allOf(data));

/** A head's most frequent gate: that of most texts, or of more than any other. */
export function mostly(data: Survey, l: number, h: number): string {
  const portion = data.shares[l]![h]!;
  return `${portion > 0.5 ? "mostly" : "most often"} ${data.gates[l]![h]}, in ${percent(portion)} of ${gatesOf(data)}`;
}

/** That there are too few texts to compare with; "" where there are enough. */
export const fewOf = ({ alike: { fewest } }: Survey, texts: number) =>
  texts < fewest ? `too few texts of this length (${texts})` : "";

/** That there are too few texts of this length to compare with, and what to do. */
export function tooFew({ alike: { texts, segments, span, fewest }, span: known }: Survey): string {
  return (
    `The corpus has ${textCount(texts, segments)} of ${tokens(span)}, and at least ${fewest} are needed to say what is usual: trace a text ` +
    `of another length (the corpus has ${tokens(known)}), or take statistics of more texts of this one (survey.head_stats).`
  );
}

/**
 * How many are unusual of a statistic's heads, or of a head's statistics, beside how many are in texts of most nearly
 * this length, on average and at most in 9 of 10, as flags come in clumps; or that there are too few texts.
 */
export function flagsOf(data: Survey, by: By, of: string | HeadName): string {
  const isStatistic = typeof of === "string";
  const among = isStatistic ? data.all.map((at) => [of, at] as const) : data.counted.map((name) => [name, of] as const);
  const compared = among.filter(
    ([name, at]) => !Number.isNaN(data.inText(name, by, ...at) - data.alikes("mean", name, by, ...at)),
  );
  const shortage = fewOf(data, Math.max(...among.map(([name]) => data.count(name, by))));
  if (!shortage && compared.length === 0) return "this text has no such tokens";
  const unusual = compared.filter(([name, at]) => data.unusual(name, by, ...at)).length;
  const [mean, upper] = data.ownFlags(by, of);
  const texts = Math.max(...compared.map(([name]) => data.alike.own[by][data.names.indexOf(name)]!));
  const usual = Number.isNaN(upper)
    ? ""
    : `; the corpus’s own of ${tokens(data.alike.own_span[by])} have ${signed(mean, 1)} on average, and 9 of 10 of them at most ${upper} (n = ${counted(texts)})`;
  const what = isStatistic ? "heads" : "statistics";
  return shortage || `${unusual} of ${compared.length} ${what} unusual beside ${alikeOf(data)}${usual}`;
}

/** How many of the texts of this length lie lower, as exactly as is known. */
export function rankOf(data: Survey, by: By, name: string, [l, h]: HeadName): string {
  const [low, high] = data.lower(name, by, l, h);
  const lower = low === high ? low : `${low} to ${high}`;
  return `${lower} of ${textCount(data.count(name, by), data.alike.segments)} of this length ${high === 1 ? "lies" : "lie"} lower`;
}

/** Every head's statistics over the corpus and in the text. */
export async function surveyNumbers({ answers, overview }: View): Promise<Numbers> {
  const data = await arrived(() => answers.get(SURVEY, overview, {}));
  const kinds = data.by.flatMap((by) => data.names.map((name) => ({ by, name })));
  const what = ["mean of texts", "mean of tokens", "this text", "mean at this length", "sd at this length", "z"];
  const values = (l: number, h: number) =>
    kinds.flatMap(({ by, name }) => [
      data.mean(name, by, "text", l, h),
      data.mean(name, by, "token", l, h),
      data.inText(name, by, l, h),
      ...(["mean", "sd", "z"] as const).map((one) => data.alikes(one, name, by, l, h)),
    ]);
  return {
    columns: [
      ...["layer", "head", "gate", "gate_share"],
      ...kinds.flatMap(({ by, name }) => what.map((one) => `${name} by ${by}, ${one}`)),
    ],
    rows: data.all.map(([l, h]) => [l, h, data.gates[l]![h]!, data.shares[l]![h]!, ...values(l, h)]),
    facts: [
      ["corpus", `${data.about}; ${allOf(data)}, ${data.tokens} in all`],
      ["this length", `${alikeOf(data)}; gates in ${gatesOf(data)}`],
    ],
  };
}
