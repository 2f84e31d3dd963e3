// What the tabs say of gates: what the length of the text does to them, and a gate as its letter and mark.
import { GATE_LEAST_CONTENT } from "../generated/vocabulary";
import { type Gates, gateSign } from "./gatemarks";

type Lengths = Pick<Gates, "threshold" | "content_tokens" | "least">;

/** What the length of the text does to its labels. */
export function lengthNote({ threshold, content_tokens: n, least }: Lengths): string {
  const holds = "Labels hold at this length: in much longer or shorter texts the same head often has another.";
  if (least === null)
    return `With ${n} content tokens no head has a label: under ${GATE_LEAST_CONTENT} noise alone looks like a gate.`;
  if (least <= threshold) return holds;
  const numbers = `${least.toFixed(2)} instead of ${threshold.toFixed(2)}`;
  return `With ${n} content tokens the threshold is ${numbers}: in short texts noise reaches further. ${holds}`;
}

export const GateBadge = ({ label }: { label: string }) => (
  <span class="bl-gate" title={label}>
    {gateSign(label)}
  </span>
);
