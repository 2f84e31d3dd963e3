// Does it matter, in few lines: the answer without the head and without the one weight, and the head among all that ran.
import { signed } from "../../paint/format";
import { useHeads } from "../../state/frontanswers";
import { useView } from "../../state/view";
import type { Matter } from "../../state/whatif";
import { bothWords, headsRun, rankWords, verdict } from "./cellverdict";
import { MatterAs } from "./doesitmatter";

export const MatterLeaf = () => <MatterAs as={Brief} />;

function Brief({ matter, isOld = false }: { matter: Matter; isOld?: boolean }) {
  const { overview } = useView();
  const heads = useHeads();
  const strongest = heads.state === "answered" && overview.changes.length === 0 ? heads.value : null;
  const ran = strongest ? headsRun(strongest, overview) : [];
  const rank = strongest ? rankWords(matter, ran, strongest) : "";
  const [answer, because] = verdict(overview, matter);
  const sentence = (rank && bothWords(overview, matter)) || because;
  return (
    <>
      <p data-testid="leaf-says" aria-live="polite">
        <b>{answer}:</b> {rank && `${rank}. `}
        {sentence}.{isOld && " Running …"}
      </p>
      {rank && ran.length === strongest?.tried && <Ticks heads={ran} matter={matter} />}
    </>
  );
}

/** A line for each head that was run, where the answer goes without it; this one's in colour. */
function Ticks({ heads, matter }: { heads: [number, number, number][]; matter: Matter }) {
  const peak = Math.max(...heads.map(([, , change]) => Math.abs(change)), 1e-9);
  return (
    <>
      <div class="bl-leaf-ticks" aria-hidden="true">
        {heads.map(([layer, head, change]) => (
          <i
            key={`${layer} ${head}`}
            class={layer === matter.layer && head === matter.head ? "bl-on" : ""}
            style={{ left: `${50 + (50 * change) / peak}%` }}
          />
        ))}
      </div>
      <p class="bl-leaf-ends bl-muted bl-number">
        <span>{signed(-peak, 3)}</span>
        <span>each line is one head, at what the answer changes by without it</span>
        <span>+{signed(peak, 3)}</span>
      </p>
    </>
  );
}
