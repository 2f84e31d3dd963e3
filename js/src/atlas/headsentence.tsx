// What the head or the layer shown does, in one sentence; the kind of head is a tag after it.
import { useMemo } from "preact/hooks";
import { GATES } from "../generated/vocabulary";
import { paperName } from "../paint/format";
import { Button } from "../parts/controls";
import { restOf } from "../parts/phrasing";
import { More } from "../parts/term";
import { visit } from "../state/page";
import { useView } from "../state/view";
import { atLength, useByWeight, useGates } from "./gatemarks";
import { useSentences } from "./headvalues";

const IN_GENERAL = "Mean over all words of this text; the line above is of one of them";

export function HeadSentence() {
  const labels = useGates()?.labels.full;
  const says = useSentences();
  const view = useView();
  const { layer, head, layerMap, weights } = view.shownHead;
  const isBelow = view.synced.parts.value.includes("header"); // a line above says what a word of this text does
  const sentence = useMemo(() => says(layer, head, weights), [weights, says]);
  return (
    <p
      class={isBelow && !layerMap ? "bl-selected-head bl-muted" : "bl-selected-head"}
      title={isBelow && !layerMap ? IN_GENERAL : undefined}
      data-testid="head-sentence"
    >
      {layerMap ? (
        <>
          <b>L{layer}</b>, all heads together: {layerMap.word.about}
        </>
      ) : (
        <>
          {isBelow && "In general: "}
          <b>{sentence.lead}</b>
          {restOf(sentence)} <Tag gate={labels?.[layer]?.[head]} more={[paperName(layer, head), ...sentence.more]} />
        </>
      )}
    </p>
  );
}

/** The kind of head, or "more" where it has none; what else is to be known of the head stands in its tooltip. */
function Tag({ gate, more }: { gate?: string; more: string[] }) {
  const view = useView();
  const { overview } = view;
  const byWeight = useByWeight();
  const hasKind = gate && gate !== "undefined" && gate !== "mixed";
  const about =
    gate &&
    `${GATES[gate]?.about} ${hasKind ? `A kind of head ${atLength(overview.queries.tokens.length)}${byWeight}. ` : ""}`;
  const words = `${about ?? ""}${more.join(" · ")}`;
  const opens = hasKind && view.overview.tabs.some(({ name, why_not }) => name === "gates" && why_not === "");
  if (!opens) return <More about={words}>{hasKind ? gate : "more"}</More>;
  return (
    <Button class="bl-term bl-muted" title={words} onClick={() => visit(view, "gates")}>
      {gate}
    </Button>
  );
}
