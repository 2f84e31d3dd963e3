// The model's answer as bars: ink stays without the head, the accent is lost without it. A click asks about another answer.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { HeadName } from "../generated/vocabulary";
import { capital, counted, headLabel, ordinal, signed } from "../paint/format";
import { Button, Unfold } from "../parts/controls";
import { Token, tokenQuote, tokenText, tokenWord } from "../parts/token";
import { isPlain } from "../state/cloze";
import { answersOf } from "../state/effects";
import {
  type FrontAnswer,
  headsInHand,
  isLone,
  type Unrelated,
  useFront,
  useHeads,
  useUnrelated,
} from "../state/frontanswers";
import { useView, type View } from "../state/view";
import { Verdict } from "../tabs/task/verdict";
import { add, toToken } from "../whatif/doing";
import { AnswerChoice, choose } from "../whatif/target";
import {
  answerBars,
  type Bar,
  barRows,
  curvesOf,
  ownPlace,
  type Stretch,
  shareBars,
  stretchesOf,
  trackOf,
} from "./answerbars";
import { brief, isAlike, short } from "./claims";
import { Cloze } from "./cloze";
import { widthOf } from "./sentence/lettering";

export const TITLES: Record<string, string> = {
  words: "The model’s guesses",
  labels: "The model’s label",
  tags: "The tag of",
  span: "The model’s answer",
  similarity: "How alike",
  embedding: "Its vector rests on",
};

const LEGENDS: Record<string, Partial<Record<Stretch["kind"], string>>> = {
  head: { lost: "lost without this head", gone: "gained without it" },
  set: { lost: "lost without these heads", gone: "gained without them" },
  change: { gone: "lost by the change", gained: "gained by the change" },
};

export function Answer() {
  const view = useView();
  const front = useFront();
  const preview = usePreviewChange();
  useSlot(view, front);
  if (!front) return <NoAnswer />;
  const { kind, unit, said: note, choices } = front.answers;
  const share = front.shares;
  const about = share?.state === "answered" ? share.value.said : `${unit}${note && `, ${note}`}`;
  return (
    <section
      class={front.isDragged ? "bl-front-answer bl-moving" : "bl-front-answer"}
      data-testid="answer"
      aria-label="The model’s answer"
    >
      <h3 title={capital(about)}>
        {isLone(front.answers) ? "The model’s score" : TITLES[kind]}
        {kind === "words" && front.answers.places.length > 0 && ` at ${front.lead.position}`}
        {kind === "tags" && ` ${tokenQuote(view.overview.queries.tokens[front.lead.position]!)}`}
      </h3>
      <Verdict />
      {kind !== "embedding" ? (
        <Bars front={front} bars={answerBars(front, preview)} />
      ) : share?.state !== "answered" ? (
        <p class="bl-muted">{share?.state === "refused" ? share.reason : "…"}</p>
      ) : share.value.why_not ? (
        <p class="bl-muted">{share.value.why_not}</p>
      ) : (
        <Bars front={front} bars={shareBars(front, view.overview.queries, share.value)} />
      )}
      {note && <p class="bl-answer-note">{note}</p>}
      {(kind === "words" || choices.length > barRows(front).length) && <OtherAnswer />}
    </section>
  );
}

/** What the head whose chip is pointed at does to the number that is asked about; null where it is the one shown. */
function usePreviewChange(): number | null {
  const { page, shownHead } = useView();
  const heads = useHeads();
  const preview = page.front.preview.value;
  if (!preview || heads.state !== "answered") return null;
  if (preview.layer === shownHead.layer && preview.head === shownHead.head) return null;
  const [, , change] = heads.value.heads.find(([l, h]) => l === preview.layer && h === preview.head) ?? [];
  return heads.value.kind === "embedding" ? null : (change ?? null);
}

/** Why there are no bars. */
function NoAnswer() {
  const view = useView();
  const answer = answersOf(view);
  const why = answer.state === "refused" ? answer.reason : answer.state === "answered" ? answer.value.why_not : "";
  return (
    <section
      class={answer.state === "asking" ? "bl-front-answer bl-room" : "bl-front-answer"}
      data-testid="answer"
      aria-label="The model’s answer"
    >
      {why && isPlain(view) ? <Cloze /> : <p class="bl-muted">{why}</p>}
    </section>
  );
}

