// How loud the head is: a slider whose track is the curve of the answer. While it is dragged nothing is asked: the nine
// runs are here. Let go, one exact run is.
import { useEffect, useRef } from "preact/hooks";
import { logOdds } from "../compute/logodds";
import { LITTLE, LOUDNESS } from "../generated/vocabulary";
import { counted, headLabel } from "../paint/format";
import { Button } from "../parts/controls";
import { tokenWord } from "../parts/token";
import { isPlain } from "../state/cloze";
import { answersOf } from "../state/effects";
import {
  curveAt,
  curveOf,
  type FrontAnswer,
  factorOf,
  headsInHand,
  isExact,
  isLone,
  isSureOf,
  otherChanges,
  useFront,
  useHeads,
  useHeadsToCome,
} from "../state/frontanswers";
import { useView, type View } from "../state/view";
import { put, undo } from "../whatif/doing";
import { brief, COUNTS, short } from "./claims";
import { ClozeClaim } from "./cloze";
import { useSets } from "./headsets";
import { timeWords } from "./strip";
import { Together } from "./together";
import { isBrief, isUnfolded } from "./unfolded";

const LOUDEST = 2;
const SNAP = 0.04; // so near to 1 it is 1
const STEP = 0.1; // of a key
const LITTLE_ODDS = 0.1;
const LITTLE_TURN = 0.005; // of a vector
const KEY_PAUSE = 400; // ms after a key before the run: who holds it down asks once

/** A factor where the pointer is, on a track of some px. */
export function pointed(x: number, width: number): number {
  const factor = Math.max(0, Math.min(LOUDEST, (LOUDEST * x) / (width || 1)));
  return Math.abs(factor - 1) < SNAP ? 1 : Math.round(100 * factor) / 100;
}

/** The factor after a key; null for keys that move nothing. */
export function stepped(key: string, factor: number): number | null {
  const step = { ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP }[key];
  if (step) return Math.max(0, Math.min(LOUDEST, Math.round(10 * (factor + step)) / 10));
  return { Home: 0, End: LOUDEST, Backspace: 1, Delete: 1 }[key] ?? null;
}

/** One exact run with the head so loud, instead of how loud it was before: the other changes are in the curve too. */
async function setLoudness(view: View, factor: number): Promise<void> {
  const { page } = view;
  const heads = headsInHand(view);
  const isDone = await put(view, (there) => {
    const stays = otherChanges(view.overview, heads).map(({ id }) => id);
    const scales = heads.map(([layer, head]) => ["scale", layer, head, factor]);
    return [...stays.filter((id) => there.includes(id)), ...(factor === 1 ? [] : scales)];
  });
  if (!isDone) page.front.factor.value = null;
}

/** What an answer has to move, of a probability near to 1 its log-odds. */
const leastOf = (front: FrontAnswer): number =>
  isSureOf(front) ? LITTLE_ODDS : front.answers.kind === "embedding" ? LITTLE_TURN : LITTLE;

const rangeOf = (numbers: number[]): number => Math.max(...numbers) - Math.min(...numbers);

/** Whether no strength of the head moves a bar: a slider would move nothing. */
export function isFlat(front: FrontAnswer): boolean {
  const { answers, loudness, curve, factor, isDragged } = front;
  if (!curve || factor !== 1 || isDragged) return false;
  const curves = answers.rows.flatMap((row) => [curveOf(loudness!, row) ?? []]);
  const isStill = curves.every((numbers) => rangeOf(numbers) < LITTLE);
  return isStill && rangeOf(isSureOf(front) ? curve.map(logOdds) : curve) < leastOf(front);
}

/** What stands in place of the slider. */
function Flat({ front }: { front: FrontAnswer }) {
  const { shownHead, synced } = useView();
  const heads = useHeads();
  const { isComing } = useHeadsToCome();
  const { kind } = front.answers;
  const [best] = heads.state === "answered" && !isComing ? heads.value.heads : [];
  const isBetter = kind === "embedding" && best && Math.abs(best[2]) >= LITTLE_TURN; // of other answers the claim tells
  const subject = { embedding: "vector", similarity: "similarity" }[kind as string] ?? nameOf(front);
  return (
    <p class="bl-loudness bl-flat bl-muted" data-testid="flat">
      {headLabel(shownHead.layer, shownHead.head)}, from silent to twice as loud, moves{" "}
      {subject === front.lead.name ? <i class="bl-text-word">{tokenWord(subject)}</i> : `the ${subject}`} by less than{" "}
      {leastOf(front)}
      {isSureOf(front) && " in log-odds"}.
      {isBetter && (
        <>
          {" "}
          Largest here:{" "}
          <Button class="bl-link" onClick={() => synced.put({ layer: best[0], head: best[1], layer_map: "" })}>
            {headLabel(best[0], best[1])} {short(best[2])} ›
          </Button>
        </>
      )}
    </p>
  );
}

