// What the head or the layer shown does, in one sentence.
import { useMemo } from "preact/hooks";
import { headLabel, paperName } from "../paint/format";
import { useView } from "../state/view";
import { gateAt, useByWeight } from "./gatemarks";
import type { Says } from "./headvalues";

export function HeadSentence({ labels, says }: { labels?: string[][]; says: Says }) {
  const { layer, head, overview, layerMap, weights } = useView().shown;
  const byWeight = useByWeight();
  const gate = labels?.[layer]?.[head];
  const sentence = useMemo(() => says(layer, head, weights), [weights, says]);
  return (
    <p class="bl-note bl-selected-head" data-testid="head-sentence">
      {layerMap ? (
        <>
          <b>L{layer}</b> all heads together, {layerMap.word.label}: {layerMap.word.about}
        </>
      ) : (
        <>
          <b>{headLabel(layer, head)}</b> <span class="bl-muted">{paperName(layer, head)}</span>{" "}
          {gate && gate !== "undefined" && (
            <b>
              {gateAt(gate, overview)}
              {byWeight}:{" "}
            </b>
          )}
          {sentence}.
        </>
      )}
    </p>
  );
}
