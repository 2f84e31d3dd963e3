// Which words does the answer rest on? Each token with a bar and its number, by one of five methods; opened by a click.

import { useContext, useState } from "preact/hooks";
import { ATTRIBUTIONS, LIMITS } from "../../generated/vocabulary";
import { arrived } from "../../kernel/answers";
import { counted } from "../../paint/format";
import { Button, Select, wordChoices } from "../../parts/controls";
import { CopyButton } from "../../parts/copy";
import { AsTables, PictureTable } from "../../parts/picturetable";
import { Waiting } from "../../parts/section";
import { More } from "../../parts/term";
import { Token } from "../../parts/token";
import { targetOf } from "../../state/effects";
import { useAnswer } from "../../state/useanswer";
import { useView, type View } from "../../state/view";
import { changeNames } from "../../whatif/undochange";
import {
  type Attributed,
  endsOf,
  FAITHFUL,
  faithWords,
  legendWords,
  most,
  restsOn,
  thing,
  WORDS,
  wordCells,
  writer,
} from "./answerwords";

const METHODS = wordChoices(Object.keys(ATTRIBUTIONS), ATTRIBUTIONS);

/** How often the model reads the text, where that is more than once. */
const COST: Record<string, string> = {
  occlusion: "once for each token",
  "integrated gradients": "16 to 1,000 times, with slopes",
};

const nameOf = ({ overview, page }: View) => `${overview.trace} ${page.whatif.words.value.method}`;

/** Whether it is run: of a long text only when it is asked for. */
function isRun(view: View): boolean {
  const { method, run } = view.page.whatif.words.value;
  return !(method in COST) || view.overview.keyside.tokens.length <= LIMITS.attributed || run === nameOf(view);
}

/** What is shown, or null: not opened, or not there. */
export async function heldWords(view: View): Promise<Attributed | null> {
  const { open, method } = view.page.whatif.words.value;
  if (!open || !isRun(view)) return null;
  const question = { attribution: method, ...(targetOf(view) ?? {}) };
  return arrived(() => view.answers.get(WORDS, view.overview, question)).catch(() => null);
}

const put = ({ whatif: { words } }: View["page"], change: Partial<typeof words.value>) => {
  words.value = { ...words.value, ...change };
};

export function WhichWords() {
  const { page } = useView();
  const { open } = page.whatif.words.value;
  const toggle = (event: { currentTarget: HTMLDetailsElement }) => {
    if (event.currentTarget.open !== open) put(page, { open: event.currentTarget.open });
  };
  return (
    <details class="bl-which-words" data-testid="which-words" open={open} onToggle={toggle}>
      <summary>Which words does the answer rest on?</summary>
      {open && <Opened />}
    </details>
  );
}

function Opened() {
  const view = useView();
  const { page, overview } = view;
  const { method } = page.whatif.words.value;
  return (
    <div class="bl-matter">
      <Select label="method" value={method} choices={METHODS} onChange={(to) => put(page, { method: to })} />
      {isRun(view) ? (
        <Asking method={method} />
      ) : (
        <p>
          For this the model reads the text of {counted(overview.keyside.tokens.length)} tokens {COST[method]}.{" "}
          <Button class="bl-button bl-primary" onClick={() => put(page, { run: nameOf(view) })}>
            Run it
          </Button>
        </p>
      )}
    </div>
  );
}

function Asking({ method }: { method: string }) {
  const view = useView();
  const target = targetOf(view);
  const question = { attribution: method, ...(target ?? {}) };
  const answer = useAnswer(WORDS, question, { wait: !target });
  if (answer.state !== "answered") return <Waiting answer={answer} doing="running the model" />;
  const { value } = answer;
  if (value.why_not) return <p class="bl-empty">{value.why_not}</p>;
  return <Tokens found={value as Attributed & { values: Float64Array }} isOld={value.attribution !== method} />;
}

