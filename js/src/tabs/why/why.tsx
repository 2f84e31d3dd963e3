// Why view: the score of the cell in focus, split exactly by where it came from, and the way back to earlier heads.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { LIMITS } from "../../generated/vocabulary";
import { arrived } from "../../kernel/answers";
import { headLabel, plural } from "../../paint/format";
import { Button, Segmented, Select, Unfold } from "../../parts/controls";
import { nounOf } from "../../parts/nouns";
import type { Numbers } from "../../parts/picturetable";
import { Section, Waiting } from "../../parts/section";
import { More } from "../../parts/term";
import { tokenWord } from "../../parts/token";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";
import type { Split, Sum, WhyChoice, WhyPlace } from "../../state/whystate";
import { changeNames, UndoChange } from "../../whatif/undochange";
import { WithUnchanged } from "../compare/runchoice";
import { EarlierLayers, footWords, LargestChart, PairsChart, Waterfall } from "./charts";
import { type Go, Largest, trailOf } from "./largestparts";
import { ScoreMaps, ScoreMapsChart } from "./scoremaps";
import {
  asked,
  cellWords,
  difference,
  isTerm,
  otherKeys,
  PAIRS,
  type Pairs,
  placeOf,
  placeWords,
  samePlace,
  WHY,
} from "./scoresplit";
import { exactWords, moreWords, scoreWords, sumWords, whereWords } from "./splitwords";
import { canTry } from "./trials";

export function Why() {
  const view = useView();
  const heading = useRef<HTMLElement>(null);
  const go = (place: WhyPlace, places: WhyPlace[]) => {
    const { page, synced, overview } = view;
    page.why.trail.value = { trace: overview.trace, places };
    const { against } = page.why.choice.value;
    if (typeof against === "number") page.why.choice.value = { ...page.why.choice.value, against: "others" }; // a key of the cell left
    synced.put({ ...place });
    heading.current?.focus(); // what was clicked is not there any more
  };
  return (
    <section class="bl-why" data-testid="why" ref={heading} tabIndex={-1} aria-label="Why this score">
      <Trail go={go} />
      {view.overview.changes.length > 0 && (
        <p class="bl-note" data-testid="of-original">
          Why explains the unchanged model. The run shown has {changeNames(view.overview)}. <UndoChange />{" "}
          <WithUnchanged>Show both</WithUnchanged>
        </p>
      )}
      <Choices />
      {view.page.why.choice.value.side === "both" ? <BothSides /> : <OneSide go={go} />}
      <ScoreMaps />
    </section>
  );
}

function Trail({ go }: { go: Go }) {
  const view = useView();
  const places = trailOf(view);
  if (places.length < 2) return null;
  const { tokens } = view.overview.keyside;
  const words = ({ layer, head, query, key }: WhyPlace) =>
    `${headLabel(layer, head)} ${tokenWord(tokens[query]!)} → ${tokenWord(tokens[key]!)}`;
  return (
    <nav class="bl-chips" aria-label="Way back">
      {places.slice(0, -1).map((place, n) => (
        <span key={n}>
          <Button class="bl-chip" onClick={() => go(place, places.slice(0, n + 1))}>
            ‹ {words(place)}
          </Button>
        </span>
      ))}
      <span>{words(places.at(-1)!)}</span>
    </nav>
  );
}

/** How the score is split: said in a line, and behind "more" what can be chosen; nothing else than usual is hidden there. */
function Choices() {
  const { page, overview } = useView();
  const { side, against, opened } = page.why.choice.value;
  const isUsual = side === "query" && against === "others" && !opened;
  const isOpen = useSignal(false);
  useEffect(() => {
    if (!isUsual) isOpen.value = true; // they stay under the hand that brings the usual back
  }, [isUsual]);
  return (
    <div class="bl-controls">
      {isOpen.value || !isUsual ? (
        <Switches />
      ) : (
        <span class="bl-muted">compared with: other {plural(nounOf(overview))} on average</span>
      )}
      {isUsual && <Unfold open={isOpen} title="The key’s side, MLPs opened, another word to compare with" />}
    </div>
  );
}

