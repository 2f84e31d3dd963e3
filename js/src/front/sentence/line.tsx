// One text of the sentence: a field, and under it the same text in words that are buttons.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Unit } from "../../compute/grid";
import { textProps } from "../../paint/textprops";
import { tokenText } from "../../parts/token";
import { textsName } from "../../state/frontstate";
import { useView, type View } from "../../state/view";
import type { Field, useTyped } from "./field";
import { widthOf } from "./lettering";
import { movedPlaces, type Place } from "./wordplaces";
import { MASK, type TextLine, type Words } from "./wordrow";

const LABELS = ["Sentence A", "Sentence B, optional"];
export const LABEL_BELOW = "Sentence below";
const HINTS = ["a sentence", "a second sentence (optional)"];
export const taps = { count: 0 }; // touches, in all views of the document

/** Characters that turn the writing direction of what stands beside them, each seen as one sign. */
const seenText = (text: string) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

/** A text in pieces: words by their number, and what stands between them. */
function piecesOf(
  text: string,
  places: (Place | null)[],
  cursor: number,
): { text: string; start: number; word?: number }[] {
  const words = places.flatMap((place, word) => (place ? [{ ...place, word }] : [])).sort((a, b) => a.start - b.start);
  const pieces: { text: string; start: number; word?: number }[] = [];
  for (const { start, end, word } of words) {
    if (start < cursor) continue;
    if (start > cursor) pieces.push({ text: text.slice(cursor, start), start: cursor });
    pieces.push({ text: text.slice(start, end), start, word });
    cursor = end;
  }
  if (cursor < text.length || text === "") pieces.push({ text: text.slice(cursor), start: cursor });
  return pieces;
}

/** The letters that stood in the slot of a hidden word, and how large they fit it. */
function ghostOf({ page, overview }: View, slot: Unit, label: string, mirror: HTMLElement) {
  const hidden = page.front.hidden.value[textsName(overview.text, overview.text_pair)];
  const letters = hidden?.letters[slot.pieces[0]! - hidden.at];
  if (letters === undefined) return null;
  const family = getComputedStyle(mirror).fontFamily;
  return { letters, fit: Math.min(1, widthOf(label, family) / (widthOf(letters, family) || 1)) };
}

/** The character of a text at a point, by the nearest of its mirror's words; its end where there is none. */
function characterAt(mirror: HTMLElement, x: number, y: number, length: number): number {
  const root = mirror.getRootNode() as Document | ShadowRoot;
  const page = mirror.ownerDocument as Document & {
    caretPositionFromPoint?: (x: number, y: number, options?: object) => { offsetNode: Node; offset: number } | null;
  };
  const options = "host" in root ? { shadowRoots: [root] } : undefined;
  const caret = page.caretPositionFromPoint?.(x, y, options);
  const range = caret ? null : page.caretRangeFromPoint?.(x, y);
  const [node, offset] = caret ? [caret.offsetNode, caret.offset] : [range?.startContainer, range?.startOffset ?? 0];
  const holder = node?.parentElement?.closest<HTMLElement>("[data-start]");
  if (holder && mirror.contains(holder)) return Math.min(length, Number(holder.dataset.start) + offset);
  const spans = [...mirror.querySelectorAll<HTMLElement>("[data-start]")];
  const distance = (span: HTMLElement) => {
    const { left, right, top, bottom } = span.getBoundingClientRect();
    return Math.abs(x - (left + right) / 2) + 4 * Math.abs(y - (top + bottom) / 2);
  };
  const nearest = spans.sort((a, b) => distance(a) - distance(b))[0];
  return nearest ? Number(nearest.dataset.start) + nearest.textContent!.length : length;
}

interface LineProps {
  n: number;
  line: TextLine;
  field: Field;
  words: Words;
  marks: (word: number) => { class: string; style?: Record<string, string> };
  stop: number; // word that the Tab key leads to
  pinned: number | null;
  disabled: boolean;
  focus: boolean; // at once
  typed: ReturnType<typeof useTyped>;
  go: () => void; // runs what the fields hold
  change: (word: number) => void; // selects it
  part: Place | null; // of a long text: what of it is in sight
  label?: string;
}

