// One sentence that says what a head does, from its statistics.
import type { Picture } from "../state/picture";
import { visibleText } from "./token";

const MENTION = 0.1; // shares below this are not worth a mention

export interface Statistic {
  name: string;
  label: string;
  percent: boolean;
}

/** The statistics by which heads can be sorted, with the words the page uses for them. */
export function statistics(p: Picture): Statistic[] {
  const labels: Record<string, [string, boolean]> = {
    previous: ["to the previous token", true],
    next: ["to the next token", true],
    self: ["to the token itself", true],
    first: [`to ${visibleText(p.keyside.tokens[0] ?? "")}`, true],
    separator: ["to separators", true],
    special: ["to special tokens", true],
    same_segment: ["within the own sentence", true],
    entropy: ["entropy (nats)", false],
    k90: ["keys that hold 90 %", false],
    max: ["largest weight", false],
  };
  return p.stats
    .map((name) => ({ name, label: labels[name]?.[0] ?? name, percent: labels[name]?.[1] ?? false }))
    .filter(({ name }) => !Number.isNaN(p.statistic(0, 0, name)) || p.nan_layer !== null);
}

export function describe(p: Picture, layer: number, head: number): string {
  const value = (name: string) => p.statistic(layer, head, name);
  const entropy = value("entropy");
  if (Number.isNaN(entropy)) return "Not a number: this head's attention holds NaN or infinity";
  const places: [string, string][] = [
    ["previous", "the previous token"],
    ["next", "the next token"],
    ["self", "the token itself"],
    ["first", visibleText(p.keyside.tokens[0] ?? "")],
    ["separator", "separators"],
  ];
  const main = places
    .map(([name, words]) => ({ words, share: value(name) }))
    .filter(({ share }) => share >= MENTION)
    .sort((a, b) => b.share - a.share)
    .slice(0, 3)
    .map(({ words, share }, n) => `${Math.round(100 * share)} % ${n === 0 ? "of attention " : ""}to ${words}`);
  const where =
    main.length > 0
      ? main.join(", ")
      : `No place holds ${100 * MENTION} %; 90 % of a row needs ${value("k90").toFixed(1)} keys`;
  return `${where}; entropy ${entropy.toFixed(1)} nats`;
}
