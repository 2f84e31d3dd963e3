// Where no head alone moves the answer: heads that do together, whose slider stands below.
import { counted, headLabel, percent } from "../paint/format";
import { Button } from "../parts/controls";
import { Pieces } from "./claim";
import { brief, COUNTS, joined, type Piece, short } from "./claims";
import { type Sets, useSets } from "./headsets";

/** Which set is told, and what. */
function tellingOf({ heads, name }: Sets, taken: number): Piece[] {
  const size = taken || heads.length;
  const lead: Piece[] =
    taken === 0 ? [`Nor do ${COUNTS[size]} together`] : [`Take ${COUNTS[size]}, `, ...joined(heads.slice(0, size))];
  const value: Piece = { number: brief(heads[size - 1]![2]), strong: true };
  return [...lead, ": ", name ? { word: name } : "the number", " ", value, "."];
}

export function Together() {
  const sets = useSets();
  if (!sets) return null;
  const { answer, size, isInHand, take } = sets;
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
  return (
    <div class="bl-loudness bl-sets" data-testid="sets">
      <p>
        <Pieces pieces={tellingOf(answer.value, size)} />
      </p>
      <div class="bl-set-sizes" role="group" aria-label="Without so many heads">
        {heads.slice(1).map(([, , value], n) => (
          <Button
            key={n}
            class="bl-link"
            aria-pressed={isInHand && size === n + 2}
            title={`Take ${heads
              .slice(0, n + 2)
              .map(([l, h]) => headLabel(l, h))
              .join(", ")}`}
            onClick={() => take(n + 2)}
          >
            {n + 2} {n === 0 && "heads "}
            <span class="bl-number">{short(value)}</span>
          </Button>
        ))}
        <span title={`Each adds the head that moves it furthest, of the ${counted(tried)} that move it most alone`}>
          of {counted(tried)} tried{isInHand && "; arcs: their mean"}
        </span>
      </div>
    </div>
  );
}
