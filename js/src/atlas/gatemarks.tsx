// Gates wherever heads are: their letter and mark, the labels of all heads for the thresholds in force, and of what length.
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { gateLabel } from "../compute/gatelabel";
import { GATE_LEAST_CONTENT, GATE_MARGIN, GATE_THRESHOLD, GATES } from "../generated/vocabulary";
import { type Answer, type AnswerTo, fieldsAndArrays, type Kind, type Read } from "../kernel/answers";
import { counted } from "../paint/format";
import { useAnswer } from "../state/useanswer";
import { useView } from "../state/view";

/** Labels have holes while layers are still to come. */
export type Gates = AnswerTo<"gates"> & Pick<Read, "pending">;

export const GATE_LABELS: Kind<Gates, "gates"> = {
  op: "gates",
  needs: "gates",
  layered: true,
  read: (reply) => ({ ...fieldsAndArrays(reply), pending: reply.pending }),
};

/** What is asked of the kernel; what other thresholds give, the page tells from the scores. */
export const USUAL = { threshold: GATE_THRESHOLD, margin: GATE_MARGIN };

/** The labels of the same scores under other thresholds, as bertlens.measures.gates.label has them. */
export function relabelled(gates: Gates, threshold: number, margin: number): Gates {
  const { names, labels, full, content, least: bound } = gates;
  const needed = bound === null ? null : bound - gates.threshold + threshold; // short texts need more
  const labelsOf = (scores: Float32Array) =>
    labels.full.map((heads, l) =>
      heads.map((_, h) => {
        const at = (l * heads.length + h) * names.length;
        return gateLabel(names, scores.subarray(at, at + names.length), needed, margin);
      }),
    );
  return { ...gates, threshold, margin, least: needed, labels: { full: labelsOf(full), content: labelsOf(content) } };
}

/** What is known of the gates of the maps shown, under the thresholds chosen. */
export function useGateAnswer(wait = false): Answer<Gates> {
  const [threshold, margin] = useView().page.thresholds.value;
  const answer = useAnswer(GATE_LABELS, USUAL, { wait });
  return useMemo(() => {
    const usual = threshold === USUAL.threshold && margin === USUAL.margin;
    if (usual || answer.state !== "answered") return answer;
    return { ...answer, value: relabelled(answer.value, threshold, margin) };
  }, [answer, threshold, margin]);
}

/** The gates, null where there are none or they are not here yet; asked for after the thumbnails. */
export const useGates = (): Gates | null => {
  const answer = useGateAnswer(useView().overview.pending.length > 0);
  return answer.state === "answered" ? answer.value : null;
};

/** The length that labels hold at: the same head has another one in longer or shorter texts. */
export const atLength = (tokens: number): string => `at ${counted(tokens)} tokens`;

/** Gates are of the weights, whatever measure is shown beside them. */
export const useByWeight = (): string => {
  const view = useView();
  return useComputed(() => (view.shownHead.measure === "weight" ? "" : ", by weight")).value;
};

/** Letter and mark of a gate: told apart without colour. */
export const gateSign = (label: string): string => `${GATES[label]?.letter ?? "?"}${GATES[label]?.mark ?? ""}`;

export const GateBadge = ({ label }: { label: string }) => (
  <span class="bl-gate" title={label}>
    {gateSign(label)}
  </span>
);

/** What the length of the text does to the labels of its heads. */
export function lengthNote({
  threshold,
  content_tokens: n,
  least,
}: Pick<Gates, "threshold" | "content_tokens" | "least">): string {
  const holds = "Labels hold at this length: in much longer or shorter texts the same head often has another.";
  if (least === null)
    return `With ${n} content tokens no head has a label: under ${GATE_LEAST_CONTENT} noise alone looks like a gate.`;
  if (least <= threshold) return holds;
  const numbers = `${least.toFixed(2)} instead of ${threshold.toFixed(2)}`;
  return `With ${n} content tokens the threshold is ${numbers}: in short texts noise reaches further. ${holds}`;
}
