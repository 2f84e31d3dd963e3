// Where the words of a text stand in it: the library that reads texts tells no offsets, so they are looked for in order.

export interface Span {
  start: number;
  end: number;
}

const plain = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Of each word, by its name; null where it is not found. One that is read as another one, or as unknown, is what stands
 * between its neighbours. */
export function spansOf(text: string, names: string[]): (Span | null)[] {
  let letters = "";
  const places: number[] = [];
  for (const { segment, index } of characters(text)) {
    const letter = plain(segment);
    letters += letter;
    for (let n = 0; n < letter.length; n++) places.push(index);
  }
  places.push(text.length);
  const spans: (Span | null)[] = [];
  let [end, missing]: [number, number[]] = [0, []];
  const fill = (start: number) => {
    const between = text.slice(end, start);
    if (missing.length === 1 && between.trim())
      spans[missing[0]!] = {
        start: end + between.length - between.trimStart().length,
        end: end + between.trimEnd().length,
      };
    missing = [];
  };
  let from = 0;
  names.forEach((name, n) => {
    const word = plain(name).trim();
    const at = word ? letters.indexOf(word, from) : -1;
    const isNext = at >= 0 && (missing.length > 0 || !/[\p{L}\p{N}]/u.test(letters.slice(from, at)));
    spans.push(null);
    if (!isNext) {
      missing.push(n);
      return;
    }
    const start = places[at]!;
    fill(start);
    from = at + word.length;
    end = places[from]!;
    spans[n] = { start, end: start + text.slice(start, end).trimEnd().length };
  });
  fill(text.length);
  return spans;
}

function* characters(text: string): Generator<{ segment: string; index: number }> {
  let index = 0;
  for (const segment of text) {
    yield { segment, index };
    index += segment.length;
  }
}
