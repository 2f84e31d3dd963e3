// The largest parts of a score: an earlier head leads to where it fetched its own, and each can be tried out.
import { largestSize } from "../../compute/largest";
import { signed } from "../../paint/format";
import { Button } from "../../parts/controls";
import { useView, type View } from "../../state/view";
import type { Part, Split, WhyPlace } from "../../state/whystate";
import { fromToken, othersName } from "./charts";
import { partName, placeOf, readAt, samePlace } from "./scoresplit";
import { cancelWords } from "./splitwords";
import { canTry, isOff, TriedOut, tryOut } from "./trials";

export type Go = (place: WhyPlace, places: WhyPlace[]) => void;

/** The cells that led to the one in focus; none where the reader came another way. */
export function trailOf(view: View): WhyPlace[] {
  const { trace, places } = view.page.why.trail.value;
  return trace === view.overview.trace && samePlace(places.at(-1), placeOf(view)) ? places : [];
}

/** The largest parts, an earlier head as a chip that leads (`go`) to the cell where it fetched most of its own. */
export function Largest({ split, go }: { split: Split; go: Go | null }) {
  const view = useView();
  const { tokens } = view.overview.keyside;
  const place = placeOf(view);
  const peak = largestSize([split.others.value, ...split.largest.map(({ value }) => value)]) || 1;
  const follow = ({ layer, head, token }: Part, go: Go) => {
    const trail = trailOf(view);
    const next = { layer: layer!, head: head!, query: readAt(split), key: token! };
    go(next, [...(trail.length > 0 ? trail : [place]), next]);
  };
  const chip = (part: Part, go: Go) => (
    <Button
      class="bl-chip"
      title={`${signed(part.fetched!, 4)} of its ${signed(part.value, 4)} nats fetched there: ask why it looks there`}
      onClick={() => follow(part, go)}
    >
      {partName(part)} · {fromToken(part, tokens)} ›
    </Button>
  );
  const line = (name: preact.ComponentChildren, value: number) => (
    <>
      <span>{name}</span>
      <span class="bl-score-track">
        <span
          class={value < 0 ? "bl-negative" : "bl-positive"}
          style={{ "--part": `${(50 * Math.abs(value)) / peak}%` }}
        />
      </span>
      <span class="bl-number" title={`${signed(value, 4)} nats`}>
        {signed(value)}
      </span>
    </>
  );
  return (
    <>
      <ol class="bl-why-parts" data-testid="why-parts">
        {split.largest.map((part, n) => (
          <li key={n}>
            {line(
              <>
                {part.token === null || !go ? partName(part) : chip(part, go)}
                {canTry(view, part) && (
                  <Button
                    class="bl-try"
                    aria-label={`${isOff(view, part) ? "Undo" : "Try it"}: ${partName(part)} off`}
                    title={`An experiment: run the text with ${partName(part)} switched off`}
                    onClick={() => tryOut(view, split, part)}
                  >
                    {isOff(view, part) ? "undo" : "try it"}
                  </Button>
                )}
              </>,
              part.value,
            )}
          </li>
        ))}
        {split.others.count > 0 && <li class="bl-muted">{line(othersName(split), split.others.value)}</li>}
      </ol>
      <p class="bl-muted" data-testid="why-spread">
        {cancelWords(split)}
      </p>
      <TriedOut split={split} />
    </>
  );
}
