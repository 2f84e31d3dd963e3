// What heads can be found by: each question in words, the field's term beside it, and the order or filter that answers it.

import { GATES, STATISTICS } from "../generated/vocabulary";
import { plural } from "../paint/format";
import { quotation } from "../paint/quotes";
import { nounOf, separatorNames } from "../parts/nouns";
import { statistics } from "../parts/phrasing";
import { tokenQuote, tokenWord } from "../parts/token";
import { metricOf } from "../state/effects";
import type { View } from "../state/view";
import { labelOf } from "./headvalues";

export interface HeadQuestion {
  name: string; // of the order, "gate:…" of a filter, "matters" of a colour
  label: string; // after "Find heads that …"
  term: string; // as the field says it
  about: string;
  group: "Pinned" | "Pattern" | "Kind of head" | "What if";
  needs: string; // what has to be pinned first, "" where nothing is missing
  count?: number; // heads of this kind
}

const EFFECTS = ["moved", "matters"]; // of a change

/** A question about weights, asked of the measure that is shown. */
function asMeasured({ shownHead: { measure } }: View, label: string): string {
  if (measure === "weight") return label;
  if (measure === "difference") return `${label}, more by weight than by norm`;
  const phrase = label.replace(/^(look at|rest on|stay in)/, "take from");
  return phrase === label ? `${label}, by norm` : phrase;
}

/** Of the cell, row and token that are pinned, or what to pin for them. */
function pinned(view: View): HeadQuestion[] {
  const { grid, row, col, overview, shownHead } = view;
  const noun = nounOf(overview);
  const [query, key] = [grid.rows[row ?? -1], grid.cols[col ?? -1]];
  const [it, that] = [query, key].map((unit) => (unit ? tokenQuote(unit.label) : `a ${noun}`));
  const byNorm = shownHead.measure === "norm";
  const question = (name: string, label: string, about: string, needs: string): HeadQuestion => ({
    ...{ name, label, about, needs, group: "Pinned" },
    term: labelOf(view, name),
  });
  const noQuery = query ? "" : `click a ${noun} at the left first`;
  const cell =
    query && key ? `${that} ${byNorm ? "for" : "from"} ${it}` : `a ${noun} ${byNorm ? "for" : "from"} another`;
  const contrast = question(
    "contrast",
    `take from other ${plural(noun)} than ${query ? it : "one"} looks at`,
    `Largest first: the share of the pinned ${noun}'s row that lies elsewhere by norm than by weight.`,
    noQuery,
  );
  return [
    question(
      "cell",
      asMeasured(view, `look at ${cell}`),
      "Largest first: the pinned cell in every head.",
      query && key ? "" : "click a cell first",
    ),
    question(
      "token",
      asMeasured(view, `look at ${key ? that : `one ${noun}`}`),
      `Largest first: what the pinned ${noun} gets of all ${plural(noun)}, mean.`,
      key ? "" : `click a ${noun} at the top first`,
    ),
    question(
      "row",
      asMeasured(view, `are sharp at ${it}`),
      `Sharpest first: the entropy of the pinned ${noun}'s row.`,
      noQuery,
    ),
    ...(overview.measures.includes("norm") ? [contrast] : []),
  ];
}

/** A statistic in words, with this text's own special tokens. */
function wordsOf(view: View, name: string): string {
  const { overview } = view;
  const { finds, label } = STATISTICS[name] ?? { finds: "", label: name.replaceAll("_", " ") };
  if (name === "variation") return finds;
  const noun = nounOf(overview);
  const words = finds
    .replace("{first}", tokenWord(overview.keyside.tokens[0] ?? ""))
    .replace("{separator}", separatorNames(overview.keyside))
    .replace(/\bword(s?)\b/, (_, several) => (name === "same_word" ? "word" : plural(noun, several ? 2 : 1)));
  return asMeasured(view, words || `have much of ${quotation(label)}`);
}

function gateWords(name: string): string {
  if (name === "undefined") return "have no kind here";
  return name === "mixed" ? "are of no one kind (mixed)" : `are ${name}`;
}

/** `number`: of the answer, whose change it is. */
const matters = (number: string): typeof MOVED => ({
  label: "matter to the answer",
  ordered: `raise ${number} most when off`,
  term: "ablation",
  about: `how much ${number} changes without each head alone`,
});
const MOVED = {
  label: "look elsewhere now",
  ordered: "look elsewhere most",
  term: "Jensen-Shannon",
  about: "how far a head's rows moved from the model's own run",
};

/** What a change does to heads: as colours of the heads in their places, and as their order. */
const effect = (name: string, { label, ordered, term, about }: typeof MOVED): HeadQuestion[] => [
  { name, label, term, about: `As colours: ${about}.`, group: "What if", needs: "" },
  {
    name: `order:${name}`,
    label: ordered,
    term: "in order",
    about: `Largest first: ${about}.`,
    group: "What if",
    needs: "",
  },
];

/** All that can be asked of the heads of this text. `counts`: heads of each gate, once they are known. */
export function headQuestions(view: View, counts: Record<string, number>): HeadQuestion[] {
  const { overview, page } = view;
  const names = [...statistics(overview), ...(overview.measures.includes("norm") ? ["variation"] : [])];
  const metric = metricOf(view);
  const isAsked = page.whatif.colour.value === "matters";
  return [
    ...pinned(view),
    ...names.map(
      (name): HeadQuestion => ({
        ...{ name, label: wordsOf(view, name), term: labelOf(view, name), group: "Pattern", needs: "" },
        about: `Largest first. ${STATISTICS[name]?.about ?? ""}`,
      }),
    ),
    ...Object.entries(counts).map(
      ([name, count]): HeadQuestion => ({
        ...{ name: `gate:${name}`, label: gateWords(name), term: "gate", group: "Kind of head", needs: "", count },
        about: `${GATES[name]?.about ?? ""} The other heads step back. Name after Bonino et al. 2025, score bertlens’ own.`,
      }),
    ),
    ...(Object.keys(counts).some((name) => name !== "undefined")
      ? [
          {
            ...{ name: "gate", label: "are of the same kind, in groups", term: "gate", needs: "" },
            ...{ group: "Kind of head" as const, about: "Heads of one gate together, the clearest first." },
          },
        ]
      : []),
    ...(metric || isAsked ? effect("matters", matters(metric?.label ?? "the answer")) : []),
    ...(overview.changes.length > 0 ? effect("moved", MOVED) : []),
  ];
}

/** Which of them is asked now: an order, the filter by a gate, or the colours of what matters; "" for none. */
export function askedNow({ page, overview }: View): string {
  const { atlasOrder, gateFilter, whatif } = page;
  const order = atlasOrder.value;
  if (EFFECTS.includes(order)) return `order:${order}`;
  if (order !== "position") return order;
  if (gateFilter.value) return `gate:${gateFilter.value}`;
  const { value } = whatif.colour;
  return value === "matters" || (value === "moved" && overview.changes.length > 0) ? value : "";
}

/** Ask one of them instead of what was asked before; "" puts the heads back in their places. */
export function askHeads({ page }: View, name: string): void {
  const { atlasOrder, gateFilter, whatif, atlasMinimum } = page;
  const isGate = name.startsWith("gate:");
  const order = name.replace("order:", "");
  if (name === "") atlasMinimum.value = 0;
  gateFilter.value = isGate ? name.slice(5) : "";
  atlasOrder.value = isGate || name === "" || EFFECTS.includes(name) ? "position" : order;
  if (name === "" || EFFECTS.includes(order)) whatif.colour.value = order as "" | "moved" | "matters";
}
