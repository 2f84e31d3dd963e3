// Why two texts are similar: both as fields, the number, the pairs that it is a sum of, and what is left without a word.
import { batch, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { UNITS } from "../../generated/vocabulary";
import type { Answer } from "../../kernel/answers";
import { NEEDS_MODEL } from "../../kernel/kernel";
import { counted, percent, signed } from "../../paint/format";
import { textProps } from "../../paint/textprops";
import { Button, into, Segmented, Submit, wordChoices } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { Waiting } from "../../parts/section";
import { tokenQuote } from "../../parts/token";
import { useWidth } from "../../parts/width";
import { useView } from "../../state/view";
import { ByLayer } from "./bylayer";
import { chosenOf, type Place } from "./chosenpair";
import { Links } from "./links";
import { GROWS } from "./maxsim";
import { LateFigure, LateInteraction } from "./maxsimview";
import { Pairs, TriedWords, useTried } from "./pairs";
import { compareTexts, openRun } from "./run";
import { digitsFor, digitsOfParts, foldedOf, gapWords, largestOf, splitOf, triedOf } from "./splits";
import { SumMatrix } from "./summatrix";
import {
  baselineOf,
  functionWords,
  type Similar,
  SPLITS,
  type SplitName,
  similarOf,
  splitNameOf,
  withSplit,
} from "./twotexts";
import { SharedWords } from "./vocabulary";

export function Similarity() {
  const view = useView();
  const answer = similarOf(view);
  const memo = useRef<Similar | null>(null);
  if (answer?.state === "answered") memo.current = answer.value;
  const isAsking = answer?.state === "asking";
  const data = answer?.state === "answered" || isAsking ? memo.current : null;
  return (
    <div class="bl-similarity" data-testid="similarity">
      <Texts data={data} isAsking={isAsking} />
      {answer?.state === "refused" && <p role="alert">{answer.reason}</p>}
      {data &&
        (data.late ? (
          <LateInteraction key={keyOf(data)} data={data} late={data.late} />
        ) : (
          <Why key={keyOf(data)} data={data} />
        ))}
      {!answer && (
        <p class="bl-muted">
          Each text is read alone. Their similarity is a number, and a sum over pairs of their words.
        </p>
      )}
      {isAsking && !data && <Waiting answer={answer} doing="reading both texts" />}
    </div>
  );
}

const keyOf = ({ sides }: Similar) => JSON.stringify(sides.map(({ read }) => read));

/** Both texts as they can be typed, and the number. */
function Texts({ data, isAsking }: { data: Similar | null; isAsking: boolean }) {
  const view = useView();
  const { page, link, overview, synced } = view;
  const typed = page.similarTo.value;
  const textOf = (n: 0 | 1) => data?.sides[n].text ?? (typed["ab"[n] as "a" | "b"] || (n ? "" : overview.text));
  const texts = [useSignal(textOf(0)), useSignal(textOf(1))] as const;
  const source = useRef(data); // whose texts stand in the fields; an effect after the first paint would undo what was typed
  useEffect(() => {
    if (source.current === data) return;
    source.current = data;
    batch(() => {
      texts[0].value = textOf(0);
      texts[1].value = textOf(1);
    });
  }, [data]);
  const second = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!data && page.tabChosen.peek()) second.current?.focus();
  }, []);
  const live = link.kernel.value;
  const field = (n: 0 | 1) => (
    <input
      ref={n ? second : undefined}
      type="text"
      aria-label={`Text ${"ab"[n]}`}
      placeholder={n ? "a second text" : "a text"}
      value={texts[n].value}
      disabled={!live}
      title={live ? undefined : link.alone.value ? NEEDS_MODEL : link.needs.value}
      {...textProps(texts[n].value)}
      onInput={({ currentTarget }) => {
        texts[n].value = currentTarget.value;
      }}
    />
  );
  const [a, b] = texts.map(({ value }) => value);
  const submit = () => {
    compareTexts(view, a!, b!, data?.tasks);
    if (synced.parts.value.includes("head") && a !== overview.text) view.run(a!, "").catch(() => undefined);
  };
  return (
    <form class="bl-similar-texts" aria-label="Two texts">
      {field(0)}
      {field(1)}
      <Submit disabled={!live || !a!.trim() || !b!.trim()} submit={submit}>
        {isAsking ? "…" : "Run"}
      </Submit>
      {data && !isAsking && (
        <span data-testid="similar-value" class="bl-similar-value">
          {functionWords(data)} <b>{signed(data.value, digitsFor(data.value))}</b>
          {data.function !== GROWS && <Baseline />}
        </span>
      )}
    </form>
  );
}

