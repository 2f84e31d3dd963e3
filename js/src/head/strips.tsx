// What stands between the columns' labels and the cells: norms of the keys, named runs of them.
import { useMemo } from "preact/hooks";
import { keyNorms, type Unit, within } from "../compute/grid";
import { px, share } from "../paint/format";
import { weightColours } from "../paint/palette";
import { Pixels, usePaint } from "../parts/pixels";
import { Token } from "../parts/token";
import { hideTip, showTip } from "../parts/tooltip";
import { useView } from "../state/view";

/** ‖f(x)‖ of every key, above its column: what the weights are multiplied with. */
export function NormStrip({ norms, cols, cell }: { norms: Float32Array; cols: Unit[]; cell: number }) {
  const view = useView();
  const colours = weightColours(view.dark);
  const sums = useMemo(() => keyNorms(norms, cols), [norms, cols]);
  const hi = sums.reduce((a, b) => Math.max(a, b), 1e-9);
  const paint = usePaint(sums, { lo: 0, hi, colours });
  const tip = (n: number) =>
    cols[n] && (
      <>
        ‖f(x)‖ of <Token text={cols[n].label} /> <b class="bl-number">{share(sums[n]!)}</b>
      </>
    );
  return (
    <div
      class="bl-norm-strip"
      data-testid="norm-strip"
      style={{ width: px(cols.length * cell) }}
      onPointerMove={(event) => {
        const { left } = event.currentTarget.getBoundingClientRect();
        showTip(view, event, tip(Math.floor((event.clientX - left) / cell)));
      }}
      onPointerLeave={() => hideTip(view)}
    >
      <Pixels width={cols.length} height={1} paint={paint} label="norm of f(x) for every key" />
    </div>
  );
}

/** The spans above their columns, named where there is room. */
export const SpanStrip = ({ cols, cell }: { cols: Unit[]; cell: number }) => (
  <>
    <span class="bl-norm-name bl-muted">domain</span>
    <div class="bl-span-strip" data-testid="span-strip" style={{ width: px(cols.length * cell) }}>
      {useView().overview.spans.map((span, n) => {
        const [label, start, end] = span;
        const width = cols.filter((unit) => within(span, unit)).length * cell;
        return (
          width > 0 && (
            <span
              key={start}
              class={n % 2 ? "bl-span bl-odd" : "bl-span"}
              style={{ left: px(cols.findIndex((unit) => within(span, unit)) * cell), width: px(width) }}
              title={`${label}: tokens ${start} to ${end - 1}`}
            >
              {width > 7 * label.length ? label : ""}
            </span>
          )
        );
      })}
    </div>
  </>
);
