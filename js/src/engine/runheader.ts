// The overview of a run that a page made, as bertlens/widgets/overview.py makes it of a trace; what is of the model and not
// of the text is taken from the overview that the page carries.

import * as phrases from "../generated/phrases";
import { NEEDS_PYTHON } from "../kernel/needs";
import { isolate } from "../paint/quotes";
import type { Fields } from "./chips";
import type { Encoded, Vocabulary } from "./tokenizer";
import { scriptsWithoutBlanks } from "./wordnumbers";

const OFFERED = ["neurons", "norms", "gates", "whatif", "sources"]; // of the capabilities
const TABS = ["neurons", "why", "matter", "norms", "gates", "compare", "table"]; // that are open: a part of one may say that it needs Python

/** What became of the input, as bertlens/widgets/badges.py says it. */
function badges(
  { pieces, special, ids, literal }: Encoded,
  { unknown, specials, mask }: Vocabulary,
  text: string,
): Fields[] {
  const tokens = pieces.map((token, at) => ({ token, at, id: ids[at]! })).filter(({ at }) => !special[at]);
  const isLost = ({ id, at }: { id: number; at: number }) => id === unknown && !literal[at];
  const lost = tokens.filter(isLost);
  const typed = tokens.filter((one) => !isLost(one) && specials.includes(one.id));
  const notices: Fields[] = [];
  const add = (kind: string, label: string, detail: string, severity = "warning") =>
    notices.push({ kind, label, detail, severity });
  if (tokens.length === 0) add("empty", phrases.NO_TEXT, `${phrases.NO_TEXT_ABOUT}.`);
  if (lost.length > 0) {
    const where = lost.slice(0, 8).map(({ at }) => `position ${at}`);
    add("unknown", phrases.UNKNOWN({ count: lost.length }), phrases.UNKNOWN_ABOUT({ places: where.join(", ") }));
  }
  if (typed.length > 0) {
    const where = typed.map(({ token, at }) => `${isolate(token)} at ${at}`).join(", ");
    const meant = typed.every(({ token }) => token === mask);
    add("typed", phrases.TYPED, phrases.TYPED_ABOUT({ places: where }), meant ? "info" : "warning");
  }
  const scripts = scriptsWithoutBlanks(text).join(" and ");
  if (scripts) add("without_blanks", phrases.WITHOUT_BLANKS, `${phrases.WITHOUT_BLANKS_ABOUT({ scripts })}.`, "info");
  return notices;
}

interface Tab {
  name: string;
  why_not: string | null;
}

/** The header, without what is of the run: arrays, head, changes, names. */
export function headerOf(
  template: Fields,
  encoded: Encoded,
  [text, pair]: [string, string],
  vocabulary: Vocabulary,
  digits: string,
): Fields {
  const { tokens, pieces, words, segments, special } = encoded;
  const { lens } = template.made as { lens: string };
  const tab = (one: Tab): Tab => ({
    ...one,
    why_not: one.why_not === null || TABS.includes(one.name) ? one.why_not : NEEDS_PYTHON,
  });
  const offered = Object.entries(template.offers as Fields).map(([name, reason]) => [
    name,
    OFFERED.includes(name) ? reason : NEEDS_PYTHON,
  ]);
  const note = `${tokens.length} token${tokens.length === 1 ? "" : "s"}, run in this page. ${digits}`;
  return {
    ...template,
    ...{ text, text_pair: pair, pair: pair !== "", keys: null, spans: [], pending: [], nan_layer: null },
    queries: { ...(template.queries as Fields), tokens, pieces, words, segments, special: special.map(Number) },
    badges: [
      ...badges(encoded, vocabulary, `${text}\n${pair}`),
      { kind: "live", label: "run in this page", detail: note, severity: "info" },
    ],
    ...{ layer_maps: [], offers: Object.fromEntries(offered) },
    tabs: (template.tabs as Tab[]).map(tab),
    made: { lens, trace: `lens.trace(text${pair ? ", text_pair" : ""})` },
    ...{ answers: undefined, patches: undefined, compared: undefined, similar: undefined },
  };
}
