// What can be done to a word of the sentence but to look at it: hide it, change it; and the way back.
import type { RefObject } from "preact";
import { bare } from "../../compute/grid";
import { Button } from "../../parts/controls";
import { tokenText } from "../../parts/token";
import { type Hidden, textsName } from "../../state/frontstate";
import { useView, type View } from "../../state/view";
import { add, toToken } from "../../whatif/doing";
import type { Field } from "./field";
import { movedPlaces, type Place } from "./wordplaces";
import { isLettered, MASK, type TextLine, type Words } from "./wordrow";

interface Texts {
  stage: RefObject<HTMLElement | null>;
  lines: TextLine[];
  words: Words;
  fields: readonly Field[];
  go: () => void; // runs what the fields hold
}

export interface Verbs {
  hide: ((word: number) => void) | null; // null where nothing can be
  change: (word: number) => void;
  hidden: Hidden | null; // what the text shown has a slot for
  showAgain: () => void;
  isWord: (word: number) => boolean; // neither a mark nor a token of the template
}

/** Whether a run without the word is shown in place of this one; a run beside another has no place of its own. */
const hidesFromHeads = ({ overview, isBeside }: View) => !isBeside && overview.square && overview.offers.whatif === "";

/** A text with something in place of a word; isJoined: and of the blank before it. */
export function replaced(text: string, { start, end }: Place, by: string, isJoined: boolean): string {
  const head = text.slice(0, start);
  return (isJoined ? head.replace(/\s$/, "") : head) + by + text.slice(end);
}

export function verbsOf(view: View, { stage, lines, words, fields, go }: Texts): Verbs {
  const { overview, page } = view;
  const { hidden } = page.front;
  const placeOf = (word: number) => {
    for (const [n, line] of lines.entries()) {
      const place = movedPlaces(line.places, line.text, fields[n]!.value.value)[word];
      if (place) return { n, ...place };
    }
    return null;
  };
  const write = (texts: string[]) => {
    for (const [n, text] of texts.entries()) fields[n]!.value.value = text;
    go();
  };
  const fieldTexts = () => fields.map(({ value }) => value.peek());
  const hide = (word: number) => {
    const unit = words.units[word];
    if (!unit) return;
    if (!overview.mask) return void add(view, toToken(view, unit.pieces)[0]!.asked);
    const place = placeOf(word);
    if (!place || MASK.test(unit.label)) return;
    const texts = fieldTexts();
    const text = texts[place.n]!;
    const next = [...texts];
    const { mask, mask_joins: isJoined = false } = overview;
    next[place.n] = replaced(text, place, mask.repeat(unit.pieces.length), isJoined);
    const [a, b] = next as [string, string];
    const { tokens, pieces: names } = overview.queries;
    const pieces = unit.pieces.map((n) => names?.[n] ?? "");
    const spelling = text.slice(place.start, place.end);
    const letters =
      pieces.length > 1 ? unit.pieces.map((n) => tokenText(bare(tokens[n]!, overview.queries))) : [spelling];
    const record = { texts, word: spelling, pieces, letters, at: unit.pieces[0]! };
    hidden.value = { ...hidden.peek(), [textsName(a, b)]: record };
    view.synced.put({ query: null, key: null });
    write(next);
  };
  const now = hidden.value[textsName(overview.text, overview.text_pair)] ?? null;
  return {
    hide: overview.mask || hidesFromHeads(view) ? hide : null,
    change: (word) => {
      const place = placeOf(word);
      const area = stage.current?.querySelectorAll<HTMLTextAreaElement>("textarea")[place?.n ?? -1];
      if (!place || !area) return;
      area.focus();
      area.setSelectionRange(place.start, place.end);
    },
    hidden: now,
    showAgain: () => now && write(now.texts),
    isWord: (word) => {
      const unit = words.units[word];
      return unit !== undefined && !words.markers[word] && isLettered(unit);
    },
  };
}

interface VerbRowProps {
  verbs: Verbs;
  word: number | null; // that is touched
  left: number; // px where it begins
  least: number; // em of what stands before them
  end: number; // em of what stands after them
}

/** The verbs under the word that is touched, or of the one that is hidden; null where there are none. Nothing makes room. */
export function VerbRow({ verbs, word, left, least, end }: VerbRowProps) {
  const { overview } = useView();
  const { hide, change, hidden, showAgain, isWord } = verbs;
  const style = { left: `max(${least}em, min(${Math.round(left)}px, 100% - ${13 + end}em))` };
  if (word !== null && isWord(word))
    return (
      <span class="bl-verbs" data-testid="verbs" style={style}>
        {hide && (
          <Button
            class="bl-link"
            title={`${overview.mask ? "Let the model guess it from the others" : "Run it without this word: no head sees it"} (Backspace)`}
            onClick={() => hide(word)}
          >
            hide
          </Button>
        )}
        <Button
          class="bl-link"
          title="Write another word in its place (Enter, or just letters)"
          onClick={() => change(word)}
        >
          change
        </Button>
      </span>
    );
  if (!hidden) return null;
  return (
    <span class="bl-verbs" data-testid="verbs" style={style}>
      <span title={hidden.pieces.length > 1 ? "As many slots as pieces: they tell its length" : undefined}>
        was <i>{hidden.word}</i>
        {hidden.pieces.length > 1 && `, in ${hidden.pieces.length} pieces`}
      </span>
      <Button class="bl-link" title="Write it in its place again (Escape)" onClick={showAgain}>
        show again
      </Button>
    </span>
  );
}
