// Two sentences of one model, one below the other: what turns the answer of the one into that of the other, which head
// takes part, and both answers in pairs of bars.
import { batch } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { isOfHead, movedBy, placeIn } from "../../kernel/opened";
import { headLabel, signed } from "../../paint/format";
import { Button } from "../../parts/controls";
import { FrontAnswers, isLone } from "../../state/frontanswers";
import { visit } from "../../state/page";
import { useView, type View, ViewContext } from "../../state/view";
import { cosineWith } from "../../tabs/compare/tworuns";
import { Pieces, Spoken } from "../claim";
import { type Piece, plain } from "../claims";
import { Sentence } from "../sentence/sentence";
import { isLettered, MASK, type Words, wordsOf } from "../sentence/wordrow";
import type { Guess } from "./barpairs";
import { HeadChips } from "./headchips";
import { closeTwin, textBelow } from "./opentwin";
import { PairBars } from "./pairbars";
import { useSecondRun } from "./secondrun";
import { alikePieces, effectPairPieces, lookPairPieces, scorePieces, storyPieces } from "./sentences";
import {
  areAllRun,
  askerIn,
  bothPlain,
  guessOf,
  headsOf,
  lookedAt,
  type Side,
  type Sides,
  toldHead,
  useSide,
  without,
} from "./sides";
import { type WordPairs, wordPairs } from "./wordpairs";

/** Both sentences and all that is said of them, where another text stands below the first. */
export function Twin() {
  const view = useView();
  const second = useSecondRun();
  const below = second.view.value;
  const text = textBelow(view);
  const close = () => closeTwin(view);
  return (
    <div class="bl-twin">
      <Sentence beside={{ text: below?.overview.text ?? text, isAbove: false, close }} />
      {below ? (
        <>
          <ViewContext.Provider value={below}>
            <Sentence
              beside={{ text: view.overview.text, isAbove: true, close }}
              end={{ children: <Ends refused={second.refused.value} close={close} main={view} />, width: 15 }}
            />
          </ViewContext.Provider>
          <FrontAnswers>
            <Above>
              {(above) => (
                <ViewContext.Provider value={below}>
                  <FrontAnswers>
                    <Both above={above} />
                  </FrontAnswers>
                </ViewContext.Provider>
              )}
            </Above>
          </FrontAnswers>
        </>
      ) : (
        <p class="bl-twin-wait bl-muted">
          {second.refused.value || "running the other sentence …"}{" "}
          {second.refused.value && (
            <Button class="bl-link" onClick={close}>
              one sentence ›
            </Button>
          )}
        </p>
      )}
    </div>
  );
}

/** What the sentence above answers, read where its view is the one around. */
const Above = ({ children }: { children: (side: Side) => ComponentChildren }) => <>{children(useSide())}</>;

/** The way to the tables, and back to one sentence. */
function Ends({ refused, close, main }: { refused: string; close: () => void; main: View }) {
  return (
    <>
      {refused && <span class="bl-muted">{refused}</span>}
      <Button
        class="bl-link"
        title="Both texts word by word, every head by how far it is apart"
        onClick={() => visit(main, "compare")}
      >
        tables ›
      </Button>
      <Button class="bl-link" title="Take the sentence below away (Escape)" onClick={close}>
        one sentence ›
      </Button>
    </>
  );
}

function Both({ above }: { above: Side }) {
  const below = useSide();
  const sides: Sides = [above, below];
  const pairs = usePairs(sides);
  useHead(sides);
  useEntering(above.view, below.view);
  const labels = [labelOf(above, pairs.onlyAbove), labelOf(below, pairs.onlyBelow)] as const;
  return (
    <>
      <div class="bl-front-row">
        <div class="bl-front-claim">
          <TwinClaim {...{ sides, pairs }} />
        </div>
        <PairBars {...{ sides, pairs, labels }} />
      </div>
      <ViewContext.Provider value={above.view}>
        <HeadChips sides={sides} />
      </ViewContext.Provider>
    </>
  );
}

/** Words that one sentence alone has, as it has them; "" where they are many. */
const labelOf = ({ words }: Side, only: number[]): string =>
  only.length > 0 && only.length < 3 ? only.map((n) => writtenWord(words, n)).join(" ") : "";

