// Does it matter? The model's answer without the head, without the cell, without the token that is looked at.

import type { ComponentType } from "preact";
import { useRef, useState } from "preact/hooks";
import { LIMITS } from "../../generated/vocabulary";
import { arrived } from "../../kernel/answers";
import { NEEDS_MODEL } from "../../kernel/kernel";
import { counted, headLabel } from "../../paint/format";
import { quotation } from "../../paint/quotes";
import { Button } from "../../parts/controls";
import type { Numbers } from "../../parts/picturetable";
import { Waiting } from "../../parts/section";
import { changesOf } from "../../state/changequeue";
import { EACH, type Each, targetOf } from "../../state/effects";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";
import type { Matter as Answer } from "../../state/whatif";
import { put } from "../../whatif/doing";
import { AnswerChoice } from "../../whatif/target";
import { UndoChange } from "../../whatif/undochange";
import { withWords } from "./answerwords";
import {
  amountOf,
  baseWords,
  cellName,
  changeText,
  MATTER,
  matterCells,
  numberName,
  RULE,
  tokenName,
  verdict,
} from "./cellverdict";
import { EffectTable } from "./changetable";
import { matterOf } from "./singlechanges";
import { heldWords, WhichWords } from "./whichwords";

const COUNTS = ["No experiment", "One experiment", "Two experiments", "Three experiments"];

/** The cell that the tab is about: the pinned one, or the clearest of the head. */
const placeOf = ({ shownHead, focus }: View) => ({
  layer: shownHead.layer,
  head: shownHead.head,
  query: focus.query,
  key: focus.key,
});

/** The same, and the answer that is asked about: null while it is not known whether the run has it. */
const questionOf = (view: View) => {
  const target = targetOf(view);
  return target && { ...placeOf(view), ...target };
};

/** Whether an answer is to what is asked now. */
const isOf = (matter: Answer, view: View): boolean =>
  Object.entries({ target: "", target_at: -1, ...questionOf(view) }).every(
    ([name, value]) => matter[name as keyof Answer] === value,
  );

/** What was answered of the run before one of its changes was made, while that is the run shown and its cell in focus. */
function answeredBefore(view: View): Answer | null {
  const { page, overview } = view;
  const source = page.whatif.madeOf.value;
  if (source?.subject !== overview.subject) return null;
  const latest = overview.changes.at(-1);
  const isBase = String(changesOf(overview).slice(0, -1)) === String(source.changes);
  return isOf(source.matter, view) && isBase && source.matter.rows.some(({ code }) => code === latest?.code)
    ? source.matter
    : null;
}

interface BodyProps {
  matter: Answer;
  isOld?: boolean; // it is of what was asked before
}

interface BodyOf {
  as: ComponentType<BodyProps>; // what the answer is drawn as
}

export const Matter = () => <MatterAs as={Answered} />;

export function MatterAs({ as: Body }: BodyOf) {
  const view = useView();
  const { link, overview } = view;
  const [cellAsked, ask] = useState("");
  const prior = answeredBefore(view);
  const cell = JSON.stringify([overview.trace, placeOf(view)]);
  const tokens = overview.queries.tokens.length;
  if (prior) return <Body matter={prior} />;
  if (tokens > LIMITS.effects && cellAsked !== cell)
    return link.kernel.value ? <Cost tokens={tokens} start={() => ask(cell)} /> : <Saved as={Body} />;
  return <Asking as={Body} />;
}

/** Without a kernel: what the page holds, or why it does not. */
function Saved({ as: Body }: BodyOf) {
  const view = useView();
  const target = targetOf(view);
  const answer = useAnswer(EACH, target ?? {}, { wait: !target });
  if (answer.state === "asking") return null;
  const refused = answer.state === "refused" && (view.link.kernel.value ? answer.reason : NEEDS_MODEL);
  const reason = answer.state === "refused" ? refused : answer.value.why_not;
  if (answer.state === "refused" || reason) return <p class="bl-empty">{reason}</p>;
  return <Body matter={matterOf(answer.value, view.overview, questionOf(view) ?? placeOf(view))} />;
}

/** Of a long text nothing is run before it is asked for. */
function Cost({ tokens, start }: { tokens: number; start: () => void }) {
  const view = useView();
  return (
    <div class="bl-matter" data-testid="matter">
      <p>
        {cellName(view.overview, placeOf(view))}: to see what it does for the answer, the model reads this text of{" "}
        {counted(tokens)} tokens {view.overview.changes.length > 0 && "at least "}four times.
      </p>
      <p>
        <Button class="bl-button bl-primary" onClick={start}>
          Run it, {counted(4 * tokens)} tokens
        </Button>
      </p>
      <WhichWords />
    </div>
  );
}