/** A mask or a tagged token that the reader pins is the one whose answers are shown, until another text comes. */
function useSlot(view: View, front: FrontAnswer | null): void {
  const { focus, overview, page, link } = view;
  const name = useRef("");
  const { query, pinnedQuery } = focus;
  const pin = pinnedQuery && front?.answers.places.includes(query) ? query : null;
  const isLive = link.kernel.value;
  useEffect(() => {
    if (pin === null || !front || pin === front.lead.position || !isLive) return;
    const { rows, places, tags } = front.answers;
    name.current = tags?.[places.indexOf(pin)] ?? rows.find(({ position }) => position === pin)?.name ?? "";
    if (name.current) choose(view, name.current, pin);
  }, [pin, isLive]);
  const forget = () => {
    if (name.current && page.target.peek() === name.current) choose(view, "");
    name.current = "";
  };
  useLayoutEffect(() => forget, [overview.subject]);
}

/** The way to any other word or label. */
function OtherAnswer() {
  const open = useSignal(false);
  return (
    <div class="bl-more-answers">
      <Unfold open={open} />
      {open.value && <AnswerChoice />}
    </div>
  );
}

function Bars({ front, bars }: { front: FrontAnswer; bars: Bar[] }) {
  const { answers, factor } = front;
  const unrelated = useUnrelated(answers.kind);
  const band = unrelated ? [unrelated.low, unrelated.high] : [];
  const track = trackOf(bars, [...curvesOf(front, bars), band], isOpenEnded(answers) ? 0 : 1);
  const asked = bars.find(({ isAsked }) => isAsked) ?? bars[0]!;
  const kinds = stretchesOf(asked, track).map(({ kind }) => kind);
  const legendKind = factor !== 1 || front.changeCount > 0 ? "change" : front.isTogether ? "set" : "head";
  const legends = LEGENDS[legendKind]!;
  const legend = kinds.find((kind) => legends[kind]);
  const place = ownPlace(front);
  const longest = Math.max(...bars.map(({ name }) => tokenText(name).length));
  return (
    <div class={longest > 8 ? "bl-bars bl-long-names" : "bl-bars"}>
      {bars.map((bar, n) => (
        <OneBar
          key={`${bar.position} ${bar.name} ${bar.pieces[0]}`}
          {...{ front, bar, track, unrelated, lead: n === 0, isAsked: bar === asked }}
        />
      ))}
      {unrelated && <UnrelatedWords {...unrelated} />}
      <p class="bl-bars-legend">
        {legend && (
          <>
            <span class={`bl-stretch bl-${legend}`} /> {legends[legend]}
          </>
        )}
      </p>
      {front.own && (
        <p class="bl-bars-legend" data-testid="own">
          <span>
            yours: <i>{tokenWord(front.own.name)}</i>, {place ? ordinal(place) : brief(front.own.before)}
          </span>
        </p>
      )}
    </div>
  );
}

/** Whether numbers have no end of their own at 1: scores; or are small parts of it: words of a vocabulary, shares. */
const isOpenEnded = ({ kind, unit }: FrontAnswer["answers"]): boolean =>
  ["words", "embedding"].includes(kind) || !["probability", "cosine"].includes(unit);

/** What a bar says to who cannot see it: first what it shows, in the same words. */
function spoken({ name, now, off, was }: Bar, head: string): string {
  const before = was !== null && !isAlike(was, now) ? `; was ${brief(was)}` : "";
  const without = off !== null ? `; ${brief(off)} without ${head}` : "";
  return `${tokenWord(name)}, ${short(now)}${before}${without}`;
}

/** What the band behind a similarity is. */
function UnrelatedWords({ n, pairs, low, median, high }: Unrelated) {
  return (
    <p
      class="bl-bars-legend"
      data-testid="unrelated"
      title={`Of ${counted(pairs)} pairs of ${n} unrelated English sentences 5 % are below ${signed(low, 2)}, half below ${signed(median, 2)}, 5 % above ${signed(high, 2)}: in the model without changes`}
    >
      <span class="bl-unrelated" /> {n} unrelated sentences: {signed(low, 2)} to {signed(high, 2)}
    </p>
  );
}

