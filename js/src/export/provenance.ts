// Where a figure or table comes from: the same facts below a figure and above a CSV file.
import type { Overview } from "../state/overview";
import type { Facts } from "./csv";

type Origin = Pick<Overview, "model" | "text" | "text_pair" | "changes" | "dtype" | "versions">;

/** Model, text, what is shown (layer, head, measure, filters, as the view says it), versions, date. */
export const facts = (origin: Origin, shown: Facts, now = new Date()): Facts => [
  ["model", `${origin.model} (${origin.dtype})`],
  ...(origin.text ? [["text", origin.text] as Facts[number]] : []),
  ...(origin.text_pair ? [["second text", origin.text_pair] as Facts[number]] : []),
  ...(origin.changes.length > 0 ? [["changed in this run", aboutChanges(origin)] as Facts[number]] : []),
  ...shown,
  [
    "versions",
    Object.entries(origin.versions)
      .map((pair) => pair.join(" "))
      .join(", "),
  ],
  ["date", now.toISOString().slice(0, 10)],
];

const aboutChanges = ({ changes }: Pick<Overview, "changes">) => changes.map(({ about }) => about).join("; ");

/** The facts as the caption of a figure. */
export const captionLines = (list: Facts): string[] => list.map(([name, value]) => `${name}: ${value}`);
