// Which heads matter? What the answer loses, or gains, without each head alone: in words beside the atlas's colours.

import type { HeadName } from "../generated/vocabulary";
import { headLabel } from "../paint/format";
import { ranked } from "../paint/ranked";
import { Select } from "../parts/controls";
import { Section } from "../parts/section";
import { type Answers, metricOf, type Sweep, spearman, strongest, sweep } from "../state/effects";
import { useView } from "../state/view";

export function Matters({ answers }: { answers: Answers }) {
  const view = useView();
  const { page, overview } = view;
  const metric = metricOf(view);
  if (!metric) return null;
  const effects = sweep(view, metric.name);
  return (
    <Section
      title="Which heads matter?"
      about={`each switched off alone${overview.changes.length > 0 ? ", on top of the changes" : ""}`}
      testid="matters"
    >
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
      {effects.known > 0 && (
        <>
          <Strongest title={`${metric.label} falls without`} sign={-1} effects={effects} />
          <Strongest title="and rises without, so their loss helps it" sign={1} effects={effects} />
        </>
      )}
      <p class="bl-muted" data-testid="sweep-state">
        {stateOf(effects, metric.unit)}
      </p>
    </Section>
  );
}

/** How far the numbers are: not computed, being computed, or all there. */
function stateOf({ values, exact, known, estimated, refused }: Sweep, unit: string): string {
  const heads = `${exact} of ${values.length} heads`;
  const others = estimated ? ", the others estimated (○)" : "";
  if (refused && known === 0) return `Not computed (${refused}).`;
  if (refused) return `${heads} exact (●)${others} (${refused}).`;
  if (exact < values.length) return `Being computed: ${heads} exact (●)${others} …`;
  return `${heads} exact (●), ${unit}, in this text${agreement(estimated, values)}`;
}

/** How well the estimate ordered the heads. */
function agreement(estimated: Float32Array | null, exact: Float32Array): string {
  if (!estimated) return "; no estimate: it begins at its extreme";
  const rho = spearman(estimated, exact);
  return Number.isNaN(rho)
    ? ""
    : `; the estimate’s order agrees with ρ = ${rho.toFixed(2)} (Spearman, n = ${exact.length})`;
}

interface StrongestProps {
  title: string;
  sign: 1 | -1;
  effects: Sweep;
}

/** Five heads at most, each a button that shows it. */
function Strongest({ title, sign, effects: { values, known, isExact } }: StrongestProps) {
  const { overview, synced } = useView();
  const heads = strongest(values, overview.n_heads, sign);
  const texts = ranked(heads.map(({ value }) => value));
  const show = ([layer, head]: HeadName) => synced.put({ layer, head, layer_map: "" });
  return (
    <p>
      <span class={sign < 0 ? "bl-falls" : "bl-rises"} aria-hidden="true" /> {title}:{" "}
      {heads.length === 0 && (known < values.length ? "none so far" : "none")}
      {heads.map(({ name, value }, n) => (
        <button type="button" key={String(name)} class="bl-head-link" onClick={() => show(name)}>
          {headLabel(...name)}{" "}
          <span class="bl-number" title={value.toFixed(4)}>
            {isExact(...name) ? "" : "≈ "}
            {sign > 0 && texts[n]! < "l" && "+"}
            {texts[n]}
          </span>
        </button>
      ))}
    </p>
  );
}
