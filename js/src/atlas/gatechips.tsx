// Gates of the heads shown as buttons: each lets the heads of other gates fade.

import { sorted } from "../compute/sorted";
import { GATES } from "../generated/vocabulary";
import { into } from "../parts/controls";
import { useView } from "../state/view";
import { atLength, gateSign, useByWeight } from "./gatemarks";

/** How many heads have which gate; a click lets the others fade. */
export function GateChips({ labels }: { labels: string[] }) {
  const { page, overview } = useView();
  const { gateFilter } = page;
  const byWeight = useByWeight();
  const count = (name: string) => labels.filter((label) => label === name).length;
  return (
    <div class="bl-chips" role="group" aria-label={`Gates ${atLength(overview)}`}>
      <span class="bl-muted">
        Gates {atLength(overview)}
        {byWeight}:
      </span>
      {sorted([...new Set(labels)], count, true).map((label) => (
        <button
          type="button"
          key={label}
          class="bl-chip"
          aria-pressed={gateFilter.value === label}
          title={`${GATES[label]?.about} Click: the other heads fade`}
          onClick={() => into(gateFilter)(gateFilter.value === label ? "" : label)}
        >
          <b>{gateSign(label)}</b> {label} <span class="bl-number bl-muted">{count(label)}</span>
        </button>
      ))}
    </div>
  );
}