function Switches() {
  const view = useView();
  const { page, overview } = view;
  const { side, against, opened } = page.why.choice.value;
  const put = (change: Partial<WhyChoice>) => {
    page.why.choice.value = { ...page.why.choice.value, ...change };
  };
  const keys = otherKeys(view);
  const option = typeof against === "number" ? "key" : (against ?? "nothing");
  const strongest = () => keys.reduce((best, j) => (weightAt(view, j) > weightAt(view, best) ? j : best), keys[0]!);
  return (
    <>
      <Segmented<WhyChoice["side"]>
        label="stream of"
        value={side}
        choices={[
          { value: "query", label: "Query", title: "What put these numbers into q; the key as it was." },
          { value: "key", label: "Key", title: "What put these numbers into k; the query as it was." },
          { value: "both", label: "Both", title: "The raw score by the kinds of both sides." },
        ]}
        onChange={(to) => put({ side: to })}
      />
      {side !== "both" && (
        <>
          <Segmented
            label="MLPs"
            value={opened ? "opened" : "sources"}
            choices={[
              { value: "sources", label: "As sources" },
              {
                value: "opened",
                label: "Opened",
                title: "Each MLP as the affine map that it is once its gates are kept: exact; no part is an MLP’s.",
              },
            ]}
            onChange={(to) => put({ opened: to === "opened" })}
          />
          <Segmented
            label="compared with"
            value={option}
            choices={[
              {
                value: "others",
                label: `Other ${plural(nounOf(overview))} on average`,
                title: "The mean score of the other keys that the query sees.",
              },
              { value: "key", label: `One ${nounOf(overview)} …`, title: "The score of one other key." },
              { value: "nothing", label: "Nothing", title: "The raw score." },
            ]}
            onChange={(to) =>
              put({ against: to === "key" ? (keys.length > 0 ? strongest() : null) : to === "others" ? to : null })
            }
          />
          {typeof asked(view).against === "number" && (
            <Select
              label="key"
              value={String(against)}
              choices={keys.map((j) => ({
                value: String(j),
                label: `${tokenWord(overview.keyside.tokens[j]!)} (${j})`,
              }))}
              onChange={(to) => put({ against: Number(to) })}
            />
          )}
        </>
      )}
    </>
  );
}

const weightAt = ({ shownHead, focus }: View, key: number) => shownHead.weights.at(focus.query, key);

/** What is not held by a page without a kernel, and which cells are. */
function Refused({ reason }: { reason: string }) {
  const { link } = useView();
  return (
    <p class="bl-empty">
      {reason}{" "}
      {!link.kernel.value && (
        <More
          about={`A saved page holds splits of the heads that were shown when it was saved, for texts of at most ${LIMITS.carried} tokens: those of each query at its strongest key against the average, and all of the pinned cell but a chosen key.`}
        >
          What does it hold?
        </More>
      )}
    </p>
  );
}

/** The split by the sources of one side, drawn once it is here; `isAsked`: it is of what is asked now. */
export function SplitOf({ children }: { children: (split: Split, isAsked: boolean) => ComponentChildren }) {
  const view = useView();
  const question = asked(view);
  const answer = useAnswer(WHY, question);
  askEarly(view);
  if (answer.state === "refused") return <Refused reason={answer.reason} />;
  if (answer.state !== "answered") return <Waiting answer={answer} doing="computing" />;
  const split = answer.value;
  return (
    <>
      {children(
        split,
        Object.entries(question).every(([name, value]) => split[name as keyof Split] === value),
      )}
      <div class="bl-hidden" aria-live="polite">
        {`${moreWords(view, split)} ${whereWords(split)}`}
      </div>
    </>
  );
}

function OneSide({ go }: { go: Go }) {
  const { focus } = useView();
  return (
    <SplitOf>
      {(split, isAsked) => (
        <SplitParts split={split} go={go}>
          {chosenWords(focus)}
          {!isAsked && " · computing what was asked for …"}
        </SplitParts>
      )}
    </SplitOf>
  );
}

/** A split: what it says of the weights, a line about it (`children`), its parts. */
export function SplitParts({
  split,
  go,
  children,
}: {
  split: Split;
  go: Go | null; // to another cell
  children: ComponentChildren;
}) {
  const view = useView();
  return (
    <>
      <h3 class="bl-why-says" data-testid="why-says">
        {moreWords(view, split)} Where from? {whereWords(split)} <More about={exactWords(view, split)} />
      </h3>
      <p class="bl-muted">{children}</p>
      <div class="bl-norms">
        <Section title="How the score was put together" about="in score units">
          <Waterfall split={split} label="How the score was put together" />
        </Section>
        <Section
          title="Largest parts"
          about={go && split.largest.some(({ token }) => token !== null) ? "click a head to ask there" : ""}
        >
          <Largest split={split} go={go} />
        </Section>
        {split.heads && (
          <Section title="Earlier layers" about={`heads${split.mlps ? " and MLPs" : ""}, in score units`}>
            <EarlierLayers split={split} />
          </Section>
        )}
      </div>
      <Foot sum={split} canTry={split.largest.some((part) => canTry(view, part))} />
    </>
  );
}

/** A head that is on its way: what is said of its pinned cell is asked for together with it, not after it. */
function askEarly(view: View): void {
  const { answers, overview, focus, shownHead, synced } = view;
  const [layer, head] = [synced.layer.value, synced.head.value];
  const isComing = layer !== shownHead.layer || head !== shownHead.head;
  if (isComing && focus.pinnedQuery && focus.pinnedKey) answers.get(WHY, overview, { ...asked(view), layer, head });
}

