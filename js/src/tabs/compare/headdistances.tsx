// All heads by how far apart they are in two runs; where they are not matched by index, the one of b that is most alike.

import { useContext } from "preact/hooks";
import { sorted } from "../../compute/sorted";
import { cssColor, inkOn } from "../../paint/colormap";
import { headLabel } from "../../paint/format";
import { weightColours } from "../../paint/palette";
import { Button } from "../../parts/controls";
import { onGridKey } from "../../parts/gridkeys";
import { HeadLink } from "../../parts/headlink";
import { Legend } from "../../parts/legend";
import { AsTables, PictureTable } from "../../parts/picturetable";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { More } from "../../parts/term";
import { useView } from "../../state/view";
import { type Comparing, useHeads } from "./tworuns";

const MOST_NATS = Math.LN2; // nats that two rows can be apart: where every scale ends

export function Heads({ runs }: { runs: Comparing }) {
  const answer = useHeads(runs);
  if (answer.state !== "answered") return <Waiting answer={answer} doing="comparing all heads" />;
  const { apart: distances, most: farthest, nearest } = answer.value;
  if (nearest) return <Nearest rows={nearest} />;
  return (
    <div class="bl-compare-heads">
      <Atlas apart={distances!} by={runs.data.by} />
      <Section title="Most different" about="click: the head, at the cell where it differs most">
        {farthest!.length === 0 ? (
          <p data-testid="compare-most">No head looks elsewhere.</p>
        ) : (
          <ol data-testid="compare-most">
            {farthest!.map(({ layer, head, words, cell: [query, key] }) => (
              <li key={words}>
                <HeadLink at={[layer, head]} pick={() => runs.pick({ layer, head, query, key })} />
                {words.slice(headLabel(layer, head).length)}
              </li>
            ))}
          </ol>
        )}
      </Section>
    </div>
  );
}

/** What changed most comes first. */
function Atlas({ apart, by }: { apart: number[]; by: string }) {
  const { synced, overview, root, dark } = useView();
  const order = sorted(
    apart.map((nats, n) => ({ nats, layer: Math.floor(n / overview.n_heads), head: n % overview.n_heads })),
    ({ nats }) => nats,
    true,
  );
  const title = "Heads, what changed most first";
  const { layer, head } = synced;
  const position = order.findIndex((one) => one.layer === layer.value && one.head === head.value);
  const colours = weightColours(dark);
  const move = onGridKey(
    { rows: 1, cols: order.length },
    () => ({ row: 0, col: position }),
    ({ col }) => {
      const { layer, head } = order[col]!;
      synced.put({ layer, head });
      root.current?.querySelector<HTMLElement>(`[data-apart="${layer}-${head}"]`)?.focus();
    },
  );
  const table = () => ({
    columns: ["head", "nats apart"],
    rows: order.map(({ nats, layer, head }) => [headLabel(layer, head), nats]),
  });
  const about = `attention α, Jensen-Shannon divergence in nats, mean over aligned ${by}`;
  if (useContext(AsTables)) return <PictureTable title={`${title}: ${about}`} table={table} />;
  return (
    <Section
      title={title}
      about={
        <>
          0 = the same, {MOST_NATS.toFixed(3)} = nothing on the same aligned {by} <More about={`Of ${about}.`} />
        </>
      }
    >
      <div class="bl-apart" role="group" aria-label={title} onKeyDown={move}>
        {order.map(({ nats, layer, head }, n) => {
          const background = cssColor(nats, 0, MOST_NATS, colours);
          return (
            <Button
              key={`${layer}-${head}`}
              data-apart={`${layer}-${head}`}
              aria-pressed={n === position}
              tabIndex={n === position ? 0 : -1}
              style={{ background, color: inkOn(background) }}
              onClick={() => synced.put({ layer, head })}
            >
              {headLabel(layer, head)} <b>{nats.toFixed(3)}</b>
            </Button>
          );
        })}
      </div>
      <Legend low="0" high={MOST_NATS.toFixed(3)} label="nats apart, the whole scale" colours={colours} />
    </Section>
  );
}

type Row = [layer: number, head: number, layerB: number, headB: number, nats: number];

function Nearest({ rows }: { rows: Row[] }) {
  const { synced } = useView();
  return (
    <Table<Row>
      title="Nearest heads"
      about="of every head of a the one of b whose attention is most alike, by Jensen-Shannon divergence; of so many, one is near by chance"
      first="nats apart"
      rows={rows}
      pinned={([layer, head]) => layer === synced.layer.value && head === synced.head.value}
      columns={[
        {
          name: "a",
          value: ([layer, head]) => headLabel(layer, head),
          show: ([layer, head]) => <HeadLink at={[layer, head]} pick={(layer, head) => synced.put({ layer, head })} />,
        },
        { name: "b", value: ([, , layer, head]) => headLabel(layer, head) },
        numbers("nats apart", ([, , , , nats]) => nats, { digits: 3 }),
      ]}
    />
  );
}