/** As it stands in the text. */
function writtenWord({ lines, units }: Words, n: number): string {
  const line = lines.find(({ places }) => places[n]);
  const place = line?.places[n];
  return line && place ? line.text.slice(place.start, place.end) : units[n]!.label;
}

/** `areAskers`: one and the same word asks in both, or those that stand in each other's place. */
interface AskedPairs extends WordPairs {
  areAskers: boolean;
}

const isWord = ({ words }: Side, n: number) => !words.markers[n] && !MASK.test(words.units[n]!.label);

/** The words that are the same in both; those that are not are marked in both; the word that
 * asks above asks below too. */
function usePairs([above, below]: Sides): AskedPairs {
  const labels = [above, below].map(({ words }) => words.units.map(({ label }) => label)) as [string[], string[]];
  const key = JSON.stringify(labels);
  const pairs = wordPairs(...labels);
  const only = {
    ...pairs,
    onlyAbove: pairs.onlyAbove.filter((n) => isWord(above, n)),
    onlyBelow: pairs.onlyBelow.filter((n) => isWord(below, n)),
  };
  useLayoutEffect(() => {
    const put = (differs: boolean) =>
      batch(() => {
        above.view.page.front.differs.value = new Set(differs ? only.onlyAbove : []);
        below.view.page.front.differs.value = new Set(differs ? only.onlyBelow : []);
      });
    put(true);
    return () => put(false);
  }, [key]);
  const { layer, head } = above.view.synced;
  const asker = askerIn(above);
  const partner = MASK.test(above.words.units[asker]!.label) ? undefined : partnerOf(pairs, asker);
  const query = partner === undefined ? null : (below.words.units[partner]?.pieces[0] ?? null);
  useEffect(() => {
    const place = { layer: layer.peek(), head: head.peek(), query, key: null };
    below.view.synced.put({ query, key: null, opened: place }); // the program's: Escape takes no pin away
  }, [key, query, layer.value, head.value]);
  return { ...only, areAskers: partnerOf(pairs, asker) === askerIn(below) };
}

/** The word below of one above: the same, or the one in its place between words that are. */
function partnerOf({ below, onlyAbove, onlyBelow }: WordPairs, word: number): number | undefined {
  const partner = below.get(word);
  if (partner !== undefined) return partner;
  const previous = below.get(word - 1);
  const place = word === 0 ? 0 : previous === undefined ? undefined : previous + 1;
  return onlyAbove.includes(word) && place !== undefined && onlyBelow.includes(place) ? place : undefined;
}

/** One head for both: the one that moves either most, unless the reader has chosen another. */
function useHead(sides: Sides): void {
  const { view } = sides[0];
  const { synced, history } = view;
  const isComing = sides.some((side) => side.isComing);
  const leader = isComing ? undefined : headsOf(sides)[0];
  const best = leader && Math.max(Math.abs(leader.above), Math.abs(leader.below)) >= 0.005 ? leader : undefined;
  const isFree = isOfHead(placeIn(synced));
  useEffect(() => {
    if (!best || !isFree) return;
    const { layer, head } = best;
    if (layer === synced.layer.peek() && head === synced.head.peek()) return;
    synced.put(movedBy(placeIn(synced), { layer, head, key: null }));
    if (!isOfHead(placeIn(synced))) synced.put({ opened: { layer, head } });
    history.absorb();
  }, [best && `${best.layer} ${best.head}`, isFree]);
}

/** The sentence that has just come has the keys: at the word that is pinned, else at its first. */
function useEntering({ page, root }: View, below: View): void {
  const { entering } = page.front;
  const isFirst = entering.value;
  useEffect(() => {
    if (!isFirst) return;
    entering.value = false;
    const words = wordsOf(below.overview);
    const opening = words.units.findIndex(isLettered);
    const pinned = below.focus.pinnedQuery
      ? words.units.findIndex(({ pieces, label }) => pieces.includes(below.focus.query) && !MASK.test(label))
      : -1;
    const stage = root.current?.querySelector(".bl-lower");
    stage?.querySelector<HTMLElement>(`[data-n="${pinned >= 0 ? pinned : opening}"]`)?.focus({ preventScroll: true });
    below.page.front.word.value = null; // nobody has pointed at it
  }, [isFirst]);
}

