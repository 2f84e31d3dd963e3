// What the contrast says in a sentence, what became of it without a word or a head, and both scores.
import { useRef, useState } from "preact/hooks";
import type { CaseWithout, SearchCase, Strip, StripRow } from "../generated/answers";
import type { SearchQuestions } from "../generated/vocabulary";
import { counted, signed } from "../paint/format";
import { Button, Segmented } from "../parts/controls";
import { useWidth } from "../parts/width";
import { byJudgement } from "./judgement";
import { orderAfter } from "./order";
import { digitsOf, Scores } from "./scores";
import type { Pair } from "./shapes";
import { caseOf, type Experiment, type Search, useLatest, useSearch } from "./state";
import { takeOut } from "./triptych";
import { begin } from "./works/searchwork";

const FOLDED = 6; // rows of a strip
const DRAWS = 8; // as in bertlens/search/view/retrieval_view.py

/** A sentence whose quoted words stand in the letters of the text. */
export function Sentence({ text }: { text: string }) {
  const segments = text.split(/“([^”]*)”/);
  return (
    <>
      {segments.map((part, n) =>
        n % 2 ? (
          <i key={n} class="bl-text-word">
            {part}
          </i>
        ) : (
          part
        ),
      )}
    </>
  );
}

const rowOf = (strip: Strip | null, experiment: Experiment): StripRow | undefined =>
  strip?.rows.find((row) =>
    experiment.kind === "head"
      ? !row.key && row.name === experiment.name
      : row.key === experiment.key && row.side === experiment.side && experiment.how === "hidden",
  );

/** Both scores without what is taken out, as soon as they are known; first from the strip, which has them already. */
function outcomeOf(search: Search, experiment: Experiment | null): { value: CaseWithout | null; reason: string } {
  if (!experiment) return { value: null, reason: "" };
  const about = caseOf(search);
  const strip = search.get(experiment.kind === "head" ? "search_heads" : "search_words", about);
  const row = strip.state === "answered" ? rowOf(strip.value, experiment) : undefined;
  const tried = row && strip.state === "answered" ? { ...row, before: strip.value.before } : null;
  if (experiment.kind === "head") return { value: tried, reason: strip.state === "refused" ? strip.reason : "" };
  const { side, key: word, how } = experiment;
  const full = search.get("search_without", { ...about, side, word, how, draws: DRAWS });
  if (full.state === "answered") return { value: full.value, reason: "" };
  const quick = tried ?? (search.kernel.value ? quickOf(search, { ...about, side, word, how, draws: 0 }) : null);
  return { value: quick, reason: full.state === "refused" && !quick ? full.reason : "" };
}

const quickOf = (search: Search, fields: SearchQuestions["search_without"]): CaseWithout | null => {
  const answer = search.get("search_without", fields);
  return answer.state === "answered" ? answer.value : null;
};

