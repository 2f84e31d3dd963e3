// A similarity as files: every pair of units or tokens as lines, and the matrix as letters and paths.
import { arrived } from "../../kernel/answers";
import type { Numbers } from "../../parts/picturetable";
import type { View } from "../../state/view";
import { KINDS, lateSplit, sumWords } from "./maxsim";
import { gapWords, splitOf, triedOf } from "./splits";
import * as twotexts from "./twotexts";

type Similar = twotexts.Similar;

/** Both texts, once they are here. */
function similarAt(view: View): Promise<Similar> {
  if (!twotexts.similarOf(view)) throw new Error("nothing is compared yet");
  return arrived(() => twotexts.similarOf(view)!);
}

/** Both texts and their number. */
export function pairFacts(view: View): [name: string, words: string][] {
  const answer = twotexts.similarOf(view);
  if (answer?.state !== "answered") return [];
  const { sides, value } = answer.value;
  return [...sides.map(({ read }, n): [string, string] => ["ab"[n]!, read]), [answer.value.function, String(value)]];
}

/** Every pair of units, or of tokens that are scored, a line each. */
export async function pairNumbers(view: View): Promise<Numbers> {
  const data = await similarAt(view);
  const { columns, rows, facts = [] } = data.late ? tokenNumbers(data, data.late) : await unitNumbers(view, data);
  return { columns, rows, facts: [...pairFacts(view), ...facts] };
}

/** With the experiment on a pair where that is there. */
async function unitNumbers(view: View, similar: Similar): Promise<Numbers> {
  const data = await arrived(() => twotexts.withSplit(view, similar));
  const isTried = twotexts.isCheap(data) && !data.removable;
  const tried = isTried ? await arrived(() => twotexts.withoutOf(view)).catch(() => null) : null;
  const { a, b, cells } = splitOf(data, view.page.similarBy.value === "words");
  const isSparse = data.vocabulary !== undefined;
  const name =
    data.pairs && (isSparse ? "tokens that made the weights" : twotexts.SPLITS[twotexts.splitNameOf(view, data)!]);
  return {
    columns: ["a_index", "a", "b_index", "b", "part", "without_a", "without_b", "without_both", "own"],
    rows: a.flatMap((row, i) =>
      b.map((col, j) => {
        const trial = tried && triedOf(tried, row, col);
        const experiment = trial ? [trial.a, trial.b, trial.both, trial.own] : [null, null, null, null];
        return [row.at[0]!, row.label, col.at[0]!, col.label, cells ? cells[i * b.length + j]! : null, ...experiment];
      }),
    ),
    facts: [["split", name ? `by ${name}: ${gapWords(data)}` : data.why_not]],
  };
}

function tokenNumbers(data: Similar, late: twotexts.Late): Numbers {
  const { a, b, cells } = lateSplit(data, late);
  return {
    columns: ["a_index", "a", "kind", "b_index", "b", "product", "best", "part"],
    rows: a.flatMap((row, i) =>
      b.map((col, j) => {
        const at = i * b.length + j;
        const kind = KINDS[late.kinds[0][row.at[0]!]!];
        const isBest = late.best[i] === j ? 1 : 0;
        return [row.at[0]!, row.label, kind, col.at[0]!, col.label, data.pairs!.data[at]!, isBest, cells[at]!];
      }),
    ),
    facts: [["parts", sumWords(data, late)]],
  };
}

/** The matrix as letters and paths; of late interaction the parts, the maxima ringed. */
export async function pairPdf(view: View): Promise<Blob> {
  const data = await similarAt(view);
  const of = data.late ? "output" : twotexts.splitNameOf(view, data);
  if (!of) throw new Error("there is no split to draw");
  const { trace, map } = view.overview;
  const split = { of, words: !data.late && view.page.similarBy.value === "words" };
  const { buffers } = await view.request("similar_pdf", { trace, map, split, ...twotexts.questionOf(view) });
  return new Blob([buffers[0] as BlobPart]);
}
