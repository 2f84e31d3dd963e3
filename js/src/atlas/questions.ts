// What heads can be found by: each question in words, the field's term beside it, and the order or filter that answers it.

import { GATES, STATISTICS } from "../generated/vocabulary";
import { statistics } from "../parts/sentence";
import { tokenText } from "../parts/token";
import { answersOf } from "../state/effects";
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

const short = (text: string | undefined) => tokenText(text ?? "");

/** Of the cell, row and token that are pinned, or what to pin for them. */
function pinned(view: View): HeadQuestion[] {
  const { grid, row, col, overview } = view;
  const [query, key] = [grid.rows[row ?? -1]?.label, grid.cols[col ?? -1]?.label];
  const norms = overview.measures.includes("norm");
  const question = (name: string, label: string, about: string, needs: string): HeadQuestion => ({
    ...{ name, label, about, needs, group: "Pinned" },
    term: labelOf(view, name),
  });
  const [it, that] = [query === undefined ? "a word" : short(query), key === undefined ? "a word" : short(key)];
  const [noQuery, noKey] = [query === undefined, key === undefined];
  return [
    question(
      "cell",
      noQuery || noKey ? "look at a word from another" : `look at “${that}” from “${it}”`,
      "Largest first: the pinned cell in every head.",
      noQuery || noKey ? "click a cell first" : "",
    ),
    question(
      "token",
      noKey ? "look at one word" : `look at “${that}”`,
      "Largest first: what the pinned word gets of all words, mean.",
      noKey ? "click a word at the top first" : "",
    ),
    question(
      "row",
      noQuery ? "are sharp at a word" : `are sharp at “${it}”`,
      "Sharpest first: the entropy of the pinned word's row.",
      noQuery ? "click a word at the left first" : "",
    ),
    ...(norms
      ? [
          question(
            "contrast",
            noQuery ? "take from other words than one looks at" : `take from other words than “${it}” looks at`,
            "Largest first: the share of the pinned word's row that lies elsewhere by norm than by weight.",
            noQuery ? "click a word at the left first" : "",
          ),
        ]
      : []),
  ];
}

/** A statistic in words, with this text's own special tokens. */
function wordsOf({ overview: { keyside } }: View, name: string): string {
  const separators = keyside.tokens.filter((_, j) => keyside.special[j] && j > 0);
  const finds = STATISTICS[name]?.finds || `have much of “${STATISTICS[name]?.label ?? name.replaceAll("_", " ")}”`;
  return finds
    .replace("{first}", short(keyside.tokens[0]))
    .replace("{separator}", short(separators.at(-1)) || "separators");
}

const GATE_WORDS = (name: string) =>
  name === "mixed" ? "are of no one kind (mixed)" : name === "undefined" ? "have no kind here" : `are ${name}`;

const MATTERS = {
  label: "matter to the answer",
  ordered: "raise the answer most when off",
  term: "ablation",
  about: "how much the answer changes without each head alone",
};
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
  const answer = answersOf(view);
  const metrics = answer.state === "answered" ? answer.value.metrics.length : 0;
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
        ...{ name: `gate:${name}`, label: GATE_WORDS(name), term: "gate", group: "Kind of head", needs: "", count },
        about: `${GATES[name]?.about ?? ""} The other heads step back. Name after Bonino et al. 2025, score bertlens’ own.`,
      }),
    ),
    ...(Object.keys(counts).some((name) => name !== "undefined")
      ? [
          {
            ...{ name: "gate", label: "are of one kind, kind by kind", term: "gate", needs: "" },
            ...{ group: "Kind of head" as const, about: "Heads of one gate together, the clearest first." },
          },
        ]
      : []),
    ...(metrics > 0 || isAsked ? effect("matters", MATTERS) : []),
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