/** How the cell was chosen. */
function chosenWords({ pinnedQuery, pinnedKey }: View["focus"]): string {
  if (pinnedQuery) return pinnedKey ? "the pinned cell" : "the pinned word, where it looks most";
  return `the clearest word of this head${pinnedKey ? ", at the pinned one" : ""}; click a cell to see another`;
}

/** Whether the parts are all of it, and what a split is not. */
function Foot({ sum, canTry = false }: { sum: Sum; canTry?: boolean }) {
  return (
    <p class="bl-note bl-number" data-testid="why-foot">
      {sumWords(sum)} A split, not an experiment{canTry ? ": try a part above." : "."}{" "}
      <More about={`Difference ${difference(sum.gap)}. ${sum.notes.join(" ")}`} />
    </p>
  );
}

/** The raw score by the kinds of both sides. */
function BothSides() {
  const view = useView();
  const answer = useAnswer(PAIRS, placeOf(view));
  if (answer.state === "refused") return <Refused reason={answer.reason} />;
  if (answer.state !== "answered") return <Waiting answer={answer} doing="computing" />;
  const pairs = answer.value;
  return (
    <>
      <h3 class="bl-why-says" data-testid="why-says">
        {scoreWords(view, pairs)}
      </h3>
      <p class="bl-muted">
        Down: what is in the query. Across: what is in the key. Their sums stand at the edges.
        {pairs.kinds.some(isTerm) && " Below: what this model adds to q·k."}
        {!samePlace(pairs, placeOf(view)) && " · computing what was asked for …"}
      </p>
      <div class="bl-scroll">
        <PairsChart pairs={pairs} label={pairsTitle(pairs)} />
      </div>
      <Foot sum={pairs} />
    </>
  );
}

const pairsTitle = ({ layer, head }: Pairs) =>
  `Score of a cell of ${headLabel(layer, head)} by the sources of both sides, nats`;

/** On paper: the same as charts, what is a list on the screen too. */
export function WhyFigure() {
  const view = useView();
  return (
    <>
      {view.page.why.choice.value.side === "both" ? <PairsFigure /> : <SplitFigure />}
      <ScoreMapsChart />
    </>
  );
}

function PairsFigure() {
  const view = useView();
  const answer = useAnswer(PAIRS, placeOf(view));
  if (answer.state !== "answered") return null;
  const pairs = answer.value;
  return (
    <PairsChart pairs={pairs} label={pairsTitle(pairs)} foot={`${placeWords(view, pairs)}: ${footWords(pairs)} nats`} />
  );
}

function SplitFigure() {
  const view = useView();
  const answer = useAnswer(WHY, asked(view));
  if (answer.state !== "answered") return null;
  return (
    <>
      <Waterfall split={answer.value} label={`${cellWords(view, answer.value)}: ${footWords(answer.value)} nats`} />
      <LargestChart split={answer.value} />
      <EarlierLayers split={answer.value} />
    </>
  );
}

/** Every part of the split shown, or every pair of kinds. */
export async function whyNumbers(view: View): Promise<Numbers> {
  const { answers, overview, page } = view;
  if (page.why.choice.value.side === "both") {
    const pairs = await arrived(() => answers.get(PAIRS, overview, placeOf(view)));
    const { kinds, values } = pairs;
    return {
      columns: ["query_source", "key_source", "nats"],
      rows: kinds.flatMap((down, r) => kinds.map((across, c) => [down, across, values[r * kinds.length + c]!])),
      facts: [
        ["split", `${placeWords(view, pairs)}, raw score, MLPs as sources`],
        ["sum", footWords(pairs)],
        ["note on the split", pairs.notes.join(" ")],
      ],
    };
  }
  const split = await arrived(() => answers.get(WHY, overview, asked(view)));
  const { heads, mlps, layer } = split;
  const rowsOf = (values: Float32Array | null, kind: string) =>
    Array.from(values ?? [], (value, n) => {
      const across = kind === "head" ? heads!.length / layer : 1;
      return [kind, Math.floor(n / across), kind === "head" ? n % across : null, value];
    });
  return {
    columns: ["kind", "layer", "head", "nats"],
    rows: [
      ...split.kinds
        .filter(([kind]) => kind !== "head" && kind !== "mlp")
        .map(([kind, value]) => [kind, null, null, value]),
      ...rowsOf(heads, "head"),
      ...rowsOf(mlps, "mlp"),
    ],
    facts: [
      ["split", cellWords(view, split)],
      ["sum", footWords(split)],
      ["note on the split", split.notes.join(" ")],
    ],
  };
}