export function Claim({ of }: { of: SearchCase }) {
  const search = useSearch();
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const experiment = search.experiment.value;
  const outcome = outcomeOf(search, experiment);
  const isRewritten = Object.values(search.texts.value).some((text) => text !== null);
  const original = search.get("search_case", caseOf(search, false));
  const isRead = search.get("search_case", caseOf(search)).state === "answered"; // what is drawn may be of the text before
  const was = isRewritten && isRead && original.state === "answered" ? original.value.scores : null;
  const before: Pair = outcome.value?.before ?? was ?? of.scores;
  const after: Pair | null = outcome.value?.after ?? (was ? of.scores : null);
  const { value: answer } = outcome;
  const about = caseOf(search);
  const strip = useLatest(search.get("search_words", about), JSON.stringify(about));
  const tried = strip.value ? triedWords(strip.value) : [];
  const [best] = tried;
  const nameOf = (key: string) => of.texts.wrong.names[of.texts.wrong.keys.indexOf(key)] ?? "";
  const key = best?.key ?? (strip.value || strip.waits ? "" : of.named); // where none could be tried, what the split names
  const name = best?.name ?? nameOf(key);
  const names = sidesOf(of);
  const failures = search.overview.questions.failed.filter(Boolean).length;
  return (
    <div class="bl-claim-row">
      <div class="bl-claim" data-testid="claim">
        <p>
          <Sentence text={byJudgement(of, of.said)} />
        </p>
        <p class="bl-outcome" aria-live="polite" data-testid="outcome">
          {experiment && !answer && (outcome.reason || "…")}
          {answer && <Sentence text={byJudgement(of, answer.said)} />}
          {!experiment && was && turnedWords(was, of.scores)}
        </p>
        <div class="bl-controls">
          {!experiment && key && (
            <Button class="bl-button bl-primary" onClick={() => takeOut(search, "wrong", key, name)}>
              What if <i class="bl-text-word">{name}</i> were not there?
            </Button>
          )}
          {!experiment && !strip.value && strip.waits && of.named && (
            <span class="bl-muted" role="status">
              trying its words …
            </span>
          )}
          {of.named && failures > 1 && search.typed.value === null && (
            <Button
              class="bl-button"
              title="Without the word that is named in each of them: work of minutes, which can be stopped"
              onClick={() => {
                begin(search, "turns");
                search.tab.value = "kinds";
              }}
            >
              And in all {counted(failures)} failures?
            </Button>
          )}
          {experiment && (
            <Button
              class="bl-button"
              onClick={() => {
                search.experiment.value = null;
              }}
            >
              Put it back
            </Button>
          )}
          {experiment?.kind === "word" && search.kernel.value && (
            <Segmented
              label="word"
              value={experiment.how}
              choices={[
                { value: "hidden", label: "hidden", title: "Seen by no head and left out of the pooling; places stay" },
                { value: "deleted", label: "deleted", title: "Cut out of the text, which is read anew" },
              ]}
              onChange={(how) => {
                search.experiment.value = { ...experiment, how };
              }}
            />
          )}
        </div>
        {strip.value && <Tried strip={strip.value} tried={tried} named={nameOf(of.named)} />}
      </div>
      <div ref={box} class="bl-scores" data-testid="scores" data-turned={answer?.turned ?? false}>
        <h3>
          Scores{" "}
          <span class="bl-muted">
            difference {gapText(before)}
            {after && ` → ${gapText(after)}`}
          </span>
        </h3>
        <Scores {...{ names, before, after, width, dark: search.dark }} />
      </div>
    </div>
  );
}

/** The words of the wrong passage without which the order is nearer to turning, that which does most first. */
export function triedWords(strip: Strip): StripRow[] {
  const toTurn = -Math.sign(strip.before[0] - strip.before[1]);
  return strip.rows
    .filter((row) => row.side === "wrong" && row.key && toTurn * changeOf(strip, row) > 0)
    .sort((a, b) => toTurn * (changeOf(strip, b) - changeOf(strip, a)));
}

/** What was tried in the wrong passage; and what the split named before, where that is another word. */
function Tried({ strip, tried, named }: { strip: Strip; tried: StripRow[]; named: string }) {
  const count = strip.rows.filter(({ side }) => side === "wrong").length;
  if (count === 0) return null;
  const isOther = named && named !== tried[0]?.name;
  return (
    <p class="bl-tried bl-muted" data-testid="tried">
      Of its words {count} were tried, each hidden
      {tried.length > 0 ? ": " : "; the order is no nearer to turning without any."}
      {tried.slice(0, 3).map((row, n) => (
        <span key={row.key}>
          {n > 0 && ", "}
          <i class="bl-text-word">{row.name}</i> <span class="bl-number">{plus(changeOf(strip, row), 3)}</span>
        </span>
      ))}
      {tried.length > 0 && "."}
      {isOther && (
        <>
          {" "}
          The split alone would have named <i class="bl-text-word">{named}</i>.
        </>
      )}
    </p>
  );
}

