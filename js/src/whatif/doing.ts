// Changing the run from the page: what is asked of the kernel, the steps back, and what can be changed where.

import { cellFacts } from "../compute/neuronsheet";
import type { HeadName } from "../generated/vocabulary";
import { headLabel, plural } from "../paint/format";
import { quotation } from "../paint/quotes";
import { nounOf } from "../parts/nouns";
import { tokenText } from "../parts/token";
import { change } from "../state/changequeue";
import type { Change } from "../state/overview";
import type { View } from "../state/view";
import type { Asked, Doing } from "../state/whatif";

/** Other changes instead of those that there are; the step before is kept. Whether they could be made. */
export async function put(view: View, list: (there: number[]) => Asked[], keep = true): Promise<boolean> {
  const { overview, page, link } = view;
  const { past, colour } = page.whatif;
  const reason = link.kernel.value ? overview.offers.whatif : link.needs.value;
  if (reason) {
    link.say("change", reason);
    return false;
  }
  let previous: number[] = [];
  const noted = (there: number[]) => {
    previous = there;
    return list(there);
  };
  return change(view, noted).then(
    (changes) => {
      const { subject, lists } = past.peek();
      if (keep)
        past.value = { subject: overview.subject, lists: [...(subject === overview.subject ? lists : []), previous] };
      if (colour.peek() === "") colour.value = "moved";
      page.announcement.value = changes.length > 0 ? "the model was changed" : "the model is unchanged again";
      return true;
    },
    () => false, // the link says why
  );
}

/** One step back in the changes, whatever was selected meanwhile. */
export function undo(view: View): void {
  const { past } = view.page.whatif;
  const step = (there: number[]) => {
    const { subject, lists } = past.peek();
    const list = lists.at(-1);
    if (!list || subject !== view.overview.subject) return there.slice(0, -1);
    past.value = { subject, lists: lists.slice(0, -1) };
    return list;
  };
  put(view, step, false);
}

export const reset = (view: View) => put(view, () => []);
export const remove = (view: View, id: number) => put(view, (there) => there.filter((other) => other !== id));
export const add = (view: View, asked: Asked[]) => put(view, (there) => [...there, ...asked]);

const offAt = (changes: Change[], layer: number, head: number) =>
  changes.find(({ off }) => off && off[0] === layer && off[1] === head);

/** A head off, or on again. */
export function toggle(view: View, [layer, head]: HeadName): void {
  put(view, (there) => {
    const off = offAt(view.overview.changes, layer, head);
    return off ? there.filter((id) => id !== off.id) : [...there, ["off", layer, head]];
  });
}

const token = ({ overview }: View, pieces: number[]) =>
  quotation(pieces.map((n) => tokenText(overview.keyside.tokens[n]!)).join(" "));

/** What can be done to a head. */
export function toHead({ overview }: View, [layer, head]: HeadName): Doing[] {
  const name = headLabel(layer, head);
  const isOff = offAt(overview.changes, layer, head) !== undefined;
  return [
    ...(isOff ? [] : [{ label: `${name} off`, asked: [["off", layer, head]], key: "x" }]),
    { label: `${name} says the same to every ${nounOf(overview)}`, asked: [["mean", layer, head]] },
    { label: `${name} looks at all ${plural(nounOf(overview))} alike`, asked: [["uniform", layer, head]] },
    { label: `all heads of L${layer} off`, asked: [["off", layer]] },
    { label: `MLP of L${layer} off`, asked: [["mlp", layer]] },
  ];
}

/** To the cells of some queries and keys, in the head shown. */
export function toCell(view: View, queries: number[], keys: number[]): Doing[] {
  const { layer, head } = view.shownHead;
  const name = `${token(view, queries)} → ${token(view, keys)} cut`;
  const cells = (of: number | null) => queries.flatMap((q) => keys.map((k): Asked => ["cut", layer, of, q, k]));
  return [
    { label: `${name} in ${headLabel(layer, head)}`, asked: cells(head), key: "x" },
    { label: `${name} in all heads of L${layer}`, asked: cells(null) },
  ];
}

export const toToken = (view: View, pieces: number[]): Doing[] => [
  { label: `${token(view, pieces)} hidden from all heads`, asked: pieces.map((n): Asked => ["hide", n]), key: "x" },
];

export function toNeuron({ shownHead }: View, n: number): Doing[] {
  const { layer, head } = shownHead;
  return [{ label: `neuron ${n} of ${headLabel(layer, head)} off`, asked: [["neuron", layer, head, n]] }];
}

/** What can be done to what is selected. */
export function toSelected(view: View): Doing[] {
  const { shownHead, synced, focus, row, col, grid } = view;
  const cell = row !== null && col !== null ? toCell(view, grid.rows[row]!.pieces, grid.cols[col]!.pieces) : [];
  const pinned = [...(col === null ? [] : [grid.cols[col]!.pieces]), ...(row === null ? [] : [grid.rows[row]!.pieces])];
  const tokens = [...new Map(pinned.map((pieces) => [String(pieces), pieces])).values()];
  const neuron = () => {
    const { terms } = cellFacts(shownHead.slice, focus.query, focus.key);
    return terms.reduce((best, part, n) => (Math.abs(part) > Math.abs(terms[best]!) ? n : best), 0);
  };
  return [
    ...toHead(view, [synced.layer.value, synced.head.value]),
    ...cell.map((one) => ({ ...one, key: undefined })),
    ...tokens.flatMap((pieces) => toToken(view, pieces)).map((one) => ({ ...one, key: undefined })),
    ...(shownHead.slice.q ? toNeuron(view, neuron()) : []),
  ];
}

/** What can be done to what is under the pointer, or has the focus; null where nothing can. */
export function toElement(view: View, element: Element, pointed: boolean): Doing[] | null {
  const head = element.closest<HTMLElement>("[data-head]")?.dataset.head;
  if (head) return toHead(view, head.split("-").map(Number) as HeadName);
  const tokens = element.closest<HTMLElement>("[data-tokens]")?.dataset.tokens;
  if (tokens) return toToken(view, tokens.split(",").map(Number));
  const neuron = element.closest<HTMLElement>("[data-neuron]")?.dataset.neuron;
  if (neuron) return toNeuron(view, Number(neuron));
  if (!element.closest(".bl-cells") || view.shownHead.layerMap) return null;
  const at = pointed ? view.page.hover.peek() : view.page.cursor.peek();
  const [row, col] = [view.grid.rows[at?.row ?? -1], view.grid.cols[at?.col ?? -1]];
  return row && col
    ? [...toCell(view, row.pieces, col.pieces), ...toToken(view, col.pieces).map((one) => ({ ...one, key: undefined }))]
    : null;
}