const nameOf = ({ answers, lead }: FrontAnswer): string =>
  ({ similarity: "alike", embedding: "turn" })[answers.kind] ?? (isLone(answers) ? "score" : lead.name);

export function Loudness() {
  const view = useView();
  const sets = useSets();
  const isTogether = sets !== null && !isUnfolded(view);
  return (
    <>
      {isTogether && <Together />}
      {(!isTogether || sets.isInHand) && <Slider />}
    </>
  );
}

function Slider() {
  const view = useView();
  const { overview, shownHead, page, link } = view;
  const front = useFront();
  const track = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isHeld = useRef(false);
  const pending = useRef(0); // runs that are on their way
  const { layer, head } = shownHead;
  const { factor: dragged } = page.front;
  const isOnScreen = Boolean(front?.curve) && !isBrief(view);
  useEffect(() => {
    const isComing =
      isHeld.current || timer.current || pending.current > 1 || (front && front.run.trace !== overview.trace);
    if (!isComing) dragged.value = null; // the run that was asked for is here with its answers, or another one
  }, [front?.run.trace, overview.trace]);
  const letGo = () => {
    clearTimeout(timer.current);
    timer.current = undefined;
    isHeld.current = false;
    dragged.value = null;
  };
  const isLive = link.kernel.value && !overview.offers.whatif;
  const release = async () => {
    timer.current = undefined;
    const to = dragged.peek();
    if (to === null || !isLive) return;
    if (to === factorOf(view.overview, layer, head) && pending.current === 0) {
      dragged.value = null;
      return;
    }
    pending.current++;
    await setLoudness(view, to);
    pending.current--;
  };
  const names = headsInHand(view).map(([l, h]) => headLabel(l, h));
  const headCount = names.length;
  useEffect(() => letGo, [overview.subject, names.join(), isOnScreen]);
  useEffect(() => {
    if (isLive && !isHeld.current && !timer.current && pending.current === 0) release(); // let go before the model was here
  }, [isLive]);
  if (!front && isPlain(view)) return isBrief(view) ? null : <ClozeClaim />;
  if (!front && answersOf(view).state === "asking") return <div class="bl-loudness bl-room" />;
  if (front?.ask) return <OnRequest ask={front.ask} />;
  if (!front || (!front.curve && !front.waits)) return null;
  const { curve, loudness, factor, runFactor } = front;
  if (isFlat(front)) return <Flat front={front} />;
  const at = ({ clientX }: PointerEvent) => {
    const { left, width } = track.current!.getBoundingClientRect();
    dragged.value = pointed(clientX - left, width);
  };
  const isBetween = front.isDragged && !isExact(loudness!, factor);
  const value = curve && (dragged.value !== null ? curveAt(loudness!.factors, curve, factor) : front.score);
  const isInOdds = isSureOf(front);
  const scaled = (number: number) => (isInOdds ? logOdds(number) : number);
  const odds = isInOdds && value !== null ? `, log-odds ${brief(logOdds(value))}` : "";
  const text =
    value === null ? `${factor.toFixed(2)}` : `${factor.toFixed(2)}: ${nameOf(front)} ${brief(value)}${odds}`;
  const { preview } = page.front;
  const isPreviewed = preview.value !== null && (preview.value.layer !== layer || preview.value.head !== head);
  const off = runFactor !== 1 || dragged.value !== null;
  return (
    <div class={isPreviewed ? "bl-loudness bl-of-other" : "bl-loudness"} data-testid="loudness">
      <div class="bl-loudness-head">
        <span>
          {headCount > 1 ? `How loud are these ${COUNTS[headCount]} together?` : "How loud is this head?"}{" "}
          {factor !== 1 && <b class="bl-number">{factor.toFixed(2)}</b>}
          {isBetween && <span class="bl-muted"> between two runs</span>}
          {isInOdds && (
            <span class="bl-muted" title="ln p / (1 − p): near to 1 a probability changes little whatever moves it">
              {" "}
              in log-odds, ln p / (1 − p)
            </span>
          )}
        </span>
        {off && (
          <Button
            class="bl-link"
            title={isLive || dragged.value !== null ? "As the model has it" : link.needs.value}
            onClick={() => {
              letGo();
              if (!isLive) return;
              dragged.value = 1;
              release();
            }}
          >
            Undo
          </Button>
        )}
      </div>
      <div
        ref={track}
        class={curve ? "bl-loudness-track" : "bl-loudness-track bl-waits"}
        role="slider"
        tabIndex={curve ? 0 : -1}
        aria-label={headCount > 1 ? `How loud are ${names.join(", ")} together?` : `How loud is ${names[0]}?`}
        aria-describedby={page.front.claimId}
        aria-valuemin={0}
        aria-valuemax={LOUDEST}
        aria-valuenow={Math.min(LOUDEST, factor)}
        aria-valuetext={text}
        aria-disabled={!curve}
        onPointerDown={(event) => {
          if (!curve || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          letGo();
          isHeld.current = true;
          at(event);
        }}
        onPointerMove={(event) => isHeld.current && at(event)}
        onPointerUp={() => {
          if (!isHeld.current) return;
          isHeld.current = false;
          release();
        }}
        onPointerCancel={letGo}
        onKeyDown={(event) => {
          if (!curve) return;
          if (event.key === "z" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            undo(view);
            return;
          }
          const to = event.altKey || event.ctrlKey || event.metaKey ? null : stepped(event.key, factor);
          if (to === null) return;
          event.preventDefault();
          dragged.value = to;
          clearTimeout(timer.current);
          timer.current = setTimeout(release, KEY_PAUSE);
        }}
      >
        {curve && loudness && (
          <Curve
            {...{
              curve: curve.map(scaled),
              factors: loudness.factors,
              factor,
              value: scaled(value!),
              name: nameOf(front),
              ours: nameOf(front) !== front.lead.name,
            }}
          />
        )}
      </div>
      <div class="bl-loudness-ends" aria-hidden="true">
        <span>silent</span>
        <span>as it is</span>
        <span>twice</span>
      </div>
    </div>
  );
}

/** Of a long text the curve is run when it is asked for. */
function OnRequest({ ask }: { ask: () => void }) {
  const { overview, shownHead, spent } = useView();
  const { n_layers, queries } = overview;
  const runs = ((LOUDNESS.length - 1) * (n_layers - shownHead.layer)) / n_layers; // each from the head's layer on
  return (
    <div class="bl-loudness bl-room" data-testid="loudness">
      <div class="bl-loudness-head">How loud is this head?</div>
      <Button
        class="bl-button"
        title={`${LOUDNESS.length} runs of ${counted(queries.tokens.length)} tokens`}
        onClick={ask}
      >
        Run it from silent to twice as loud{timeWords(runs, spent.value)}
      </Button>
    </div>
  );
}

interface CurveProps {
  curve: number[];
  factors: number[];
  factor: number;
  value: number;
  name: string;
  ours: boolean; // the name is no word of the model's
}

const [WIDTH, HEIGHT] = [100, 100]; // of the drawing, which is stretched
const TOP = 26; // above the curve: its numbers

function Curve({ curve, factors, factor, value, name, ours }: CurveProps) {
  const [lo, hi] = [Math.min(0, ...curve), Math.max(0.01, ...curve, value)];
  const x = (at: number) => (WIDTH * Math.min(LOUDEST, at)) / LOUDEST;
  const y = (number: number) => HEIGHT - ((HEIGHT - TOP) * (number - lo)) / (hi - lo);
  const path = (points: [number, number][]) =>
    points.map(([at, number]) => `${x(at)},${y(number).toFixed(2)}`).join(" L");
  const points = factors.map((at, n): [number, number] => [at, curve[n]!]);
  const travelled = [...points.filter(([at]) => at < factor), [factor, value] as [number, number]];
  const line = path(points);
  const upToKnob = path(travelled);
  const percent = (number: number) => `${number.toFixed(2)}%`;
  const [start, end] = [curve[0]!, curve.at(-1)!];
  return (
    <>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="bl-curve-area" d={`M0,${HEIGHT} L${line} L${WIDTH},${HEIGHT} Z`} />
        <path class="bl-curve-area bl-on" d={`M0,${HEIGHT} L${upToKnob} L${x(factor)},${HEIGHT} Z`} />
        <path class="bl-curve" d={`M${line}`} />
        <path class="bl-curve bl-on" d={`M${upToKnob}`} />
        <path class="bl-curve-base" d={`M0,${HEIGHT} H${WIDTH}`} />
        <path class="bl-curve-base bl-on" d={`M0,${HEIGHT} H${x(factor)}`} />
        {factor !== 1 && <path class="bl-curve-base" d={`M${x(1)},${HEIGHT - 4} V${HEIGHT + 4}`} />}
        <path class="bl-curve-drop" d={`M${x(factor)},${HEIGHT} V${y(value)}`} />
      </svg>
      {factor > 0.4 && (
        <span class="bl-curve-end bl-number" style={{ left: 0, top: percent(y(start)) }}>
          {short(start)}
        </span>
      )}
      {factor < 1.6 && (
        <span class="bl-curve-end bl-number bl-at-right" style={{ right: 0, top: percent(y(end)) }}>
          {short(end)}
        </span>
      )}
      <span class="bl-curve-dot" style={{ left: percent(x(factor)), top: percent(y(value)) }} />
      <span class="bl-knob" style={{ left: percent(x(factor)) }} />
      <span
        class={`bl-curve-label${factor < 0.2 ? " bl-at-left" : factor > 1.8 ? " bl-at-right" : ""}`}
        style={{ left: percent(x(factor)), top: percent(y(value)) }}
        aria-hidden="true"
      >
        {ours ? name : <i class="bl-text-word">{tokenWord(name)}</i>} <b class="bl-number">{short(value)}</b>
      </span>
    </>
  );
}
