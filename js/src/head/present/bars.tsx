// What a slide draws of numbers: a bar for each of some words, and a vector as coloured cells.
import { largestSize } from "../../compute/largest";
import { cssColor } from "../../paint/colormap";
import { upTo } from "../../paint/format";
import { coloursOf } from "../../paint/palette";
import { textWidth } from "../../paint/textwidth";
import { Legend } from "../../parts/legend";
import { useView } from "../../state/view";

const NAME = 6.6; // ems for the name of a bar

/** A name of at most so many ems, the end of a longer one left out. */
export function fitted(name: string, most = NAME): string {
  if (textWidth(name, 1) <= most) return name;
  let short = "";
  for (const character of name) {
    if (textWidth(`${short}${character}…`, 1) > most) break;
    short += character;
  }
  return `${short}…`;
}

export interface Bar {
  name: string;
  value: number; // −∞ and what is not a number have no bar
  text: string;
  kind?: "key" | "guess";
}

/** A number beside its bar: one that is not 0 does not read 0. */
export function barText({ text, digits }: { text: (value: number) => string; digits: number }, value: number): string {
  const smallest = 10 ** -digits;
  return value > 0 && value < smallest / 2 ? `< ${smallest.toFixed(digits)}` : text(value);
}

export function Bars({ bars, places = 0 }: { bars: Bar[]; places?: number }) {
  const size = ({ value }: Bar) => (Number.isFinite(value) ? value : 0);
  const low = Math.min(0, ...bars.map(size));
  const unit = 100 / (Math.max(0, ...bars.map(size)) - low || 1);
  return (
    <ol class="bl-present-bars">
      {bars.map((bar, n) => (
        <li key={n} class={bar.kind ? `bl-is-${bar.kind}` : ""}>
          <bdi dir="auto">{fitted(bar.name)}</bdi>
          <span>
            <i style={{ left: `${(Math.min(0, size(bar)) - low) * unit}%`, width: `${Math.abs(size(bar)) * unit}%` }} />
          </span>
          <b class="bl-number">{bar.text}</b>
        </li>
      ))}
      {upTo(Math.max(0, places - bars.length)).map((n) => (
        <li key={n} class="bl-is-empty" aria-hidden="true">
          <bdi>?</bdi>
          <span />
          <b />
        </li>
      ))}
    </ol>
  );
}

interface Vector {
  name: string;
  values: ArrayLike<number>;
}

/** Vectors on one scale, with its two ends as numbers. */
export function Vectors({ vectors, text }: { vectors: Vector[]; text: (value: number) => string }) {
  const colours = coloursOf(true, useView().dark);
  const peak = Math.max(...vectors.map(({ values }) => largestSize(Array.from(values)))) || 1e-9;
  return (
    <div class="bl-vectors">
      {vectors.map(({ name, values }) => (
        <div key={name} role="img" aria-label={`${name}: ${values.length} numbers, sizes up to ${text(peak)}`}>
          <b>{name}</b>
          <span>
            {Array.from(values, (value, n) => (
              <i key={n} style={{ background: cssColor(value, -peak, peak, colours) }} />
            ))}
          </span>
        </div>
      ))}
      <Legend
        low={text(-peak)}
        high={`+${text(peak)}`}
        label={`the numbers of ${vectors.map(({ name }) => name).join(" and ")}`}
        colours={colours}
      />
    </div>
  );
}
