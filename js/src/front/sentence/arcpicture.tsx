// The arcs over the sentence, drawn.
import { share } from "../../paint/format";
import { useElementId } from "../../parts/controls";
import type { Arc, Numeral } from "./arcs";

interface Props {
  behind: Arc[]; // of the other words, of a head that does the same from most
  arcs: Arc[];
  numbers: Numeral[];
  scene: string; // of another they are drawn anew
  asker: number; // of another they fade in
  pick: ((word: number) => void) | null; // a number was clicked
  nameOf: (word: number) => string; // what a number asks, for who does not see it
  asked: number; // the word whose number was clicked, -1 for none
  below: boolean; // they hang under the words: their picture is upside down
}

const GREY = "color-mix(in srgb, var(--muted) 45%, transparent)";
const RED = "var(--select)";

const Dot = ({ tip: [x, y], radius, marker, dotted, opacity }: Arc) =>
  marker ? null : (
    <circle
      cx={x}
      cy={y}
      r={radius}
      fill={dotted ? "var(--bg)" : RED}
      stroke={dotted ? RED : undefined}
      stroke-width={dotted ? 1.3 : undefined}
      fill-opacity={dotted ? 1 : opacity}
    />
  );

/** From faint at the asker to full at the word; a ribbon that crosses lines of text is faint between its ends. */
const Fade = ({ id, start, tip, opacity, crossing, marker }: Arc & { id: string }) => {
  const stop = (offset: number, opacity: number) => (
    <stop key={offset} offset={offset} stop-color={marker ? "var(--muted)" : RED} stop-opacity={opacity} />
  );
  return (
    <linearGradient id={id} gradientUnits="userSpaceOnUse" x1={start[0]} y1={start[1]} x2={tip[0] + 0.01} y2={tip[1]}>
      {stop(0, 0.28)}
      {crossing ? [0.16, 0.8].map((at) => stop(at, 0.06)) : stop(0.55, 0.86 * opacity)}
      {stop(1, marker ? 0.45 : opacity)}
    </linearGradient>
  );
};

const isFaded = ({ marker, crossing, dotted }: Arc) => (marker ? crossing : !dotted);

export function Arcs({ behind, arcs, numbers, scene, asker, pick, nameOf, asked, below }: Props) {
  const id = useElementId();
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: its numbers are buttons with names
    <svg class="bl-arcs">
      <defs>{arcs.map((arc) => isFaded(arc) && <Fade key={arc.word} id={`${id}-${arc.word}`} {...arc} />)}</defs>
      <g key={scene} class="bl-drawn" transform={below ? "scale(1 -1)" : undefined}>
        <g key={asker} class="bl-fresh">
          {[...behind, ...arcs].map((arc, n) => {
            const { path, width, dotted, word, opacity } = arc;
            const isBehind = n < behind.length;
            return (
              <g key={`${isBehind ? "b" : ""}${word}`} data-word={isBehind ? undefined : word}>
                <path
                  d={path}
                  pathLength={dotted ? undefined : 1}
                  fill="none"
                  stroke={isFaded(arc) && !isBehind ? `url(#${id}-${word})` : arc.marker ? GREY : RED}
                  stroke-width={width}
                  stroke-opacity={isBehind ? opacity : 1}
                  class={dotted ? "bl-dotted" : undefined}
                />
                <Dot {...arc} />
              </g>
            );
          })}
        </g>
      </g>
      {numbers.map(({ word, weight, x, y, width, height, size, marker, plate }) => (
        <g
          key={word}
          class={`bl-weight${marker ? " bl-muted" : ""}`}
          data-word={word}
          {...(pick
            ? {
                ...{ role: "button", tabindex: 0, "aria-expanded": word === asked, "aria-label": nameOf(word) },
                onClick: () => pick(word),
                onKeyDown: (event: KeyboardEvent) => {
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  pick(word);
                },
              }
            : { "aria-hidden": true })}
        >
          {plate && <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={height / 2} />}
          <text x={x} y={y + 0.35 * size} font-size={size} text-anchor="middle">
            {share(weight, 2)}
          </text>
        </g>
      ))}
    </svg>
  );
}