/** One text: a field that is all transparent but for its caret, over words that say the same. */
export function Line({
  n,
  line,
  field,
  words,
  marks,
  stop,
  pinned,
  disabled,
  focus,
  typed,
  go,
  change,
  part,
  label = LABELS[n],
}: LineProps) {
  const view = useView();
  const area = useRef<HTMLTextAreaElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  const { typing } = typed;
  const text = field.value.value;
  useLayoutEffect(() => {
    if (focus) area.current!.focus(); // a browser heeds `autofocus` only until something had the focus
  }, []);
  const content = disabled && text === "" ? line.text : text;
  const [start, end] = [part?.start ?? 0, part?.end ?? content.length];
  const places = movedPlaces(line.places, line.text, content).map((place) =>
    place && place.start >= start && place.end <= end ? place : null,
  );
  const laid = textProps(content);
  const origin = useRef(text); // as it was before it was written in
  const edit = (at: number) => {
    taps.count++;
    area.current!.focus();
    area.current!.setSelectionRange(at, at);
  };
  const wordProps = (word: number) => ({
    "data-n": word,
    "data-piece": words.units[word]!.pieces[0],
    role: "button" as const,
    tabIndex: word === stop ? 0 : -1,
    "aria-pressed": word === pinned,
    "aria-describedby": view.page.front.claimId,
    ...marks(word),
  });
  const chips = (list: number[]) =>
    list.map((word) => {
      const { class: name, ...rest } = wordProps(word);
      return (
        <span key={word} dir="ltr" {...rest} class={`bl-chipmark ${name}`}>
          {tokenText(words.units[word]!.label.replace(/^(\[|<\|)|(\]|\|>)$/g, ""))}
        </span>
      );
    });
  return (
    <div class={`bl-textline${part ? " bl-part" : ""}`} {...laid}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the field above it takes the keys; the words are buttons */}
      <div
        ref={mirror}
        class="bl-mirror"
        data-line={n}
        onClick={({ target, clientX, clientY, detail }) => {
          const isWord = (target as Element).closest("[data-n]");
          if (disabled || (isWord && detail < 3)) return;
          edit(characterAt(mirror.current!, clientX, clientY, content.length));
        }}
        onKeyDown={(event) => {
          const word = (event.target as Element).closest<HTMLElement>("[data-start]");
          const isLetter =
            event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
          if (disabled || !isLetter) return;
          if (word?.dataset.n)
            change(Number(word.dataset.n)); // the letter takes its place
          else edit(content.length);
        }}
      >
        {start > 0 ? "… " : chips(line.before)}
        {piecesOf(content.slice(0, end), places, start).map(({ text, start, word }) => {
          if (word === undefined) {
            return (
              <span key={`-${start}`} data-start={start}>
                {seenText(text)}
              </span>
            );
          }
          const unit = words.units[word]!;
          const isMask = MASK.test(unit.label);
          const ghost = isMask && mirror.current ? ghostOf(view, unit, text, mirror.current) : null;
          const { class: name, ...rest } = wordProps(word);
          return (
            <span
              key={word}
              data-start={start}
              {...rest}
              style={ghost ? { ...rest.style, "--fit": ghost.fit } : rest.style}
              class={`bl-textword${isMask ? " bl-mask" : ""}${ghost ? " bl-ghost" : ""} ${name}`}
              data-label={isMask ? (ghost?.letters ?? text) : undefined}
            >
              {seenText(text)}
            </span>
          );
        })}
        {"\u200b"}
        {end < content.length ? " …" : <span class="bl-after">{chips(line.after)}</span>}
      </div>
      <textarea
        ref={area}
        rows={1}
        aria-label={label}
        aria-describedby={view.page.front.claimId}
        placeholder={HINTS[n]}
        value={content}
        disabled={disabled}
        title={disabled ? view.link.needs.value : undefined}
        {...laid}
        spellcheck={false}
        autocomplete="off"
        onFocus={() => {
          origin.current = field.shown.peek();
        }}
        onInput={(event) => {
          field.onInput(event);
          view.page.front.word.value = null; // the pointer only happens to lie there
          typing.typed();
        }}
        onCompositionStart={() => typing.compose(true)}
        onCompositionEnd={() => typing.compose(false)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            if (field.value.peek() !== origin.current) {
              const isRun = field.shown.peek() !== origin.current;
              field.restore();
              if (isRun) field.value.value = origin.current;
              if (isRun) go();
            }
            area.current!.blur();
            mirror.current!.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
          }
          if (event.key !== "Enter" || event.isComposing) return;
          event.preventDefault();
          go();
        }}
      />
    </div>
  );
}