function Asking({ as: Body }: BodyOf) {
  const view = useView();
  const question = questionOf(view);
  const answer = useAnswer(MATTER, question ?? placeOf(view), { wait: !question });
  const { trace } = view.overview;
  const refused = useRef<string>(null); // what is refused of a run is refused for its next cell
  const isRefused = answer.state === "refused" && !answer.isStale && view.link.carries.value;
  if (answer.state !== "asking") refused.current = isRefused ? trace : null;
  if (refused.current === trace) return <Saved as={Body} />;
  if (answer.state !== "answered") return <Waiting answer={answer} doing="three runs of the model" />;
  return <Body matter={answer.value} isOld={!isOf(answer.value, view)} />;
}

function Answered({ matter, isOld = false }: BodyProps) {
  const view = useView();
  const { overview, focus, page } = view;
  const [answer, because] = verdict(overview, matter);
  const change = answeredBefore(view) === matter ? overview.changes.at(-1) : undefined;
  const { layer, head, query, key, unit, rows } = matter;
  const isAlike = rows.every(({ name }) => name === rows[0]!.name); // else each row says what its number is of
  const name = numberName(overview, matter, isAlike ? rows[0]! : { name: "" });
  const names = [
    `${headLabel(layer, head)} off`,
    `${tokenName(overview, query)} → ${tokenName(overview, key)} cut in ${headLabel(layer, head)}`,
    `${tokenName(overview, key)} hidden from all heads`,
  ];
  const show = (n: number) => {
    const { asked: request, cover } = rows[n]!;
    const basis = change ? page.whatif.madeOf.value!.changes : changesOf(overview); // each row stands alone
    const changes = basis.filter((_, at) => !cover.includes(at));
    page.whatif.madeOf.value = cover.length > 0 ? null : { subject: overview.subject, changes, matter };
    page.tabChosen.value = true;
    put(view, () => [...changes, request]);
  };
  return (
    <div class="bl-matter" data-testid="matter">
      <h3 class="bl-matter-says" data-testid="matter-says" aria-live="polite">
        <b>{answer}:</b> {because}.
      </h3>
      <p class="bl-muted">
        {cellName(overview, matter)}
        {focus.pinnedQuery && focus.pinnedKey ? "" : " · pin a cell to ask about another"}
        {isOld && " · running …"}
      </p>
      <AnswerChoice />
      {!change && overview.changes.length > 0 && (
        <p data-testid="on-top">
          {baseWords(overview, matter)} <UndoChange />
        </p>
      )}
      <EffectTable
        caption={`${name[0]!.toUpperCase()}${name.slice(1)}`}
        rows={rows.map(({ asked, label, code, cover, why_not, name, before, after, first, first_value }, n) => ({
          name: names[n],
          before: `${isAlike ? "" : `${quotation(name)} `}${amountOf(before, unit)}`,
          after: (
            <span title={after === null ? "" : after.toFixed(6)}>
              {after === null ? "" : amountOf(after, unit)}
              {first && ` · first is ${quotation(first)} ${amountOf(first_value!, unit)}`}
            </span>
          ),
          change: after === null ? "" : changeText(after - before),
          refused: why_not,
          asked,
          label,
          isShown: change ? change.code === code : cover.length === 1 && overview.changes[cover[0]!]!.code === code,
          takeBack: change ? undefined : overview.changes[cover[0]!]?.id,
        }))}
        show={show}
      />
      <p class="bl-muted" title={RULE}>
        {matter.kind === "similarity" && "For their similarity each text is read alone, with the same change. "}
        {COUNTS[rows.filter(({ after }) => after !== null).length]} on this text: later heads may make up for what is
        off.
      </p>
      <WhichWords />
    </div>
  );
}

/** What a page carries; null where it does not. */
async function held(view: View): Promise<Each | null> {
  const { answers, overview, link } = view;
  if (!link.carries.value) return null;
  const singles = await arrived(() => answers.get(EACH, overview, targetOf(view) ?? {}));
  return singles.why_not ? null : singles;
}

/** The rows of the table, for a file. */
export async function matterNumbers(view: View): Promise<Numbers> {
  const { answers, overview } = view;
  const get = async (): Promise<Answer> => {
    const question = questionOf(view) ?? placeOf(view);
    try {
      return await arrived(() => answers.get(MATTER, overview, question));
    } catch (error) {
      const singles = await held(view).catch(() => null);
      if (!singles) throw error;
      return matterOf(singles, overview, question);
    }
  };
  const matter = answeredBefore(view) ?? (await get());
  const facts: [string, string][] = [["number", `${numberName(overview, matter)} (${matter.unit})`]];
  return withWords({ ...matterCells(matter), facts }, await heldWords(view), overview);
}
