// A colour bar with its two ends as numbers.
import { useCallback } from "preact/hooks";
import { Pixels } from "./pixels";

export function Legend(props: { low: string; high: string; label: string; table: Uint8Array }) {
  const { table } = props;
  const paint = useCallback(
    (out: Uint8ClampedArray) => {
      for (let n = 0; n < 256; n++) {
        out[4 * n] = table[3 * n]!;
        out[4 * n + 1] = table[3 * n + 1]!;
        out[4 * n + 2] = table[3 * n + 2]!;
        out[4 * n + 3] = 255;
      }
    },
    [table],
  );
  return (
    <div class="bl-legend">
      <span class="bl-number">{props.low}</span>
      <Pixels width={256} height={1} paint={paint} class="bl-ramp" />
      <span class="bl-number">{props.high}</span>
      <span>{props.label}</span>
    </div>
  );
}
