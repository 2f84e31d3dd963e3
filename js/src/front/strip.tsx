// The heads that matter most to the answer here, each with its picture and what it does; and the way to all of them.

import { Thumbnail } from "../atlas/headbutton";
import { useSentences } from "../atlas/headvalues";
import { units } from "../compute/grid";
import { largest } from "../compute/largest";
import { isSure, toldChange } from "../compute/logodds";
import { isOfHead, placeIn } from "../kernel/opened";
import { headLabel, ordinal, percent, px, signed } from "../paint/format";
import { Button, into } from "../parts/controls";
import { nounOf } from "../parts/nouns";
import { isMuch, neighbourOf } from "../parts/phrasing";
import { wordName } from "../parts/token";
import { type HeadsThatMatter, headsInHand, useAnswers, useHeads, useHeadsToCome } from "../state/frontanswers";
import { rowsOf, unitValues } from "../state/rows";
import { useView, type View } from "../state/view";
import { Pieces } from "./claim";
import { type Piece, shownDifference } from "./claims";
import { showHeads, unfold } from "./leaf/openleaf";
import { useOpening } from "./opening";
import { CHIPS, usePreview } from "./preview";
import { hasHeadsLeaf, isUnfolded, isUnfoldedForGood } from "./unfolded";

const BAR = 26; // px of the longest

/** What a head does, in three words: where half of its attention lies, else where its row looks that moves the answer
 * most, else by its sentence. */
function Does({ layer, head, row }: { layer: number; head: number; row: number }) {
  const view = useView();
  const { overview } = view;
  const says = useSentences();
  const noun = nounOf(overview);
  const neighbour = neighbourOf(overview, layer, head);
  if (neighbour) return `${neighbour.side} ${noun}`;
  const looked = lookedAt(view, layer, head, row);
  return <Pieces pieces={looked ?? shortened(says(layer, head).lead, headLabel(layer, head), noun)} />;
}

/** Where a row of a head looks most; null where nowhere much, or before it is known. */
function lookedAt(view: View, layer: number, head: number, row: number): Piece[] | null {
  const { overview } = view;
  const query = row < 0 ? undefined : units(overview.queries, true).find(({ pieces }) => pieces.includes(row));
  const rows = query && rowsOf(view, overview, query);
  if (rows?.state !== "answered") return null;
  const K = overview.keyside.tokens.length;
  const at = (layer * overview.n_heads + head) * K;
  const cols = units(overview.keyside, true);
  const weights = rows.value.weight.subarray(at, at + K);
  const inSight = weights.reduce((count, weight) => count + Number(weight > 0), 0); // a key that is masked gets none
  const numbers = unitValues(weights, cols, false);
  const to = largest(numbers, 1).positions[0] ?? -1;
  const key = cols[to];
  if (!key || !isMuch(numbers[to]!, key.pieces.length / inSight)) return null;
  const name = wordName(key);
  if (overview.square && key.pieces[0] === query!.pieces[0]) return ["looks at itself"];
  return key.special ? ["rests on ", { mark: name }] : ["looks at ", { word: name }];
}

/** The sentence that the product has of a head, without its name. */
export const shortened = (lead: string, name: string, noun: string): Piece[] => [
  lead
    .slice(name.length + 1)
    .replace("partly ", "")
    .replace(RegExp(`looks at the ((previous|next) ${noun})`), "$1")
    .replace(`looks at the ${noun} itself`, "itself")
    .replace(/^(spreads|picks).*/, "looks at many"),
];

/** A change as it is told: of a probability near to 1 that of its log-odds. */
const toldOf = ({ unit, before }: HeadsThatMatter, change: number) => toldChange(unit, before, change);

