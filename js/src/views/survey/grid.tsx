// The atlas of a corpus: every head as a cell in the colour of a statistic, of the text's, or of their difference.
import { cssColor } from "../../paint/colormap";
import { signedTable, weightTable } from "../../paint/palette";
import { Segmented } from "../../parts/controls";
import { signed } from "../../parts/format";
import { Legend } from "../../parts/legend";
import { number } from "../../parts/numbers";
import { gateSign } from "../../state/gates";
import { headLabel } from "../../state/store";
import { showTip, useView } from "../context";
import { type Choice, labelOf, type Survey } from "./data";

export const allHeads = ({ n_layers, n_heads }: Survey): [layer: number, head: number][] =>
  Array.from({ length: n_layers * n_heads }, (_, n) => [Math.floor(n / n_heads), n % n_heads]);

const TITLES: Record<Choice["colour"], string> = {
  corpus: "mean over the corpus",
  here: "in this text",
  difference: "this text less the corpus mean",
};

export function HeadGrid({ data, name, by, average, colour, put, pick }: Choice) {
  const view = useView();
  const { synced } = view.store;
  const [layer, head] = [synced.layer.value, synced.head.value];
  const mean = (l: number, h: number) => data.mean(name, by, average, l, h);
  const here = (l: number, h: number) => data.here(name, by, l, h);
  const shown = (l: number, h: number) => {
    if (colour === "difference") return here(l, h) - mean(l, h);
    return colour === "here" ? here(l, h) : mean(l, h);
  };
  const all = allHeads(data);
  // one scale for corpus and text, so that a look from one to the other compares
  const most = (value: (l: number, h: number) => number) =>
    Math.max(1e-9, ...all.map(([l, h]) => Math.abs(value(l, h))).filter((v) => !Number.isNaN(v)));
  const isDifference = colour === "difference";
  const high = isDifference ? most(shown) : Math.max(most(mean), most(here));
  const low = isDifference ? -high : 0;
  const table = isDifference ? signedTable(view.dark.value) : weightTable(view.dark.value);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [l, h] = [layer + step[0]!, head + step[1]!];
    if (l < 0 || h < 0 || l >= data.n_layers || h >= data.n_heads) return;
    pick(l, h);
    view.root.current?.querySelector<HTMLElement>(`[data-survey-head="${l}-${h}"]`)?.focus();
  };
  return (
    <section>
      <header class="bl-panel-head">
        <h3>All heads</h3>
        <span class="bl-muted">
          {labelOf(name)}, {TITLES[colour]}
        </span>
      </header>
      <Segmented<Choice["colour"]>
        label="colour"
        value={colour}
        choices={[
          { value: "corpus", label: "Corpus" },
          { value: "here", label: "This text" },
          { value: "difference", label: "Difference" },
        ]}
        onChange={(value) => put({ colour: value })}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys arrive from the buttons inside */}
      <div class="bl-survey-grid" style={{ "--columns": data.n_heads }} onKeyDown={move}>
        <span />
        {Array.from({ length: data.n_heads }, (_, h) => (
          <span key={h} class="bl-axis" aria-hidden="true">
            {h}
          </span>
        ))}
        {all.map(([l, h]) => {
          const chosen = l === layer && h === head;
          return (
            <>
              {h === 0 && (
                <span class="bl-axis" aria-hidden="true">
                  L{l}
                </span>
              )}
              <button
                type="button"
                key={`${l}-${h}`}
                data-survey-head={`${l}-${h}`}
                class={chosen ? "bl-chosen" : ""}
                aria-pressed={chosen}
                tabIndex={chosen ? 0 : -1}
                style={{ background: cssColor(shown(l, h), low, high, table) }}
                aria-label={`${headLabel(l, h)}: ${number(shown(l, h), 3)}`}
                onClick={() => pick(l, h)}
                onPointerEnter={(event) =>
                  showTip(
                    view,
                    event.currentTarget,
                    <>
                      <b>{headLabel(l, h)}</b> {labelOf(name)}
                      <br />
                      corpus {number(mean(l, h), 3)} ± {number(data.spread(name, by, l, h), 3)}, this text{" "}
                      {number(here(l, h), 3)}
                      <br />
                      {gateSign(data.gates[l]![h]!).join("")} mostly {data.gates[l]![h]} (
                      {Math.round(100 * data.shares[l]![h]!)} % of the texts)
                    </>,
                  )
                }
                onPointerLeave={() => {
                  view.tip.value = null;
                }}
              />
            </>
          );
        })}
      </div>
      <Legend low={signed(low)} high={signed(high)} label="layers down, heads across; click a head" table={table} />
    </section>
  );
}