const numbered = (guess: Guess | null) => (guess && !Number.isNaN(guess.now) ? guess : null);

/** Story, look and effect; each null where there is nothing to say. */
function claimOf(sides: Sides, pairs: AskedPairs): (Piece[] | null)[] {
  const [above, below] = sides;
  const spot = toldHead(above);
  const look = pairs.areAskers
    ? lookPairPieces(headLabel(spot.layer, spot.head), lookedAt(above), lookedAt(below))
    : null;
  const differing = Math.max(pairs.onlyAbove.length, pairs.onlyBelow.length);
  if (bothPlain(sides))
    return [
      differing === 0
        ? ["Both say the same: write another word in one."]
        : ["Hide a word in both, by its bar: the model guesses it twice."],
      look,
      null,
    ];
  const best = areAllRun(sides) ? headsOf(sides)[0] : undefined;
  const guesses = sides.map((side) => numbered(guessOf(side, best ?? null)));
  const lone = sides.findIndex(({ front }) => front === null);
  const scores = sides.flatMap(({ front }) => (front && isLone(front.answers) ? [front.lead.after] : []));
  const story =
    scores.length === 2
      ? scorePieces(scores[0]!, scores[1]!)
      : guesses[0] && guesses[1]
        ? storyPieces(guesses[0], guesses[1], differing)
        : lone >= 0 && !sides[lone]!.waits && sides.some(({ front }) => front)
          ? [`Nothing is asked ${lone === 0 ? "above" : "below"}: hide the same word in both.`]
          : null;
  const moves = sides.map((side) => {
    const { front } = side;
    const to = without(side, spot);
    if (!front || to === null) return null;
    const isVector = front.answers.kind === "embedding";
    const name = isVector ? "" : front.lead.name;
    return { name, isScore: isLone(front.answers), from: isVector ? 0 : front.lead.after, to };
  });
  const effect = moves[0] && moves[1] ? effectPairPieces(moves[0], moves[1]) : null;
  return [story, look, effect];
}

function TwinClaim({ sides, pairs }: { sides: Sides; pairs: AskedPairs }) {
  const [above, below] = sides;
  const [turn, look, effect] = claimOf(sides, pairs);
  const cosine = cosineWith(above.view, below.view.overview.text);
  const story = turn ?? (cosine === null ? null : alikePieces(cosine));
  const isMoving = [above, below].some(({ view }) => view.page.front.preview.value || view.running.value);
  const text = [story, look, effect].map((line) => plain(line ?? [])).join(" ");
  return (
    <>
      <p class="bl-claim" data-testid="claim" id={above.view.page.front.claimId}>
        {story && (
          <span class="bl-claim-line">
            <Pieces pieces={story} />{" "}
          </span>
        )}
        {look && (
          <span class="bl-claim-line">
            <Pieces pieces={look} />
          </span>
        )}
      </p>
      {effect && (
        <p class="bl-twin-effect">
          <Pieces pieces={effect} />
        </p>
      )}
      <YourHead sides={sides} />
      <Spoken text={isMoving ? null : text} />
    </>
  );
}

/** That the head shown is the reader's, and the way to the one that matters most to either. */
function YourHead({ sides }: { sides: Sides }) {
  const { synced, shownHead } = sides[0].view;
  const best = areAllRun(sides) ? headsOf(sides)[0] : undefined;
  const isBest = best?.layer === shownHead.layer && best.head === shownHead.head;
  if (!best || isBest || isOfHead(placeIn(synced))) return null;
  const { layer, head } = best;
  return (
    <p class="bl-your-head" data-testid="your-head">
      <b>your head</b> · best of both:{" "}
      <Button class="bl-link" onClick={() => synced.put({ layer, head, layer_map: "", opened: { layer, head } })}>
        {headLabel(layer, head)} {signed(best.above, 2)}, {signed(best.below, 2)} ›
      </Button>
    </p>
  );
}
