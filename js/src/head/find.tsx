// Find a token by its text or its place, and pin it.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { Unit } from "../compute/grid";
import { tokenText } from "../parts/token";
import { useView } from "../state/view";
import { pinCell } from "./scale";

export const FIND_FROM = 40; // tokens from which the field stands beside the head
const [ABOVE, BESIDE] = [80, 96]; // px that labels cover of a frame that scrolls

/** A text as tokenizers that drop capitals and marks write it. */
const plain = (text: string) =>
  text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{Mn}/gu, "")
    .normalize("NFC")
    .replaceAll("ı", "i");

/**
 * The places of the units that are meant: a number is a place, else what equals the text, then what holds it; where
 * none does, the same without marks.
 */
export function matches(units: Unit[], wanted: string): number[] {
  const text = wanted.trim().toLowerCase();
  if (text === "") return [];
  const labels = units.map(({ label }) => tokenText(label).toLowerCase());
  const placesOf = (words: string[], word: string) => [
    ...words.flatMap((label, n) => (label === word ? [n] : [])),
    ...words.flatMap((label, n) => (label.includes(word) ? [n] : [])),
  ];
  const place = /^#?\d+$/.test(text) ? Number(text.replace("#", "")) : -1;
  const at = units.findIndex(({ pieces }) => pieces.includes(place));
  const places = [...(at < 0 ? [] : [at]), ...placesOf(labels, text)];
  return [...new Set(places.length > 0 || plain(text) === "" ? places : placesOf(labels.map(plain), plain(text)))];
}

/** Bring what is pinned into its own frame; the page itself is not moved. */
function reveal(root: Element | null): void {
  for (const label of root?.querySelectorAll(".bl-head .bl-scroll .bl-pinned") ?? []) {
    const frame = label.closest(".bl-scroll")!;
    const [box, at] = [frame.getBoundingClientRect(), label.getBoundingClientRect()];
    if (at.top < box.top + ABOVE || at.bottom > box.bottom) frame.scrollTop += at.top - (box.top + box.bottom) / 2;
    if (at.left < box.left + BESIDE || at.right > box.right) {
      if (label.matches(".bl-col-label")) frame.scrollLeft += at.left - (box.left + box.right) / 2;
    }
  }
}

export function Find() {
  const view = useView();
  useSignalEffect(() => {
    if (view.row === null && view.col === null) return;
    const frame = requestAnimationFrame(() => reveal(view.root.current));
    return () => cancelAnimationFrame(frame);
  });
  const { grid, page } = view;
  const text = useSignal("");
  const went = useSignal({ text: "", n: -1 }); // the match that the last Enter led to
  const matching = (units: Unit[]) => matches(units, text.value);
  const count = Math.max(matching(grid.rows).length, matching(grid.cols).length);
  const go = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const isKey = event.ctrlKey || event.metaKey;
    const places = matching(isKey ? grid.cols : grid.rows);
    if (places.length === 0) return;
    const step = event.shiftKey ? -1 : 1;
    const n = went.value.text === text.value ? (went.value.n + step + places.length) % places.length : 0;
    went.value = { text: text.value, n };
    const [row, col] = isKey ? [view.row, places[n]!] : [places[n]!, view.col];
    if (view.row !== row || view.col !== col) pinCell(view, row, col); // a second time would unpin it
    page.announcement.value = `${n + 1} of ${places.length}`;
  };
  const n = went.value.text === text.value ? went.value.n + 1 : 0;
  return (
    <label class="bl-group bl-find">
      <input
        type="search"
        placeholder="find token"
        aria-label="Find a token"
        aria-invalid={text.value.trim() !== "" && count === 0}
        title="A token's text or its place; Enter pins it as the query, again goes to the next, with Shift to the one before, with Ctrl it is the key"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={go}
      />
      <output class="bl-muted bl-number">{text.value.trim() && (count === 0 ? "none" : `${n}/${count}`)}</output>
    </label>
  );
}
