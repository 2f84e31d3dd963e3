// One sentence that says what a head does, from its statistics.
import type { Overview } from "../state/overview";
import { STATISTICS } from "../vocabulary";
import { percent } from "./format";
import { tokenText } from "./token";

const MENTION = 0.1; // shares below this are not worth a mention

export interface Statistic {
  name: string;
  label: string;
  isShare: boolean;
}

/** The label of a statistic, with its unit where that is not plain from the label. */
export const statisticLabel = (name: string): string => {
  const { label, unit } = STATISTICS[name] ?? { label: name.replaceAll("_", " "), unit: "" };
  return unit === "nats" ? `${label} (nats)` : label;
};

/** The statistics by which heads can be sorted. */
export const statistics = (overview: Overview): Statistic[] =>
  overview.stats
    .map((name) => ({ name, label: statisticLabel(name), isShare: STATISTICS[name]?.unit === "share" }))
    .filter(({ name }) => !Number.isNaN(overview.statistic(0, 0, name)) || overview.nan_layer !== null);

/** A statistic of a head as the atlas prints it. */
export const statisticText = ({ isShare }: Statistic, value: number) =>
  Number.isNaN(value) ? "–" : isShare ? percent(value) : value.toFixed(2);

export function describe(overview: Overview, layer: number, head: number): string {
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
  const main = targets
    .map(([name, words]) => ({ words, share: value(name) }))
    .filter(({ share }) => share >= MENTION)
    .sort((a, b) => b.share - a.share)
    .slice(0, 3)
    .map(({ words, share }, n) => `${percent(share)} ${n === 0 ? "of attention " : ""}to ${words}`);
  const where =
    main.length > 0
      ? main.join(", ")
      : `No place holds ${100 * MENTION} %; 90 % of a row needs ${value("k90").toFixed(1)} keys`;
  return `${where}; entropy ${entropy.toFixed(1)} nats`;
}
