// A colour bar with its two ends as numbers.

import { useCallback, useContext } from "preact/hooks";
import { signed } from "../paint/format";
import { type LegendProps, Paper } from "./paper";
import { Pixels } from "./pixels";

/** The ends of a signed scale. */
export const signedEnds = (most: number) => ({ low: signed(-most), high: `+${signed(most)}` });

export function Legend(props: LegendProps) {
  const { colours } = props;
  const paper = useContext(Paper);
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      for (let n = 0; n < 256; n++) out.set([...colours.subarray(3 * n, 3 * n + 3), 255], 4 * n);
    },
    [colours],
  );
  return paper ? (
    <paper.Legend {...props} />
  ) : (
    <div class="bl-legend">
      <span class="bl-number">{props.low}</span>
      <Pixels width={256} height={1} paint={paint} class="bl-ramp" />
      <span class="bl-number">{props.high}</span>
      <span title={props.label}>{props.label}</span>
    </div>
  );
}
