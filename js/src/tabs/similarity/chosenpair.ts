// The pair of words that is chosen, and how pairs are said.
import { signed } from "../../paint/format";
import { tokenWord } from "../../parts/token";
import type { View } from "../../state/view";
import { pairAt, type Split } from "./splits";
import type { Similar } from "./twotexts";

export interface Place {
  a: number;
  b: number;
}

/** The pair that is chosen, and what the pictures say and do about pairs. */
export interface ChosenPair {
  pair: Place | null;
  template: string; // what is not the texts' own
  words(pair: Place | null): string;
  choose(pair: Place): void;
}

/** The chosen pair, at first the largest. */
export function chosenOf({ page }: View, data: Similar, split: Split, first: Place | null, digits: number): ChosenPair {
  const { a, b, cells } = split;
  const total = signed(data.terms?.[0]?.[1] ?? data.value, digits);
  const templates = [a, b].flatMap((units, n) =>
    units
      .filter(({ own }) => !own)
      .map(({ label, at }) => (data.sides[n]!.special[at[0]!] || label === "bias" ? label : "the prompt")),
  );
  return {
    pair: pairAt(split, page.similarPair.value) ?? first,
    template: [...new Set(templates)].slice(0, 4).join(" "),
    words: (pair) => {
      if (!pair) return "";
      const names = `${tokenWord(a[pair.a]!.label)} – ${tokenWord(b[pair.b]!.label)}`;
      return cells ? `${names}: ${signed(cells[pair.a * b.length + pair.b]!, digits)} of ${total}` : names;
    },
    choose: (pair) => {
      page.similarPair.value = [a[pair.a]!.at[0]!, b[pair.b]!.at[0]!];
    },
  };
}
