// The numbers of the neuron view: what it paints, and what its table and its file hold.
import type { Slice } from "../../compute/attention";
import { addedAt, cellFacts, type NeuronSheet, neuronSheet } from "../../compute/neuronsheet";
import { scalingText } from "../../paint/format";
import { distinct, type Figures, type Numbers } from "../../parts/picturetable";
import type { View } from "../../state/view";

/** The sheet as the view's choices ask for it; also what an export prints. */
export function sheetOf({ page, shownHead, grid, focus }: View): NeuronSheet {
  return neuronSheet(shownHead.slice, cellFacts(shownHead.slice, focus.query, focus.key), {
    neurons: page.neuronOrder.value,
    keys: page.keyOrder.value,
    all: page.allKeys.value,
    left: grid.cols.flatMap((unit) => unit.pieces),
  });
}

/** Above the scores: what they are made of. */
export const scoreHead = ({ scaling, terms }: Slice): string =>
  `q·k ${scalingText(scaling)}${terms.length > 0 ? " + …" : ""}`; // the terms are named above the columns

/** Tokens as units of a list. */
export const unitsOf = (tokens: string[]) => tokens.map((label) => ({ label }));

export interface SheetProps {
  sheet: NeuronSheet;
}

const MOST_KEYS = 12; // whose columns a table has

/** A row for each neuron: q, its part of the contrast, k and q × k of the keys listed. */
export function neuronTable(sheet: NeuronSheet, { keyside }: View["overview"]): Figures {
  const [d, keys] = [sheet.neurons.length, sheet.keys.slice(0, MOST_KEYS)];
  const names = distinct(keyside.tokens);
  const column = (values: Float32Array, c: number) => keys.map((_, row) => values[row * d + c]!);
  return {
    columns: [
      ...["neuron", "q", `contrast to ${names[sheet.key]}`, "carries 80 %"],
      ...keys.map((j) => `k ${names[j]}`),
      ...keys.map((j) => `q × k ${names[j]}`),
    ],
    rows: sheet.neurons.map((n, c) => [
      ...[`neuron ${n}`, sheet.q[n]!, sheet.terms[n]!, sheet.marked[c] ? "yes" : "no"],
      ...column(sheet.kShown, c),
      ...column(sheet.productsShown, c),
    ]),
    about: keys.length < sheet.keys.length ? `the first ${keys.length} of ${sheet.keys.length} keys listed` : "",
  };
}

/** The neurons of the query and of the keys that are listed. */
export function neuronNumbers(view: View): Numbers {
  const { slice, overview } = view.shownHead;
  const { query, keys, neurons, q, scores, alpha } = sheetOf(view);
  const k = (j: number, n: number) => slice.k![j * slice.d + n]!;
  return {
    columns: [
      "key_index",
      "key",
      "score",
      ...slice.terms.map(({ name }) => name),
      "attention",
      "neuron",
      "q",
      "k",
      "product",
    ],
    rows: keys.flatMap((j) => {
      const beside = slice.terms.map((_, n) => addedAt(slice, query, j)[n]?.value ?? null);
      const key = [j, overview.keyside.tokens[j]!, scores[j]!, ...beside, alpha[j]!];
      return neurons.map((n) => [...key, n, q[n]!, k(j, n), q[n]! * k(j, n)]);
    }),
    facts: [["query", `${query} ${overview.queries.tokens[query]}`]],
  };
}
