// A long text as one line: what the asking word looks at as ticks, and what part of the text is in sight.
import type { Place } from "./wordplaces";
import type { TextLine } from "./wordrow";

const HEIGHT = 26; // px
const TICKS = 64;
const NEAR = 10; // px

interface Props {
  line: TextLine;
  row: Float32Array;
  part: Place;
  width: number;
  go: (word: number) => void; // to be in sight
}

export function LongLine({ line, row, part, width, go }: Props) {
  const x = (character: number) => (width * character) / (line.text.length || 1);
  const words = line.places
    .flatMap((place, word) => (place ? [{ word, x: x(place.start), weight: row[word] ?? 0 }] : []))
    .sort((a, b) => b.weight - a.weight);
  const ticks = words.slice(0, TICKS);
  const peak = ticks[0]?.weight || 1;
  return (
    <svg
      class="bl-longline"
      height={HEIGHT}
      aria-hidden="true"
      onClick={(event) => {
        const frame = event.currentTarget.getBoundingClientRect();
        const at = ((event.clientX - frame.left) / frame.width) * width;
        const nearest = (list: typeof words) =>
          list.reduce((best, one) => (Math.abs(one.x - at) < Math.abs(best.x - at) ? one : best));
        const tick = nearest(ticks);
        go((Math.abs(tick.x - at) <= NEAR ? tick : nearest(words)).word);
      }}
    >
      <rect
        x={x(part.start)}
        width={Math.max(3, x(part.end) - x(part.start))}
        y={0}
        height={HEIGHT}
        class="bl-insight"
      />
      <line x1={0} x2={width} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--border)" />
      {ticks.map(({ word, x, weight }) => (
        <line
          key={word}
          x1={x}
          x2={x}
          y1={HEIGHT - 1}
          y2={HEIGHT - 1 - (HEIGHT - 4) * (weight / peak)}
          class="bl-tick"
        />
      ))}
    </svg>
  );
}

/** The part of a text around one of its words. */
export function partAround({ text, places }: TextLine, word: number, characters: number): Place {
  const middle = places[word]?.start ?? 0;
  const from = Math.max(0, Math.min(text.length - characters, middle - (characters >> 1)));
  const start = places.find((place) => place && place.start >= from)?.start ?? 0;
  const end = places.findLast((place) => place && place.end <= from + characters)?.end ?? text.length;
  return { start: from === 0 ? 0 : start, end: from + characters >= text.length ? text.length : end };
}