export function Strip() {
  const view = useView();
  const { overview, page } = view;
  const answers = useAnswers();
  const heads = useHeads();
  const matter = heads.state === "answered" ? heads.value : null;
  const list = matter && !matter.why_not ? matter.heads : [];
  useOpening();
  const sizeOf = ([, , change]: HeadsThatMatter["heads"][number]) => Math.abs(toldOf(matter!, change));
  const isInOdds = matter !== null && isSure(matter.unit, matter.before);
  const isNothing = list.length > 0 && list.every((one) => sizeOf(one) < (isInOdds ? 0.05 : 0.005));
  return (
    <section class="bl-heads-here" data-testid="strip" aria-label="Heads that matter most here">
      {answers && !answers.why_not && <Heading heads={isNothing || list.length === 0 ? null : matter} />}
      <div class="bl-head-chips">
        {list.length > 0 && !isNothing ? (
          list
            .slice(0, CHIPS)
            .map(([layer, head, change], n) => (
              <Chip
                key={`${layer}-${head}`}
                {...{ layer, head, change, matter: matter!, row: matter!.rows?.[n] ?? -1 }}
              />
            ))
        ) : (
          <div class="bl-no-chips">
            {matter?.limit ? (
              <Button
                class="bl-button"
                disabled={!view.link.kernel.value}
                title={view.link.kernel.value ? matter.limit : view.link.needs.value}
                onClick={() => into(page.front.sought)(overview.subject)}
              >
                Find the heads that matter{timeWords(matter.runs ?? 0, view.spent.value)}
              </Button>
            ) : (
              <span class="bl-muted">
                {noneWords(heads, answers?.why_not === "", matter?.tried ?? 0, isNothing, isInOdds)}
              </span>
            )}
          </div>
        )}
        {!isUnfoldedForGood(view) && <AllHeads matter={list.length > 0 ? matter : null} />}
      </div>
      <InFull />
    </section>
  );
}

/** How long so many runs take where one took some ms; "" where that is not known. */
export function timeWords(runs: number, ms: number): string {
  const seconds = (runs * ms) / 1000;
  if (!(seconds > 0) || !Number.isFinite(seconds)) return "";
  return seconds < 90 ? `, about ${Math.ceil(seconds)} s` : `, about ${Math.round(seconds / 60)} min`;
}

/** What stands where there are no chips. */
function noneWords(
  heads: ReturnType<typeof useHeads>,
  hasAnswer: boolean,
  tried: number,
  isNothing: boolean,
  isInOdds: boolean,
) {
  const amount = isInOdds ? "the log-odds of the answer by 0.1" : "the answer by 0.01";
  if (isNothing) return `No head alone moves ${amount}: of ${tried} tried, none does.`;
  if (!hasAnswer) return "";
  if (heads.state === "refused") return heads.reason;
  if (heads.state === "answered") return heads.value.why_not;
  return `looking for them …${heads.done ? ` ${percent(heads.done)}` : ""}`;
}

/** What the numbers are of, and where the head shown stands among them. */
function Heading({ heads }: { heads: HeadsThatMatter | null }) {
  const { shownHead, overview } = useView();
  const answers = useAnswers();
  const { layer, head } = shownHead;
  const place = heads?.heads.findIndex(([l, h]) => l === layer && h === head) ?? -1;
  const kind = answers?.kind;
  const word: Piece =
    kind === "embedding"
      ? "the vector turns"
      : kind === "similarity"
        ? "the similarity moves"
        : heads?.name
          ? { word: heads.name }
          : "the score moves";
  const verb = typeof word === "string" ? "" : " moves";
  const { isComing } = useHeadsToCome();
  const isPartial = heads !== null && heads.tried < overview.n_layers * overview.n_heads;
  return (
    <h3>
      {isPartial && "≈ "}Heads that matter most here
      {heads && (
        <span class="bl-muted">
          {" "}
          {isPartial && `of ${heads.tried} run, `}and how <Pieces pieces={[word]} />
          {verb} without them
          {isSure(heads.unit, heads.before) && ", in log-odds"}
        </span>
      )}
      {place > 0 && !isComing && (
        <span class="bl-muted bl-heads-place">
          {headLabel(layer, head)}: {ordinal(place + 1)} of {heads!.tried} that were tried
        </span>
      )}
      <ToCome />
    </h3>
  );
}

/** The heads that were not run: on their way, or on request. */
function ToCome() {
  const { overview, spent } = useView();
  const heads = useHeads();
  const { isComing, done, limit, ask, stop } = useHeadsToCome();
  const all = `all ${overview.n_layers * overview.n_heads}`;
  if (isComing)
    return (
      <span class="bl-muted bl-heads-to-come" data-testid="heads-to-come">
        running {all}: {percent(done)}{" "}
        <Button class="bl-link" onClick={stop!}>
          stop
        </Button>
      </span>
    );
  if (!ask) return null;
  return (
    <Button class="bl-link bl-heads-to-come" title={limit || undefined} onClick={ask}>
      run {all}
      {timeWords((heads.state === "answered" && heads.value.runs) || 0, spent.value)}
    </Button>
  );
}

interface ChipProps {
  layer: number;
  head: number;
  change: number;
  matter: HeadsThatMatter;
  row: number;
}