const plus = (number: number, digits: number): string =>
  (number > 0 && Number(number.toFixed(digits)) ? "+" : "") + signed(number, digits);

const gapText = (pair: Pair): string => {
  const gap = pair[0] - pair[1];
  return plus(gap, digitsOf(pair, [gap, 0]));
};

/** What a rewriting did to the order. */
export function turnedWords(was: Pair, now: Pair): string {
  return `Rewritten so, ${orderAfter(was, now)} (${gapText(was)} → ${gapText(now)}).`;
}

/** Both passages in a word. */
export const sidesOf = ({ judged }: SearchCase): [string, string] =>
  judged ? ["wrong", "right"] : ["one", "the other"];

/** Words or heads, and how the difference moves without each. */
export function StripOf({ of, kind }: { of: SearchCase; kind: "word" | "head" }) {
  const search = useSearch();
  const op = kind === "word" ? "search_words" : "search_heads";
  const about = caseOf(search);
  const { value: strip, reason, waits } = useLatest(search.get(op, about), JSON.stringify(about));
  const experiment = search.experiment.value;
  const [isUnfolded, setUnfolded] = useState(false);
  const rows = isUnfolded ? (strip?.rows ?? []) : (strip?.rows ?? []).slice(0, FOLDED);
  const title = kind === "word" ? "Words that matter here" : "Heads that matter here";
  const peak = Math.max(1e-9, ...(strip?.rows ?? []).map((row) => Math.abs(changeOf(strip!, row))));
  const isChosen = (row: StripRow) =>
    experiment !== null &&
    (experiment.kind === "head"
      ? !row.key && experiment.name === row.name
      : experiment.key === row.key && experiment.side === row.side);
  const [wrong, right] = sidesOf(of);
  const places = { query: "question", wrong, right };
  const choose = (row: StripRow) => {
    if (row.key) takeOut(search, row.side!, row.key, row.name);
    else search.experiment.value = isChosen(row) ? null : { kind: "head", name: row.name };
  };
  return (
    <section class="bl-strip" aria-label={title} data-testid={`strip-${kind}`}>
      <h3>
        {title} <span class="bl-muted">and how the difference of {signedGap(of)} moves without each</span>
      </h3>
      {!strip && <p class="bl-empty">{waits ? `${reason || "trying each"} …` : reason}</p>}
      <div class="bl-strip-rows">
        {rows.map((row) => (
          <Button
            key={`${row.side}-${row.key}-${row.name}`}
            class="bl-strip-row"
            aria-pressed={isChosen(row)}
            title={byJudgement(of, row.said)}
            onClick={() => choose(row)}
          >
            <b class={row.key ? "bl-text-word" : ""}>{row.name}</b>
            <span class="bl-muted">{row.side ? places[row.side] : ""}</span>
            <span class="bl-strip-bar">
              <span
                class={changeOf(strip!, row) < 0 ? "bl-minus" : "bl-plus"}
                style={{ width: `${(100 * Math.abs(changeOf(strip!, row))) / peak}%` }}
              />
            </span>
            <span class="bl-number">
              {plus(changeOf(strip!, row), 3)}
              {row.turned && <b class="bl-turns"> turns</b>}
            </span>
          </Button>
        ))}
      </div>
      {strip && strip.rows.length > FOLDED && (
        <Button class="bl-link" aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
          {isUnfolded ? "Fewer" : `All ${strip.rows.length} that were tried`}
        </Button>
      )}
      {kind === "head" && strip && (
        <p class="bl-muted">
          The {strip.rows.length} of {strip.heads} heads whose parts of the two scores differ most, each off in the runs
          of all texts.
        </p>
      )}
    </section>
  );
}

const changeOf = (strip: Strip, { after }: StripRow): number =>
  after[0] - after[1] - (strip.before[0] - strip.before[1]);
const signedGap = ({ scores }: SearchCase): string => gapText(scores);
