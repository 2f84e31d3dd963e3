// One head in a, in b, and b − a, on one scale; and the row of the chosen query as numbers.

import { useContext, useMemo } from "preact/hooks";
import { largestSize } from "../../compute/largest";
import { sorted } from "../../compute/sorted";
import { NOT_ALIGNED } from "../../generated/phrases";
import { MEASURES, type Measure, POSITIVE } from "../../generated/vocabulary";
import { indexed } from "../../paint/colormap";
import { headLabel, scaleEnd, signed, upTo } from "../../paint/format";
import { coloursOf } from "../../paint/palette";
import { Button } from "../../parts/controls";
import { cellWithin, HeatChart, type Run } from "../../parts/heatchart";
import { Legend } from "../../parts/legend";
import { Beside, Paper } from "../../parts/paper";
import { Section, Waiting } from "../../parts/section";
import { numbers, Table } from "../../parts/table";
import { Token, tokenQuote, tokenWord } from "../../parts/token";
import { hideTip, showTip } from "../../parts/tooltip";
import { useView } from "../../state/view";
import { type Comparing, comparingOf, differenceOf, type Maps, named, type Pair, useMaps, windowOf } from "./tworuns";

const SIDE = 360; // px of a picture's longer side
const CELL = 20;
const [WIDE, BETWEEN] = [480, 16]; // units of a sheet that has three maps side by side, and between two of them

/** Runs of units without a partner on one side, or on either. */
function gapsOf(pairs: Pair[], sides: number[]): Run[] {
  const runs: Run[] = [];
  pairs.forEach((pair, n) => {
    if (sides.every((side) => pair[side] !== null)) return;
    const run = runs.at(-1);
    if (run && run[0] + run[1] === n) run[1]++;
    else runs.push([n, 1]);
  });
  return runs;
}

const numberOf = (value: number) => (Number.isNaN(value) ? "not aligned" : signed(value, 3));

/** One cell in words. */
function cellWords({ a, b }: Maps, n: number): string {
  const change = b[n]! - a[n]!;
  return `a ${numberOf(a[n]!)}, b ${numberOf(b[n]!)}${Number.isNaN(change) ? "" : `, b − a ${signed(change, 3)}`}`;
}

/** For a file. */
export function MapsFigure() {
  const answer = comparingOf(useView());
  return answer?.state === "answered" ? <HeadMaps runs={answer.value} /> : null;
}

export function HeadMaps({ runs }: { runs: Comparing }) {
  const answer = useMaps(useView(), runs);
  if (answer.state !== "answered") return <Waiting answer={answer} doing="computing this head in both" />;
  return <Three maps={answer.value} runs={runs} />;
}

