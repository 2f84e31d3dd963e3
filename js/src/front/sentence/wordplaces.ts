// Where the words of a run stand in the text as it was typed, and in one that has been changed since.
import type { Unit } from "../../compute/grid";

/** From one character of the text to before another. */
export interface Place {
  start: number;
  end: number;
}

const UNKNOWN = /^[[<]unk[\]>]$/i;
const REACH = 24; // letters between two words that stand in the text
const MARKS = /[\p{P}$+<=>^`|~\p{Script=Han}]|[^\s\p{P}$+<=>^`|~\p{Script=Han}]+/gu; // as BERT splits what it does not know

const plain = (text: string) =>
  text
    .normalize("NFKD")
    .replace(/[\p{M}\s\p{Cc}\p{Cf}]/gu, "")
    .toLowerCase();

/** Letters as tokenizers compare them, and the place in the text that each comes from. */
function lettersOf(text: string): { letters: string; places: Place[] } {
  const places: Place[] = [];
  let [letters, start] = ["", 0];
  for (const character of text) {
    const end = start + character.length;
    const letter = plain(character);
    if (letter === "" && places.length > 0 && !/\s/.test(character)) places.at(-1)!.end = end; // an accent
    for (let n = 0; n < letter.length; n++) places.push({ start, end });
    letters += letter;
    start = end;
  }
  return { letters, places };
}

/** The place of every word in the text it was made from; null for a token that is not in it. */
export function placesOf(text: string, words: Unit[]): (Place | null)[] {
  const { letters, places } = lettersOf(text);
  let cursor = 0;
  let isSure = true; // all before has its place
  const absent = new Set<string>(); // from the cursor on
  const isOfText = ({ special, label }: Unit) => !special || UNKNOWN.test(label);
  const spots = words.map((word): Place | null => {
    const letter = plain(word.label);
    const at = letter === "" || absent.has(letter) ? -1 : letters.indexOf(letter, cursor);
    if (at < 0) absent.add(letter);
    if (at < 0 || (isSure && at > cursor + REACH)) {
      isSure &&= !isOfText(word); // else what comes next may be anywhere behind it
      return null;
    }
    cursor = at + letter.length;
    isSure = true;
    return { start: places[at]!.start, end: places[cursor - 1]!.end };
  });
  let [start, missing] = [0, [] as number[]];
  const fill = (end: number) => {
    const gap = missing.length > 0 ? text.slice(start, end) : "";
    const [runs, marks] = [/\S+/g, MARKS].map((split) => [...gap.matchAll(split)]) as [
      RegExpExecArray[],
      RegExpExecArray[],
    ];
    const pieces = runs.length === missing.length ? runs : marks;
    missing.forEach((word, n) => {
      const piece = pieces[n];
      spots[word] = piece ? { start: start + piece.index, end: start + piece.index + piece[0].length } : null;
    });
  };
  words.forEach((word, n) => {
    const spot = spots[n];
    if (spot) {
      fill(spot.start);
      [start, missing] = [spot.end, []];
    } else if (isOfText(word)) missing.push(n);
  });
  fill(text.length);
  return spots;
}

/** The places in a text that was changed since: words before and after the change stay, one that holds it grows. */
export function movedPlaces(places: (Place | null)[], from: string, to: string): (Place | null)[] {
  if (from === to) return places;
  const shorter = Math.min(from.length, to.length);
  let head = 0;
  while (head < shorter && from[head] === to[head]) head++;
  let tail = 0;
  while (tail < shorter - head && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail++;
  const [stop, shift] = [from.length - tail, to.length - from.length];
  const joins = /^[\p{L}\p{N}]/u.test(to.slice(head, to.length - tail));
  return places.map((place) => {
    if (!place) return null;
    const { start, end } = place;
    if (end < head || (end === head && !joins)) return place;
    if (start >= stop) return { start: start + shift, end: end + shift };
    if (start > head || end < stop) return null;
    const word = /^\S+/.exec(to.slice(start, end + shift));
    return word ? { start, end: start + word[0].length } : null;
  });
}
