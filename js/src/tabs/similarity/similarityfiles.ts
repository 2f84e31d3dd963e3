// A similarity as files: every pair of units as lines, and the matrix as letters and paths.
import { arrived } from "../../kernel/answers";
import type { Numbers } from "../../parts/picturetable";
import type { View } from "../../state/view";
import { gapWords, splitOf, triedOf } from "./splits";
import { isCheap, questionOf, SPLITS, similarOf, splitNameOf, withoutOf, withSplit } from "./twotexts";

/** Every pair of units, a line each, with its experiment where that is there. */
export async function similarNumbers(view: View): Promise<Numbers> {
  if (!similarOf(view)) throw new Error("nothing is compared yet");
  const similar = await arrived(() => similarOf(view)!);
  const data = await arrived(() => withSplit(view, similar));
  const tried = isCheap(data) && !data.removable ? await arrived(() => withoutOf(view)).catch(() => null) : null;
  const split = splitOf(data, view.page.similarBy.value === "words");
  const { a, b, cells } = split;
  return {
    columns: ["a_index", "a", "b_index", "b", "part", "without_a", "without_b", "without_both", "own"],
    rows: a.flatMap((row, i) =>
      b.map((col, j) => {
        const trial = tried && triedOf(tried, row, col);
        const experiment = trial ? [trial.a, trial.b, trial.both, trial.own] : [null, null, null, null];
        return [row.at[0]!, row.label, col.at[0]!, col.label, cells ? cells[i * b.length + j]! : null, ...experiment];
      }),
    ),
    facts: [
      ["a", data.sides[0].read],
      ["b", data.sides[1].read],
      [data.function, String(data.value)],
      ["split", data.pairs ? `by ${SPLITS[splitNameOf(view, data)!]}: ${gapWords(data)}` : data.why_not],
    ],
  };
}

/** The matrix as a file of letters and paths. */
export async function similarPdf(view: View): Promise<Blob> {
  if (!similarOf(view)) throw new Error("nothing is compared yet");
  const of = splitNameOf(view, await arrived(() => similarOf(view)!));
  if (!of) throw new Error("there is no split to draw");
  const { trace, map } = view.overview;
  const split = { of, words: view.page.similarBy.value === "words" };
  const { buffers } = await view.request("similar_pdf", { trace, map, split, ...questionOf(view) });
  return new Blob([buffers[0] as BlobPart]);
}