/** What the number is beside those of unrelated texts. */
function Baseline() {
  const answer = baselineOf(useView());
  if (answer.state !== "answered") return null;
  const { low, high, n, pairs, median } = answer.value;
  const digits = digitsFor(Math.max(Math.abs(low), Math.abs(high))) - 1;
  return (
    <span
      data-testid="similar-baseline"
      title={`Of ${counted(pairs)} pairs of ${n} unrelated English sentences 5 % are below ${signed(low, digits)}, half below ${signed(median, digits)}, 5 % above ${signed(high, digits)}`}
    >
      {" "}
      · unrelated texts {signed(low, digits)} to {signed(high, digits)}
    </span>
  );
}

function Why({ data: told }: { data: Similar }) {
  const view = useView();
  const { page } = view;
  const answer = withSplit(view, told);
  const data = useMemo(
    () => (answer.state === "answered" ? answer.value : { ...told, pairs: null }),
    [told, answer.state, splitNameOf(view, told)],
  );
  const byWords = page.similarBy.value === "words";
  const split = useMemo(() => splitOf(data, byWords), [data, byWords]);
  const folded = useMemo(() => foldedOf(split, data.sides), [split]);
  const { tried, ask } = useTried(data);
  const without = tried?.state === "answered" ? tried.value : null;
  const largest = useMemo(() => largestOf(split, without), [split, without]);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const total = data.terms?.[0]?.[1] ?? data.value;
  const digits = Math.max(digitsFor(total), digitsOfParts(largest));
  const choice = chosenOf(view, data, split, largest.pairs[0] ?? null, digits);
  const { pair } = choice;
  const [rows, cols] = [folded?.rows ?? [], folded?.cols ?? []].map((lines) =>
    lines.filter(({ kind }) => kind === "unit").map(({ units }) => units[0]!),
  ) as [number[], number[]];
  const go = (to: Place) => {
    choice.choose(to);
    page.announcement.value = choice.words(to);
  };
  const inMatrix = onGridKey(
    { rows: rows.length, cols: cols.length },
    () => ({ row: Math.max(0, rows.indexOf(pair?.a ?? -1)), col: Math.max(0, cols.indexOf(pair?.b ?? -1)) }),
    ({ row, col }) => go({ a: rows[row]!, b: cols[col]! }),
  );
  const inList = onGridKey(
    { rows: 1, cols: largest.pairs.length, count: largest.pairs.length },
    () => ({
      row: 0,
      col: Math.max(
        0,
        largest.pairs.findIndex(({ a, b }) => a === pair?.a && b === pair.b),
      ),
    }),
    ({ col }) => go(largest.pairs[col]!),
  );
  const experiment = pair && without && triedOf(without, split.a[pair.a]!, split.b[pair.b]!);
  return (
    <>
      <div class="bl-similar">
        <div ref={box}>
          {folded && rows.length > 0 && cols.length > 0 && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from pair to pair
            <div role="group" tabIndex={0} aria-label="Pairs as lines: arrow keys choose" onKeyDown={inList}>
              <Links {...{ split, rows, cols, choice: choice }} width={width} />
            </div>
          )}
          {folded && (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from cell to cell
            <div role="group" tabIndex={0} aria-label="Parts of all pairs: arrow keys choose" onKeyDown={inMatrix}>
              <SumMatrix {...{ folded, choice: choice, width, digits }} />
            </div>
          )}
          {!data.pairs && data.why_not && (
            <p data-testid="similar-why-not">
              No split by {data.splits.length > 0 ? SPLITS.output : "pairs of words"}: {data.why_not}.
            </p>
          )}
          <Progress answer={answer} />
          {data.terms && <ByLayer whole={total} />}
        </div>
        <div class="bl-similar-side">
          {data.vocabulary && data.vocabulary.words.length > 0 && (
            <SharedWords {...{ data, vocabulary: data.vocabulary, split, choice }} />
          )}
          <Pairs {...{ data, split, largest: largest, choice: choice, tried, ask, digits }} />
          {pair && experiment && (
            <TriedWords
              a={split.a[pair.a]!.label}
              b={split.b[pair.b]!.label}
              {...{ tried: experiment, data, digits }}
            />
          )}
          {pair && !view.link.alone.value && <WhyEach data={data} pair={pair} split={split} />}
          <div class="bl-controls bl-similar-choices">
            <SplitChoice data={told} />
            <Segmented
              label="by"
              value={byWords ? "words" : "pieces"}
              choices={wordChoices<string>(["words", "pieces"], UNITS)}
              onChange={into(page.similarBy)}
            />
          </div>
        </div>
      </div>
      <p class="bl-muted" data-testid="similar-said">
        {gapWords(data)} {splitWords(data, splitNameOf(view, told), without !== null)} {data.notes.join(" ")}
        {data.vocabulary && ` ${data.vocabulary.said}`}
      </p>
    </>
  );
}

