// Where no head alone moves the answer: heads that do together, in place of a slider that would move nothing.
import type { HeadName } from "../generated/vocabulary";
import { counted, headLabel, percent } from "../paint/format";
import { Button } from "../parts/controls";
import { useView } from "../state/view";
import { put } from "../whatif/doing";
import { Pieces } from "./claim";
import { brief, joined, type Piece, short } from "./claims";
import { type Sets, useSets } from "./headsets";

const MUCH = 0.2; // of the answer: the first set that moves it so far is told
const COUNTS = ["", "one", "two", "three", "four", "five", "six"];

/** Which set is told, and what. */
function tellingOf({ heads, before, name }: Sets): Piece[] {
  const n = heads.findIndex(([, , value]) => Math.abs(value - before) >= MUCH);
  const size = n < 0 ? heads.length : n + 1;
  const lead: Piece[] =
    n < 0 ? [`Nor do ${COUNTS[size]} together`] : [`Take ${COUNTS[size]}, `, ...joined(heads.slice(0, size))];
  const value: Piece = { number: brief(heads[size - 1]![2]), strong: true };
  return [...lead, ": ", name ? { word: name } : "the number", " ", value, "."];
}

export function Together() {
  const view = useView();
  const { link, overview } = view;
  const sets = useSets();
  if (!sets) return null;
  const { answer, size } = sets;
  if (answer.state === "asking")
    return (
      <div class="bl-loudness bl-sets bl-muted" data-testid="sets">
        looking for heads that move it together …{answer.done ? ` ${percent(answer.done)}` : ""}
      </div>
    );
  if (answer.state === "refused" || answer.value.why_not)
    return <div class="bl-loudness bl-muted">{answer.state === "refused" ? answer.reason : answer.value.why_not}</div>;
  const { heads, tried } = answer.value;
  if (heads.length < 2) return null;
  const reason = link.kernel.value ? overview.offers.whatif : link.needs.value;
  const offs = (n: number) => heads.slice(0, n).map(([layer, head]): HeadName => [layer, head]);
  return (
    <div class="bl-loudness bl-sets" data-testid="sets">
      <p>
        <Pieces pieces={tellingOf(answer.value)} />
      </p>
      <div class="bl-set-sizes" role="group" aria-label="Without so many heads">
        {heads.slice(1).map(([, , value], n) => (
          <Button
            key={n}
            class="bl-link"
            aria-pressed={size === n + 2}
            disabled={Boolean(reason)}
            title={
              reason ||
              `Run it without ${offs(n + 2)
                .map(([l, h]) => headLabel(l, h))
                .join(", ")}`
            }
            onClick={() => put(view, () => (size === n + 2 ? [] : offs(n + 2).map(([l, h]) => ["off", l, h])))}
          >
            {n + 2} {n === 0 && "heads "}
            <span class="bl-number">{short(value)}</span>
          </Button>
        ))}
        {size > 0 && (
          <Button class="bl-link" onClick={() => put(view, () => [])}>
            all on again
          </Button>
        )}
      </div>
      <p class="bl-answer-note">
        Each adds the head that moves it furthest, of the {counted(tried)} that move it most alone.
      </p>
    </div>
  );
}
