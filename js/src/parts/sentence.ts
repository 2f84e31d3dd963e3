// One sentence that says what a head does, from its statistics.

import { columnMeans } from "../compute/grid";
import type { Cells } from "../compute/windows";
import { STATISTICS } from "../generated/vocabulary";
import { counted, percent, upTo } from "../paint/format";
import type { Overview } from "../state/overview";
import { tokenText } from "./token";

const MENTION = 0.1; // shares below this are not worth a mention

/** The label of a statistic, with its unit where that is not plain from the label. */
export const statisticLabel = (name: string): string => {
  const { label, unit } = STATISTICS[name] ?? { label: name.replaceAll("_", " "), unit: "" };
  return unit === "nats" ? `${label} (nats)` : label;
};

/** The names of the statistics by which heads can be sorted. */
export const statistics = ({ stats, statistic, nan_layer, pending, n_layers }: Overview): string[] => {
  const layer = upTo(n_layers).find((l) => !pending.includes(l)); // one that is here
  return stats.filter((name) => layer === undefined || !Number.isNaN(statistic(layer, 0, name)) || nan_layer !== null);
};

/** A word that takes much of every row, the first token and separators apart: "cat takes 40 %". */
function columnsOf({ keyside: { tokens, special } }: Overview, weights: Cells) {
  const means = columnMeans(weights);
  if (!means) return [];
  const again = (j: number) => tokens.indexOf(tokens[j]!) !== tokens.lastIndexOf(tokens[j]!);
  return upTo(tokens.length)
    .filter((j) => !special[j] && j > 0 && means[j]! >= MENTION)
    .sort((a, b) => means[b]! - means[a]!)
    .slice(0, 2)
    .map((j) => ({
      share: means[j]!,
      words: `“${tokenText(tokens[j]!)}”${again(j) ? ` at ${j}` : ""} takes ${percent(means[j]!)}`,
    }));
}

/**
 * A head in one sentence: where most of its attention goes, mean over all rows. Shares that would count much of it twice
 * (the first token is often the previous one) are left out. With its rows, or their mean, it also names words that all
 * look at. `shareOf`: what the shares are of, "" where that is said before.
 */
export function describe(
  overview: Overview,
  layer: number,
  head: number,
  rows?: Cells,
  shareOf = "of attention ",
): string {
  if (overview.pending.includes(layer)) return "Its layer has not been computed yet";
  const value = (name: string) => overview.statistic(layer, head, name);
  const entropy = value("entropy");
  if (Number.isNaN(entropy)) return "Not a number: this head's attention holds NaN or infinity";
  const targets: [string, string][] = [
    ["previous", "the previous token"],
    ["next", "the next token"],
    ["self", "the token itself"],
    ["first", tokenText(overview.keyside.tokens[0] ?? "")],
    ["separator", "separators"],
  ];
  let left = 1;
  const fits = ({ share }: { share: number }) => {
    left -= share;
    return left > -0.005;
  };
  const main = targets
    .map(([name, words]) => ({ words, share: value(name) }))
    .filter(({ share }) => share >= MENTION)
    .sort((a, b) => b.share - a.share)
    .filter(fits)
    .slice(0, 3)
    .map(({ words, share }, n) => `${percent(share)} ${n === 0 ? shareOf : ""}to ${words}`);
  const columns = (rows ? columnsOf(overview, rows) : []).filter(fits).map(({ words }) => words);
  const nowhere = `${shareOf ? "Under" : "under"} ${100 * MENTION} % each to neighbours, itself, ${targets[3]![1]} and separators`;
  const where = main.length > 0 ? main : columns.length > 0 ? [] : [nowhere];
  const spread = main.length + columns.length > 0 ? "" : `90 % of a row needs ${counted(value("k90"), 1)} keys; `;
  return `${[...where, ...columns].join(", ")}; ${spread}entropy ${entropy.toFixed(1)} nats`;
}