/** Which split is shown, and how far it goes. */
function splitWords({ pairs, vocabulary }: Similar, name: SplitName | null, isTried: boolean): string {
  const experiments = isTried ? " Numbers with a sign are experiments: the change when a word is taken out." : "";
  if (!pairs || !name || vocabulary) return experiments.trim();
  return name === "output"
    ? `Split by the vectors of the last layer: a word’s part holds what it took in of its text.${experiments}`
    : `Split by the tokens that went in: attention weights, LayerNorm deviations and gates of MLPs as the run had them.${experiments}`;
}

/** Which split is shown, where there are two or the one takes work. */
function SplitChoice({ data }: { data: Similar }) {
  const view = useView();
  const name = splitNameOf(view, data);
  if (data.splits.length < 2 && (name || data.splits.length === 0)) return null;
  const runs = counted(data.sides[0].tokens.length + data.sides[1].tokens.length);
  const about = {
    output: "Exact: what each token’s last vector puts in",
    input: `What each token puts in through all layers: about the work of ${runs} forward passes`,
  };
  return (
    <Segmented<string>
      label="split by"
      value={name ?? ""}
      choices={data.splits.map((value) => ({ value, label: LABELS[value], title: about[value] }))}
      onChange={into(view.page.similarOf)}
    />
  );
}

const LABELS: Record<SplitName, string> = { output: "last layer", input: "input tokens" };

/** That a split is on its way, and how to leave it. */
function Progress({ answer }: { answer: Answer<Similar> }) {
  const { page } = useView();
  if (answer.state === "answered") return null;
  return (
    <p class="bl-controls">
      {answer.state === "refused" ? answer.reason : "splitting by the tokens that went in …"}
      {answer.state === "asking" && answer.done !== undefined && <span class="bl-number">{percent(answer.done)}</span>}
      <Button class="bl-button" onClick={() => into(page.similarOf)("none")}>
        Cancel
      </Button>
    </p>
  );
}

/** The run of each text, with the word of the pair pinned and “Why does it look there?” open. */
function WhyEach({ data, pair, split }: { data: Similar; pair: Place; split: ReturnType<typeof splitOf> }) {
  const view = useView();
  const { running, link } = view;
  const open = (n: 0 | 1) => {
    const unit = n ? split.b[pair.b]! : split.a[pair.a]!;
    openRun(view, data.sides[n]!.read, unit.at[0]!).catch(() => undefined); // the link says why
  };
  return (
    <p class="bl-controls">
      {([0, 1] as const).map((n) => (
        <Button
          key={n}
          class="bl-button"
          disabled={!link.kernel.value || running.value}
          title={`The run of text ${"ab"[n]} with this word pinned, and where its scores came from`}
          onClick={() => open(n)}
        >
          Why {"ab"[n]}’s {tokenQuote((n ? split.b[pair.b]! : split.a[pair.a]!).label)}? ›
        </Button>
      ))}
    </p>
  );
}

/** For a file: both pictures. */
export function SimilarityFigure() {
  const view = useView();
  const answer = similarOf(view);
  if (answer?.state !== "answered") return null;
  if (answer.value.late) return <LateFigure data={answer.value} late={answer.value.late} />;
  const splitAnswer = withSplit(view, answer.value);
  if (splitAnswer.state !== "answered") return null;
  const data = splitAnswer.value;
  const split = splitOf(data, view.page.similarBy.value === "words");
  const folded = foldedOf(split, data.sides);
  if (!folded) return null;
  const digits = digitsFor(data.terms![0]![1]);
  const choice = chosenOf(view, data, split, null, digits);
  const unitsIn = (lines: typeof folded.rows) =>
    lines.filter(({ kind }) => kind === "unit").map(({ units }) => units[0]!);
  return (
    <>
      <Links split={split} rows={unitsIn(folded.rows)} cols={unitsIn(folded.cols)} choice={choice} width={560} />
      <SumMatrix folded={folded} choice={choice} width={560} digits={digits} />
    </>
  );
}
