// Two runs in one view: what they are, their tokens aligned, the heads by how far apart they are, and one head in both.

import { NOT_ALIGNED } from "../../generated/phrases";
import { directionOf } from "../../paint/quotes";
import { textProps } from "../../paint/textprops";
import { Button, Check, into } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { Waiting } from "../../parts/section";
import { Token } from "../../parts/token";
import { useView } from "../../state/view";
import { Answers } from "./bothanswers";
import { Heads } from "./headdistances";
import { HeadMaps, RowTable } from "./headmaps";
import { CompareWith, StopComparing } from "./runchoice";
import { type Comparing, comparingOf, type Pair } from "./tworuns";

export function Compare() {
  const view = useView();
  const answer = comparingOf(view);
  if (!answer) return <CompareWith />;
  const runs = answer.state === "answered" ? answer.value : null;
  return (
    <div class="bl-compare" data-testid="compare">
      {!view.overview.compared && <StopComparing refused={answer.state === "refused" ? answer.reason : ""} />}
      {runs && <Two key={JSON.stringify([runs.other, runs.aligned])} runs={runs} />}
      {answer.state === "asking" && <Waiting answer={answer} doing="running the other text" />}
    </div>
  );
}

function Two({ runs }: { runs: Comparing }) {
  const { page } = useView();
  const { data, aligned, hasGaps } = runs;
  const { sides, said: sentences, by, keys } = data;
  const unit = by.slice(0, -1);
  const original = sides.some(({ changes }) => changes.length > 0) && "nothing changed";
  return (
    <>
      <dl class="bl-runs">
        {sides.map(({ model, text, changes }, n) => (
          <>
            <dt key={n}>{"ab"[n]}</dt>
            <dd>
              <span class="bl-muted">{[model, changes.join(", ") || original].filter(Boolean).join(" · ")}</span>{" "}
              <bdi {...textProps(text)}>{text}</bdi>
            </dd>
          </>
        ))}
      </dl>
      <Answers runs={runs} />
      <p class="bl-controls">
        <span data-testid="compare-said">{sentences[Number(aligned)]}</span>
        {hasGaps && (
          <Check
            label="aligned words only"
            title="As if both texts had their aligned words alone"
            value={aligned}
            onChange={into(page.alignedOnly)}
          />
        )}
      </p>
      <Strip runs={runs} />
      <p class="bl-muted">
        a above, b below{hasGaps && !aligned && `; hatched: ${NOT_ALIGNED}`}. Click a {unit} for its row
        {keys === null && ", with Shift for its column"}.
      </p>
      <Heads runs={runs} />
      <div class="bl-compare-head">
        <HeadMaps runs={runs} />
        <RowTable runs={runs} />
      </div>
    </>
  );
}

/** Every unit of both texts, none left out; a click chooses the query. */
function Strip({ runs }: { runs: Comparing }) {
  const { root } = useView();
  const { queries, query, key, pick } = runs;
  const isSquare = runs.data.keys === null;
  const at = () => ({ row: 0, col: query ?? 0 });
  const move = onGridKey({ rows: 1, cols: queries.length }, at, ({ col }) => {
    pick({ query: col });
    root.current?.querySelector<HTMLElement>(`[data-unit="${col}"]`)?.focus();
  });
  const unit = (pair: Pair, n: number) => (
    <Button
      key={n}
      data-unit={n}
      class={isSquare && n === key ? "bl-as-key" : ""}
      aria-pressed={n === query}
      tabIndex={n === (query ?? 0) ? 0 : -1}
      onClick={({ shiftKey }) => pick(shiftKey && isSquare ? { key: n } : { query: n })}
    >
      {[pair[0], pair[1]].map((name, side) =>
        name === null ? (
          <span key={side} class="bl-nothing">
            <span class="bl-hidden">nothing aligned in {"ab"[side]}</span>
          </span>
        ) : (
          <Token key={side} text={name} />
        ),
      )}
    </Button>
  );
  return (
    <div
      class="bl-word-strip"
      dir={directionOf(runs.data.sides[0]!.text)}
      role="group"
      aria-label="Aligned tokens, a above b"
      onKeyDown={move}
    >
      {queries.map(unit)}
    </div>
  );
}
