// Which heads matter? What the answer loses, or gains, without each head alone: in words beside the atlas's colours.
import { Select } from "../../parts/controls";
import { headLabel } from "../../parts/format";
import { Section } from "../../parts/section";
import type { HeadName } from "../../vocabulary";
import { useView } from "../context";
import { type Answers, effect, metricOf, spearman, strongest, sweep } from "./data";

export function Matters({ answers }: { answers: Answers }) {
  const view = useView();
  const { page, overview } = view;
  const metric = metricOf(view);
  if (!metric) return null;
  const { values, exact, isExact, estimated, refused } = sweep(view, metric.name);
  const total = values.length;
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
      <Strongest title={`${metric.label} falls without`} sign={-1} {...{ values, isExact }} />
      <Strongest title="and rises without, so their loss helps it" sign={1} {...{ values, isExact }} />
      <p class="bl-muted" data-testid="sweep-state">
        {refused
          ? refused
          : `${exact} of ${total} heads exact (●)${exact < total ? `, the others ${estimated ? "estimated (○)" : "to come"} …` : `, ${metric.unit}, in this text${agreement(estimated, values)}`}`}
      </p>
    </Section>
  );
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
  values: Float32Array;
  isExact: (layer: number, head: number) => boolean;
}

/** Five heads at most, each a button that shows it. */
function Strongest({ title, sign, values, isExact }: StrongestProps) {
  const { overview, synced } = useView();
  const heads = strongest(values, overview.n_heads, sign);
  const show = ([layer, head]: HeadName) => synced.put({ layer, head, layer_map: "" });
  return (
    <p>
      <span class={sign < 0 ? "bl-falls" : "bl-rises"} aria-hidden="true" /> {title}: {heads.length === 0 && "none"}
      {heads.map(({ name, value }) => (
        <button type="button" key={String(name)} class="bl-head-link" onClick={() => show(name)}>
          {headLabel(...name)}{" "}
          <span class="bl-number" title={value.toFixed(4)}>
            {isExact(...name) ? "" : "≈ "}
            {effect(value)}
          </span>
        </button>
      ))}
    </p>
  );
}
