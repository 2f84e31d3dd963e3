// The heads that matter most to either sentence, with what the answers do without each, above and below.
import { Thumbnail } from "../../atlas/headbutton";
import { headLabel, signed } from "../../paint/format";
import { Button } from "../../parts/controls";
import { useView } from "../../state/view";
import { Pieces } from "../claim";
import { type Piece, shownDifference } from "../claims";
import { CHIPS } from "../preview";
import { AllHeads } from "../strip";
import type { HeadPair } from "./barpairs";
import type { Looked } from "./sentences";
import { areAllRun, headsOf, lookedAtBy, type Side, type Sides } from "./sides";

const NOTHING = 0.005;

/** The difference of the two numbers as they are shown. */
function changeWords({ heads }: Side, change: number): string {
  const difference =
    heads && heads.kind !== "embedding" ? shownDifference(heads.before, heads.before + change) : change;
  return `${difference >= NOTHING ? "+" : ""}${signed(difference, 2)}`;
}

/** "milk, then cat", or where it looks in both. */
function doesPieces(above: Looked, below: Looked): Piece[] {
  const one = (looked: Looked): Piece =>
    looked === null
      ? "nowhere much"
      : looked.itself
        ? "itself"
        : looked.special
          ? { mark: looked.text }
          : { word: looked.text };
  const [a, b] = [one(above), one(below)];
  if (JSON.stringify(a) !== JSON.stringify(b)) return [a, ", then ", b];
  if (!above) return ["looks at many"];
  return [above.special && !above.itself ? "rests on " : "looks at ", a];
}

/** Below `AllHeads`: of the view of the sentence above. */
export function HeadChips({ sides }: { sides: Sides }) {
  const { overview } = useView();
  const count = overview.n_layers * overview.n_heads;
  const pairs = headsOf(sides);
  const size = ({ above, below }: HeadPair) => Math.max(Math.abs(above), Math.abs(below));
  const isNothing = pairs.length === 0 || size(pairs[0]!) < NOTHING;
  const isWhole = areAllRun(sides);
  const peak = pairs[0] ? size(pairs[0]) : 1;
  const cells = Array.from({ length: count }, () => 0);
  for (const pair of pairs) cells[pair.layer * overview.n_heads + pair.head] = (0.9 * size(pair)) / (peak || 1);
  const isAsked = sides.every(({ front, waits }) => front || waits);
  return (
    <section class="bl-heads-here" data-testid="strip" aria-label="Heads that matter most to either">
      {!isNothing && (
        <h3>
          {isWhole ? "" : "≈ "}Heads that matter most to either
          <span class="bl-muted"> above, then below{isWhole && `; all ${count} were run in both`}</span>
        </h3>
      )}
      <div class="bl-head-chips">
        {isNothing ? (
          <div class="bl-no-chips">
            <span class="bl-muted">
              {pairs.length === 0
                ? isAsked
                  ? "looking for them …"
                  : "Once a word is hidden in both, every head is run without it."
                : `No head alone moves either by 0.01: of ${count}, none does.`}
            </span>
          </div>
        ) : (
          pairs.slice(0, CHIPS).map((pair) => <Chip key={`${pair.layer}-${pair.head}`} {...{ pair, sides }} />)
        )}
        <AllHeads matter={null} cells={cells} />
      </div>
    </section>
  );
}

function Chip({ pair: { layer, head, above, below }, sides }: { pair: HeadPair; sides: Sides }) {
  const { overview, shownHead, synced } = useView();
  const isShown = shownHead.layer === layer && shownHead.head === head && !shownHead.layerMap;
  const previews = sides.map(({ view }) => view.page.front.preview);
  const point = (isPointed: boolean) => {
    for (const preview of previews) {
      const isMine = preview.peek()?.layer === layer && preview.peek()?.head === head;
      if (isPointed) preview.value = { layer, head, row: -1 };
      else if (isMine) preview.value = null;
    }
  };
  return (
    <Button
      class="bl-head-chip"
      aria-pressed={isShown}
      data-strip-head={`${layer}-${head}`}
      title={`${signed(above, 4)} above, ${signed(below, 4)} below`}
      onPointerEnter={({ pointerType }) => pointerType !== "touch" && point(true)}
      onPointerLeave={() => point(false)}
      onFocus={({ currentTarget }) => (currentTarget as Element).matches(":focus-visible") && point(true)}
      onBlur={() => point(false)}
      onClick={() => {
        point(false);
        synced.put({ layer, head, layer_map: "" });
      }}
    >
      <span class="bl-head-picture">
        <Thumbnail n={layer * overview.n_heads + head} />
      </span>
      <b>{headLabel(layer, head)}</b>
      <span class="bl-head-change">
        <span class="bl-number">
          {changeWords(sides[0], above)}
          <span class="bl-hidden">, </span>
          <br />
          {changeWords(sides[1], below)}
        </span>
      </span>
      <span class="bl-head-does">
        <Pieces pieces={doesPieces(lookedAtBy(sides[0], { layer, head }), lookedAtBy(sides[1], { layer, head }))} />
      </span>
    </Button>
  );
}