interface OneBarProps {
  front: FrontAnswer;
  bar: Bar;
  track: [number, number];
  unrelated: Unrelated | null;
  lead: boolean; // the first
  isAsked: boolean; // whose change is told
}

function OneBar({ front, bar, track, unrelated, lead, isAsked }: OneBarProps) {
  const view = useView();
  const { link } = view;
  const { preview } = view.page.front;
  const silentHeads: HeadName[] =
    usePreviewChange() === null ? headsInHand(view) : [[preview.value!.layer, preview.value!.head]];
  const { kind, unit } = front.answers;
  const { name, pieces, now, was, about, markers } = bar;
  const percent = (way: number) => `${(100 * way).toFixed(2)}%`;
  const label = kind === "similarity" ? "both texts" : isLone(front.answers) ? "score" : name;
  const box = useFitted(lead ? label : "");
  const number = useFitted(lead ? short(now) : "");
  const isOurs = kind === "similarity" || isLone(front.answers); // the name is no word of the model's
  const hides = kind === "embedding" && !markers;
  const act = () => (hides ? add(view, toToken(view, pieces)[0]!.asked) : ask(view, front, bar));
  const isLive = link.kernel.value;
  const isChoice = front.answers.rows.length > 1 && ["words", "labels", "tags"].includes(kind);
  const acts = kind === "embedding" ? hides : isChoice;
  const needs = acts && !isLive ? `. ${link.needs.value}` : "";
  const title = hides
    ? `${now.toFixed(4)}. Click: hide it from all heads${needs}`
    : `${now.toFixed(4)} (${unit})${about ? ", between two runs" : ""}${needs}`;
  const place = ([lo, hi]: [number, number], value: number) => percent((value - lo) / (hi - lo || 1));
  const stretchStyle = (from: number, to: number) => ({
    left: place(track, from),
    right: percent(1 - (to - track[0]) / (track[1] - track[0] || 1)),
  });
  return (
    <Button
      class={`bl-answer-row${isAsked ? " bl-asked" : ""}${lead ? " bl-lead" : ""}${markers ? " bl-markers" : ""}${isOurs ? " bl-ours" : ""}`}
      aria-label={spoken({ ...bar, name: label }, silentHeads.map(([l, h]) => headLabel(l, h)).join(", "))}
      aria-pressed={isChoice && isLive ? isAsked : undefined}
      disabled={!acts || !isLive}
      title={title}
      onClick={act}
    >
      <span ref={box} class="bl-answer-name">
        {isOurs || markers ? label : <Token text={label} />}
      </span>{" "}
      <span ref={number} class="bl-answer-number bl-number">
        {short(now)}
      </span>{" "}
      <span class="bl-answer-track">
        {unrelated && <span class="bl-unrelated" style={stretchStyle(unrelated.low, unrelated.high)} />}
        {stretchesOf(bar, track, isAsked).map((stretch) => (
          <span
            key={stretch.kind}
            class={`bl-stretch bl-${stretch.kind}`}
            style={{ left: percent(stretch.from), width: percent(stretch.to - stretch.from) }}
          />
        ))}
        {was !== null && !isAlike(was, now) && (
          <span class="bl-was" style={{ left: place(track, was) }}>
            {isAsked && <span>was {brief(was)}</span>}
          </span>
        )}
      </span>
    </Button>
  );
}

/** The box of a text that is as large as it can be whole: how wide it is, in its own size, is said to the style. */
export function useFitted(text: string) {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (!text || !box.current) return;
    const ems = widthOf(box.current.textContent!, getComputedStyle(box.current).fontFamily);
    box.current.style.setProperty("--ems", `${ems}`);
  }, [text]);
  return box;
}

/** Ask about the answer of a bar; the model's first is asked about where nobody chose. */
function ask(view: View, { answers, lead }: FrontAnswer, { name, position }: Bar): void {
  const isOfFirstPlace = answers.places.length === 0 || position === answers.places[0];
  const rows = answers.rows.filter((row) => answers.kind !== "words" || row.position === position);
  const favourite = rows.reduce((a, b) => (b.before > a.before ? b : a));
  if (name === lead.name && position === lead.position) return;
  if (favourite.name === name && isOfFirstPlace && answers.kind !== "tags") choose(view, "");
  else choose(view, name, answers.places.length > 0 ? position : -1);
}
