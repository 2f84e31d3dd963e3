// What heads are asked: how the atlas is ordered and coloured, by a statistic or by what is pinned, and from which value on.

import { STATISTICS } from "../generated/vocabulary";
import { Check, into, Select, Slider } from "../parts/controls";
import { statistics } from "../parts/sentence";
import type { HeadValue } from "../state/headvalue";
import { useView, type View } from "../state/view";
import { labelOf } from "./headvalues";
import { useKeepInView } from "./keepinview";

/** All that there is to choose from, for this text. */
const valueChoices = (view: View): { value: string; label: string; title?: string }[] =>
  [
    ...["cell", "row", "contrast", "token"],
    ...(view.overview.measures.includes("norm") ? ["variation"] : []),
    ...statistics(view.overview),
    ...(view.overview.changes.length > 0 ? ["moved"] : []),
    ...(view.page.whatif.colour.value === "matters" || view.page.atlasOrder.value === "matters" ? ["matters"] : []),
  ]
    .filter((name) => name !== "contrast" || view.overview.measures.includes("norm"))
    .map((value) => ({ value, label: OF_CHANGE[value] ?? labelOf(view, value), title: STATISTICS[value]?.about }));

const OF_CHANGE: Record<string, string> = { moved: "looks elsewhere now", matters: "matters to the answer" };

/** Questions of one click: the button, what has to be pinned, and what it asks. */
const ASKED: [name: string, label: string, needs: ("row" | "col")[], about: string][] = [
  ["cell", "this cell", ["row", "col"], "Order the heads by the pinned cell: which head links these two tokens most?"],
  ["row", "this row", ["row"], "Order the heads by the entropy of the pinned query's row: which head is sharp here?"],
  ["token", "this token", ["col"], "Order the heads by what the pinned key gets of all queries, mean"],
  ["variation", "weight ≠ norm", [], "Order the heads by how much of a row lies elsewhere by norm than by weight"],
];

/** One click asks, a second one goes back to layer and head. */
function Questions() {
  const view = useView();
  const { atlasOrder } = view.page;
  const known = valueChoices(view).map(({ value }) => value);
  return (
    <div class="bl-group bl-asks" role="group" aria-label="Which heads">
      {ASKED.filter(([name]) => known.includes(name)).map(([name, label, needs, about]) => {
        const missing = needs.some((side) => view[side] === null);
        return (
          <button
            type="button"
            key={name}
            class="bl-chip"
            aria-pressed={atlasOrder.value === name}
            disabled={missing && atlasOrder.value !== name}
            title={
              missing
                ? `Pin ${needs.length > 1 ? "a cell" : needs[0] === "row" ? "a query" : "a key"} first. ${about}`
                : about
            }
            onClick={() => into(atlasOrder)(atlasOrder.value === name ? "position" : name)}
          >
            {label}
          </button>
        );
      })}
    </div>
  );
}

/** Order, bars and colour, and the least value of heads that are shown. */
export function Ranking({ value, gates }: { value: HeadValue | null; gates: string }) {
  const view = useView();
  useKeepInView();
  const { atlasOrder, atlasStat, atlasMinimum, atlasFill, commonScale } = view.page;
  const choices = valueChoices(view);
  const others = [{ value: "position", label: "layer, head" }, ...(gates ? [{ value: "gate", label: gates }] : [])];
  return (
    <div class="bl-controls bl-ranking">
      <Questions />
      <span class="bl-group">
        <Check
          label="colour"
          title={`Fill each head with the colour of its value${value ? `: ${value.label}` : ""}`}
          checked={atlasFill.value}
          onChange={into(atlasFill)}
        />
        <Check
          label="one scale"
          title="One scale for all thumbnails"
          checked={commonScale.value}
          onChange={into(commonScale)}
        />
      </span>
      <Select label="order" value={atlasOrder.value} choices={[...others, ...choices]} onChange={into(atlasOrder)} />
      {value && ["position", "gate"].includes(atlasOrder.value) && (
        <Select
          label="bars"
          value={value.name}
          choices={choices}
          onChange={(name) => {
            const isOfChange = name === "moved" || name === "matters";
            view.page.whatif.colour.value = isOfChange ? name : "";
            if (!isOfChange) atlasStat.value = name;
          }}
        />
      )}
      {value && (
        <Slider
          label="at least"
          title="Heads below leave their place empty"
          min={0}
          max={1}
          step={0.01}
          value={atlasMinimum.value}
          text={value.text(atlasMinimum.value * value.most)}
          onChange={into(atlasMinimum)}
        />
      )}
    </div>
  );
}
