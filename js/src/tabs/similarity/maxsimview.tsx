// Why a late-interaction model gives two texts their score: lines to each token's best one, all products, the matches.
import { useMemo, useRef } from "preact/hooks";
import { percent } from "../../paint/format";
import { Button } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { numbers, Table } from "../../parts/table";
import { Token, tokenQuote } from "../../parts/token";
import { useWidth } from "../../parts/width";
import { useView } from "../../state/view";
import type { Place } from "./chosenpair";
import { Links } from "./links";
import {
  drawnOf,
  KINDS,
  lateChosen,
  lateSplit,
  type Match,
  matchesOf,
  partWords,
  skippedWords,
  sumWords,
} from "./maxsim";
import { LateMatrix } from "./maxsimmatrix";
import { openRun } from "./run";
import type { Late, Similar } from "./twotexts";

interface Props {
  data: Similar;
  late: Late;
}

export function LateInteraction({ data, late }: Props) {
  const view = useView();
  const split = useMemo(() => lateSplit(data, late), [data]);
  const matches = useMemo(() => matchesOf(late), [data]);
  const { rows, cols } = useMemo(() => drawnOf(data, late), [data]);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const choice = lateChosen(view, data, late, split);
  const pair = choice.pair!;
  const isOn = ({ a, b }: Place) => a === pair.a && b === pair.b;
  const go = (to: Place) => {
    choice.choose(to);
    view.page.announcement.value = choice.words(to);
  };
  const inMatrix = onGridKey(
    { rows: rows.length, cols: cols.length },
    () => ({ row: Math.max(0, rows.indexOf(pair.a)), col: Math.max(0, cols.indexOf(pair.b)) }),
    ({ row, col }) => go({ a: rows[row]!, b: cols[col]! }),
  );
  const inList = onGridKey(
    { rows: 1, cols: matches.length },
    () => ({ row: 0, col: Math.max(0, matches.findIndex(isOn)) }),
    ({ col }) => go(matches[col]!),
  );
  return (
    <>
      <div class="bl-similar bl-late">
        <div ref={box}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from match to match */}
          <div role="group" tabIndex={0} aria-label="Matches as lines: arrow keys choose" onKeyDown={inList}>
            <Links {...{ split, rows, cols, choice: choice, width }} all />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys go from cell to cell */}
          <div role="group" tabIndex={0} aria-label="All pairs of tokens: arrow keys choose" onKeyDown={inMatrix}>
            <LateMatrix {...{ data, late, split, rows, cols, choice: choice, width }} />
          </div>
        </div>
        <div class="bl-similar-side">
          <Table<Match>
            title="Matches"
            about="each token of the query with its best one of the passage"
            rows={matches}
            pinned={isOn}
            columns={[
              {
                name: "query",
                value: ({ a }) => split.a[a]!.label,
                show: (match) => (
                  <Button
                    class="bl-link"
                    aria-pressed={isOn(match)}
                    title={KINDS[match.kind] || undefined}
                    onClick={() => go(match)}
                  >
                    <Token text={split.a[match.a]!.label} />
                  </Button>
                ),
              },
              {
                name: "passage",
                value: ({ b }) => split.b[b]!.label,
                show: ({ b }) => <Token text={split.b[b]!.label} />,
              },
              numbers("cosine", ({ cosine }) => cosine, { digits: 3, title: "Of the two tokens’ vectors" }),
              {
                name: "share",
                title: "Of the score; the shares add up to 100 %",
                value: ({ share }) => share,
                show: ({ share }) => percent(share),
              },
              {
                name: "what",
                label: " ",
                value: ({ kind }) => KINDS[kind],
                show: ({ kind }) => <span class="bl-muted">{KINDS[kind]}</span>,
              },
            ]}
          />
          <p data-testid="late-pair">{choice.words(pair)}.</p>
          {!view.link.alone.value && <WhyEach {...{ data, late, pair }} />}
        </div>
      </div>
      <p class="bl-muted" data-testid="similar-said">
        {[
          sumWords(data, late),
          skippedWords(data, late),
          partWords(data, rows, cols),
          "A token’s vector has read its whole text, so a large cosine does not say that the score rests on that word alone; no word is taken out here.",
          ...data.notes,
        ]
          .filter((one) => one)
          .join(" ")}
      </p>
    </>
  );
}

/** The run of each text, with the token of the pair pinned; one that the model adds to a query is in no run. */
function WhyEach({ data, late, pair }: Props & { pair: Place }) {
  const view = useView();
  const { running, link } = view;
  return (
    <p class="bl-controls">
      {([0, 1] as const).map((n) => {
        const at = late.scored[n][n ? pair.b : pair.a]!;
        const isAdded = late.kinds[n][at] === "added";
        return (
          <Button
            key={n}
            class="bl-button"
            disabled={!link.kernel.value || running.value || isAdded}
            title={
              isAdded
                ? "The model adds this token to the query: the run of the text does not have it"
                : `The run of text ${"ab"[n]} with this token pinned, and where its scores came from`
            }
            onClick={() => openRun(view, data.sides[n]!.read, at).catch(() => undefined)} // the link says why
          >
            Why the {n ? "passage" : "query"}’s {tokenQuote(data.sides[n]!.tokens[at]!)}? ›
          </Button>
        );
      })}
    </p>
  );
}

/** For a file: both pictures. */
export function LateFigure({ data, late }: Props) {
  const view = useView();
  const split = lateSplit(data, late);
  const axes = drawnOf(data, late);
  const shared = { split, ...axes, choice: lateChosen(view, data, late, split), width: 560 };
  return (
    <>
      <Links {...shared} all />
      <LateMatrix {...shared} data={data} late={late} />
    </>
  );
}