/** One head: a click shows it. */
function Chip({ layer, head, change, matter, row }: ChipProps) {
  const view = useView();
  const { overview, shownHead, synced } = view;
  const handlers = usePreview(layer, head, row);
  const isShown = headsInHand(view).some(([l, h]) => l === layer && h === head) && !shownHead.layerMap;
  const { before, heads } = matter;
  const told = toldOf(matter, change);
  const difference = told === change ? shownDifference(before, before + change) : told;
  const peak = Math.max(...heads.map(([, , one]) => Math.abs(toldOf(matter, one))));
  return (
    <Button
      class="bl-head-chip"
      aria-pressed={isShown}
      data-strip-head={`${layer}-${head}`}
      title={`${signed(change, 4)} (${matter.unit})`}
      {...handlers}
      onClick={() => {
        const place = { layer, head, layer_map: "", ...(row < 0 ? {} : { query: row, key: null }) };
        const isBack = isShown && !isOfHead(placeIn(synced)); // to what the words do
        const isOfCases = synced.parts.value.includes("examples");
        if (isOfCases && isBack) synced.put({ query: null, key: null, opened: { layer, head } });
        else synced.put(isOfCases ? { ...place, opened: {} } : place);
      }}
    >
      <span class="bl-head-picture">
        <Thumbnail n={layer * overview.n_heads + head} />
      </span>
      <b>{headLabel(layer, head)}</b>
      <span class="bl-head-change">
        <span class="bl-stretch" style={{ width: px(Math.max(2, (BAR * Math.abs(told)) / peak)) }} />
        <span class="bl-number">
          {difference >= 0.005 && "+"}
          {signed(difference, 2)}
        </span>
      </span>
      <span class="bl-head-does">
        <Does {...{ layer, head, row }} />
      </span>
    </Button>
  );
}

/** All heads at once with the map of one, by one click. */
export function InFull() {
  const view = useView();
  if (isUnfolded(view)) return null;
  return (
    <Button class="bl-link bl-in-full" onClick={() => unfold(view)}>
      all heads in full ›
    </Button>
  );
}

/** The way to the atlas, with what the answer does without each head as its picture. cells: another picture, how dark
 * each head is. */
export function AllHeads({ matter, cells }: { matter: HeadsThatMatter | null; cells?: number[] | null }) {
  const view = useView();
  const { overview, shownHead } = view;
  const isOpen = isUnfolded(view) || hasHeadsLeaf(view);
  const { n_layers, n_heads } = overview;
  const count = n_layers * n_heads;
  return (
    <Button
      class="bl-open-heads"
      aria-expanded={isOpen}
      title={matter ? mapWords(matter, count) : undefined}
      onClick={() => showHeads(view, !isOpen)}
    >
      <svg viewBox={`0 0 ${n_heads} ${n_layers}`} preserveAspectRatio="none" aria-hidden="true">
        {(cells ?? (matter ? mapCells(matter, n_heads, count) : [])).map((opacity, n) => (
          <rect key={n} x={n % n_heads} y={Math.floor(n / n_heads)} width={1} height={1} fill-opacity={opacity} />
        ))}
        <rect class="bl-on" x={shownHead.head} y={shownHead.layer} width={1} height={1} />
      </svg>
      All {count} heads {isOpen ? "▾" : "▸"}
    </Button>
  );
}

/** What is exact in the map and what is estimated. */
export const mapWords = ({ tried, changes }: HeadsThatMatter, count: number): string => {
  const darker = "The darker, the more the answer moves without the head";
  if (tried >= count) return `${darker}: each of ${count} was run`;
  if (!changes) return `${darker}: of ${tried} that were run`;
  return `${darker}: of ${tried} heads as they were run, of the other ${count - tried} as one backward pass estimates it`;
};

/** How dark each head is, 0 to 1: what was run is at least seen, and no estimate is darker than the largest of these. */
export function mapCells(matter: HeadsThatMatter, n_heads: number, count: number): number[] {
  const { heads, tried, before, unit, changes } = matter;
  const peak = Math.max(...heads.map(([, , change]) => Math.abs(toldOf(matter, change))), 1e-9);
  const slope = isSure(unit, before) ? 1 / (before * (1 - before) + 1e-9) : 1; // of log-odds
  const exact = new Map(heads.map(([layer, head, change]) => [layer * n_heads + head, change]));
  return Array.from({ length: count }, (_, n) => {
    const change = exact.get(n) ?? changes?.[n] ?? Number.NaN;
    if (Number.isNaN(change)) return 0;
    if (exact.has(n) || tried >= count) return 0.15 + 0.75 * Math.min(1, Math.abs(toldOf(matter, change)) / peak);
    return 0.75 * Math.min(1, Math.abs(change * slope) / peak);
  });
}