function Three({ maps, runs }: { maps: Maps; runs: Comparing }) {
  const view = useView();
  const { dark } = view;
  const { data, aligned, queries, keys } = runs;
  const [rows, cols] = [windowOf(queries, maps.row), windowOf(keys, maps.col)];
  const [down, across] = useMemo(() => [named(queries), named(keys)], [data, aligned]).map((names, n) =>
    windowOf(names, n ? maps.col : maps.row),
  ) as [string[], string[]];
  const change = useMemo(() => differenceOf(maps), [maps]);
  const measure = MEASURES[maps.measure as Measure];
  const isWeight = maps.measure === "weight"; // one scale for all heads; of another measure no end is known
  const top = isWeight ? 1 : scaleEnd(Math.max(largestSize(maps.a), largestSize(maps.b)));
  const wide = useContext(Paper)?.inner ?? 0;
  const columns = wide < WIDE ? 1 : 3;
  const room = wide && cellWithin((wide - BETWEEN * (columns - 1)) / columns, down, across);
  const cell = Math.min(CELL, room || SIDE / Math.max(rows.length, cols.length));
  const scaleWords = isWeight ? "the same for every head" : "up to the largest of a and b";
  const pin = (value: number | null, from: number, n: number) =>
    value === null || value < from || value >= from + n ? null : value - from;
  const pinned = {
    row: pin(runs.query, maps.row, rows.length),
    col: pin(runs.key, maps.col, cols.length),
  };
  const [labelA, labelB] = [headLabel(maps.layer, maps.head), headLabel(...maps.other)];
  const pictures: [label: string, values: Float32Array, isSigned: boolean, sides: number[]][] = [
    [`a, ${labelA}`, maps.a, measure.signed, [0]],
    [`b, ${labelB}`, maps.b, measure.signed, [1]],
    ["b − a", change, true, [0, 1]],
  ];
  const words = (n: number) =>
    `${tokenWord(down[Math.floor(n / cols.length)]!)} → ${tokenWord(across[n % cols.length]!)}: ${cellWords(maps, n)}`;
  const cut = (from: number, n: number, all: number) => (n < all ? `${from} … ${from + n - 1} of ${all}` : "");
  const hasGaps = [...rows, ...cols].some((pair) => pair.includes(null));
  const windows = [cut(maps.row, rows.length, queries.length), cut(maps.col, cols.length, keys.length)];
  return (
    <Section
      title={labelA === labelB ? `${labelA} in both` : `${labelA} of a, ${labelB} of b`}
      about={`${measure.title}${aligned ? ", of aligned words alone" : ""}; row = query, column = key${hasGaps ? `, hatched: ${NOT_ALIGNED}` : ""}${
        windows.some(Boolean) ? `; rows ${windows[0] || "all"}, columns ${windows[1] || "all"}` : ""
      }`}
      testid="compare-maps"
    >
      <Beside class="bl-three" columns={columns}>
        {pictures.map(([label, values, isSigned, sides]) => {
          const colours = coloursOf(isSigned, dark);
          return (
            <div key={label}>
              <h4>{label}</h4>
              <HeatChart
                {...{ label, values, dark, pinned, ...indexed(values, isSigned ? -top : 0, top, colours) }}
                rows={down}
                cols={across}
                gaps={{ rows: gapsOf(rows, sides), cols: gapsOf(cols, sides) }}
                width={cell * cols.length}
                height={cell * rows.length}
                onHover={(at, event) =>
                  at ? showTip(view, event, words(at.row * cols.length + at.col)) : hideTip(view)
                }
                onPick={({ row, col }) => runs.pick({ query: maps.row + row, key: maps.col + col })}
              />
              <Legend
                low={isSigned ? signed(-top, 3) : "0"}
                high={isSigned ? `+${signed(top, 3)}` : signed(top, 3)}
                label={isSigned && sides.length > 1 ? `${POSITIVE}: more in b` : `${measure.symbol}, ${scaleWords}`}
                {...{ colours }}
              />
            </div>
          );
        })}
      </Beside>
      {pinned.row !== null && pinned.col !== null && (
        <p data-testid="compare-cell">{words(pinned.row * cols.length + pinned.col)}</p>
      )}
    </Section>
  );
}

/** What the chosen query looks at, in both; the largest difference first. */
export function RowTable({ runs }: { runs: Comparing }) {
  const answer = useMaps(useView(), runs);
  const { query } = runs;
  if (answer.state !== "answered" || query === null) return null;
  const maps = answer.value;
  const cols = windowOf(runs.keys, maps.col);
  const names = windowOf(named(runs.keys), maps.col);
  const at = (j: number) => (query - maps.row) * cols.length + j;
  const change = (j: number) => maps.b[at(j)]! - maps.a[at(j)]!;
  const size = (j: number) => Math.abs(change(j)) || Math.abs(maps.a[at(j)]! || maps.b[at(j)]! || 0);
  const [a, b] = runs.queries[query]!;
  const lone = a === null || b === null ? `, a query of ${a === null ? "b" : "a"} that is not aligned` : "";
  return (
    <Table<number>
      title={`Row of ${tokenQuote(named(runs.queries)[query]!)}`}
      about={`${headLabel(maps.layer, maps.head)}${lone}; the largest difference first${cols.some((pair) => pair.includes(null)) ? `, –: ${NOT_ALIGNED}` : ""}`}
      rows={sorted(upTo(cols.length), size, true)}
      pinned={(j) => maps.col + j === runs.key}
      columns={[
        {
          name: "key",
          value: (j) => names[j]!,
          show: (j) => (
            <Button class="bl-link" onClick={() => runs.pick({ key: maps.col + j })}>
              <Token text={names[j]!} />
            </Button>
          ),
        },
        numbers("a", (j) => maps.a[at(j)], { digits: 3 }),
        numbers("b", (j) => maps.b[at(j)], { digits: 3 }),
        numbers("b − a", change, { digits: 3 }),
      ]}
    />
  );
}
