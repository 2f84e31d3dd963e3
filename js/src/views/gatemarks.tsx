// Gates wherever heads are: their letter and mark, and the labels of all heads for the thresholds in force.
import type { Answer, Kind } from "../state/answers";
import { GATES } from "../vocabulary";
import { useAnswer, useView } from "./context";

export interface Gates {
  names: string[]; // of the scores
  labels: { full: string[][]; content: string[][] }; // [layer][head]
  threshold: number;
  margin: number;
  full: Float32Array; // (L·H·G)
  content: Float32Array;
}

export const GATE_LABELS: Kind<Gates, "gates"> = {
  op: "gates",
  needs: "gates",
  read: ({ fields, arrays }) => ({
    ...(fields as unknown as Gates),
    full: arrays.full!.data as Float32Array,
    content: arrays.content!.data as Float32Array,
  }),
};

/** What is known of the gates of the maps shown. */
export function useGateAnswer(): Answer<Gates> {
  const [threshold, margin] = useView().page.thresholds.value;
  return useAnswer(GATE_LABELS, { threshold, margin });
}

/** The gates, null where there are none or they are not here yet. */
export const useGates = (): Gates | null => {
  const answer = useGateAnswer();
  return answer.state === "answered" ? answer.value : null;
};

/** Letter and mark of a gate: told apart without colour. */
export const gateSign = (label: string): string => `${GATES[label]?.letter ?? "?"}${GATES[label]?.mark ?? ""}`;

export const GateBadge = ({ label }: { label: string }) => (
  <span class="bl-gate" title={label}>
    {gateSign(label)}
  </span>
);
