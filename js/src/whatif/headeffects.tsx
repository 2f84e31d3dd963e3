// Which heads matter? What the answer loses, or gains, without each head alone: in words beside the atlas's colours.

import type { HeadName } from "../generated/vocabulary";
import { headLabel } from "../paint/format";
import { ranked } from "../paint/ranked";
import { Button, Select } from "../parts/controls";
import { Section } from "../parts/section";
import { More } from "../parts/term";
import { type Answers, metricOf, type Sweep, spearman, strongest, sweep } from "../state/effects";
import { useView } from "../state/view";
import { AnswerChoice } from "./target";

export function Matters({ answers }: { answers: Answers }) {
  const view = useView();
  const { page, overview } = view;
  const metric = metricOf(view);
  if (!metric) return null;
  const effects = sweep(view, metric.name);
  const isTurn = answers.kind === "embedding" && overview.changes.length === 0;
  const isAnyOff = overview.changes.some(({ off }) => off) ? "; one that is off, against the run without that" : "";
  return (
    <Section
      title="Which heads matter?"
      about={`each switched off alone${overview.changes.length > 0 ? `, on top of the changes${isAnyOff}` : ""}`}
      testid="matters"
    >
      <AnswerChoice />
      {answers.metrics.length > 1 && (
        <Select
          label="change of"
          value={metric.name}
          choices={answers.metrics.map(({ name, label, unit }) => ({ value: name, label: `${label} (${unit})` }))}
          onChange={(name) => {
            page.whatif.metric.value = name;
          }}
        />
      )}
      {effects.count > 0 &&
        (isTurn ? (
          <Strongest title="The text’s vector turns most without" sign={-1} effects={effects} isTurn />
        ) : (
          <>
            <Strongest title={`Without these ${metric.label} falls`} sign={-1} effects={effects} />
            <Strongest title="Without these it rises" sign={1} effects={effects} />
          </>
        ))}
      <p class="bl-muted" data-testid="sweep-state">
        {stateOf(effects)} {effects.count > 0 && <More about={exactWords(effects, metric.unit)} />}
      </p>
    </Section>
  );
}

/** How far the numbers are: not computed, being computed, or all there. */
export function stateOf({ values, exact, count, estimated, refused }: Sweep): string {
  const tail = estimated ? ", the others estimated (○)" : "";
  if (refused && count === 0) return `Not computed: ${refused}`;
  if (refused) return `${exact} of ${values.length} heads tried (●)${tail}: ${refused}`;
  if (exact < values.length) return `${exact} of ${values.length} heads tried so far (●)${tail} …`;
  return `All ${values.length} heads tried, in this text.`;
}

/** The unit, and how well the estimate ordered the heads. */
export function exactWords({ values, exact, estimated, unasked }: Sweep, unit: string): string {
  const about = `In ${unit}, each head switched off alone.`;
  if (exact < values.length || unasked) return about;
  if (!estimated) return `${about} No estimate: it begins at its extreme.`;
  const numbers = estimated.filter((value) => !Number.isNaN(value)); // of what is off there is none
  const rho = spearman(
    numbers,
    values.filter((_, n) => !Number.isNaN(estimated[n])),
  );
  if (Number.isNaN(rho)) return about;
  return `${about} The estimate’s order agrees with ρ = ${rho.toFixed(2)} (Spearman, n = ${numbers.length}).`;
}

interface StrongestProps {
  title: string;
  sign: 1 | -1;
  effects: Sweep;
  isTurn?: boolean; // a fall of the cosine with the vector as it was, which is 1 and cannot rise
}

/** Five heads at most, each a button that shows it. */
function Strongest({ title, sign, effects: { values, count, isExact }, isTurn = false }: StrongestProps) {
  const { overview, synced } = useView();
  const heads = strongest(values, overview.n_heads, sign);
  const texts = ranked(heads.map(({ value }) => (isTurn ? -value : value)));
  const show = ([layer, head]: HeadName) => synced.put({ layer, head, layer_map: "" });
  return (
    <p>
      <span class={sign < 0 ? "bl-falls" : "bl-rises"} aria-hidden="true" /> {title}:{" "}
      {heads.length === 0 && (count < values.length ? "none so far" : "none")}
      {heads.map(({ name, value }, n) => (
        <Button key={String(name)} class="bl-head-link" onClick={() => show(name)}>
          {headLabel(...name)}{" "}
          <span class="bl-number" title={value.toFixed(4)}>
            {isExact(...name) ? "" : "≈ "}
            {sign > 0 && texts[n]! < "l" && "+"}
            {texts[n]}
          </span>
        </Button>
      ))}
    </p>
  );
}