function Tokens({ found, isOld }: { found: Attributed & { values: Float64Array }; isOld: boolean }) {
  const view = useView();
  const { overview } = view;
  const tables = useContext(AsTables);
  const { values } = found;
  const [write, { raise, lowers }] = [writer(found), most(values)];
  const cells = () => wordCells(found, overview);
  const [low, high] = endsOf(values);
  const share = (value: number) => (high > low && !Number.isNaN(value) ? `${(100 * value) / (high - low)}%` : "0%");
  const bar = (value: number) => ({ left: share(Math.min(value, 0) - low), width: share(Math.abs(value)) });
  const named = new Set([...raise, ...(lowers === null ? [] : [lowers])]);
  return (
    <>
      <p data-testid="which-words-says" aria-live="polite">
        <b>{restsOn(found, overview)}</b>
        {isOld && " Running …"}
      </p>
      {overview.changes.length > 0 && <p class="bl-muted">Of the run shown, with {changeNames(overview)}.</p>}
      {tables ? (
        <PictureTable
          title="What each token counts for"
          table={() => ({ ...cells(), rows: cells().rows.map((r) => [...r]) })}
        />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
        <div class="bl-scroll bl-word-bars" role="region" aria-label="What each token counts for" tabIndex={0}>
          <ol>
            {Array.from(values, (value, n) => (
              <li key={n} class={named.has(n) ? "bl-most" : ""}>
                <Token text={overview.keyside.tokens[n]!} />
                <span class="bl-word-bar" aria-hidden="true">
                  <i class={value < 0 ? "bl-lowers" : ""} style={bar(value)} />
                </span>
                <span class="bl-number" title={Number.isNaN(value) ? "" : value.toFixed(6)}>
                  {write(value)}
                </span>
              </li>
            ))}
          </ol>
        </div>
      )}
      <p class="bl-muted">
        {legendWords(found)}{" "}
        {!tables && <CopyButton rows={() => [cells().columns, ...cells().rows.map((row) => [...row])]} />}
      </p>
      <Faithful key={`${overview.trace} ${found.attribution} ${thing(found, false)}`} found={found} />
    </>
  );
}

/** Whether the order of tokens is one of what the model uses: run when it is asked for. */
function Faithful({ found }: { found: Attributed }) {
  const view = useView();
  const [isAsked, ask] = useState(false);
  const tokens = view.overview.keyside.tokens.length;
  const target = targetOf(view);
  const args = { attribution: found.attribution, ...(target ?? {}) };
  const isPair = found.removable.length > 1;
  if (!found.runs) return null;
  if (tokens > LIMITS.faithful)
    return (
      <p class="bl-muted">
        Whether this order is faithful is tested in texts of up to {counted(LIMITS.faithful)} tokens.
      </p>
    );
  if (isAsked && target) return <Tested found={found} args={args} />;
  return (
    <p>
      <Button
        class="bl-button"
        disabled={!view.link.kernel.value}
        title="Takes out the tokens that come first in this order, and as many at random"
        onClick={() => ask(true)}
      >
        Is this order faithful? {counted(found.runs)} runs of {isPair ? "the texts" : "the text"}
      </Button>
    </p>
  );
}

function Tested({ found, args }: { found: Attributed; args: { attribution: string } }) {
  const { overview } = useView();
  const answer = useAnswer(FAITHFUL, args);
  if (answer.state !== "answered")
    return (
      <Waiting answer={answer} doing={`running the text without some of its tokens, ${counted(found.runs)} times`} />
    );
  const { rows } = answer.value;
  return (
    <div data-testid="faithful" aria-live="polite">
      {rows.map((row, n) => (
        <p key={n}>
          {rows.length > 1 && <b>{n ? "Second text" : "First text"}, read alone: </b>}
          {faithWords(found, row, overview.changes.length > 0).map(([words, about]) => (
            <span key={about}>
              {words} <More about={about} />{" "}
            </span>
          ))}
        </p>
      ))}
      <p class="bl-muted">One text is an anecdote: what holds here need not hold elsewhere.</p>
    </div>
  );
}
