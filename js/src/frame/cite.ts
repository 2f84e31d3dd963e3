// What to cite for what is on screen, as BibTeX: bertlens, and the papers of the measure, the order and the open tab.
import { REFERENCES, SOFTWARE, type TabName } from "../generated/vocabulary";
import type { View } from "../state/view";
import { openTab } from "../tabs/opentab";

const [VASWANI, NORMS, BLOCKS, GATES] = [
  "Vaswani et al. 2017",
  "Kobayashi et al. 2020",
  "Kobayashi et al. 2021",
  "Bonino et al. 2025",
];
const OF_TABS: Partial<Record<TabName, string[]>> = {
  neurons: [VASWANI],
  norms: [NORMS, BLOCKS],
  gates: [GATES],
  geometry: [GATES],
  survey: ["Clark et al. 2019"],
};

/** Names of papers, as sentences on screen have them. */
function named({ shownHead, synced, page }: View, tab: string): string[] {
  const has = (part: string) => synced.parts.value.includes(part);
  const ofHead = shownHead.layerMap
    ? [shownHead.layerMap.word.about, ...(shownHead.layerMap.word.name === "attn-w" ? [VASWANI] : [])]
    : [...(shownHead.measure === "norm" ? [] : [VASWANI]), ...(shownHead.measure === "weight" ? [] : [NORMS])];
  return [
    ...(has("head") || has("atlas") ? ofHead : []),
    ...(has("atlas") && page.atlasOrder.value === "gate" ? [GATES] : []),
    ...(OF_TABS[tab as TabName] ?? []),
  ];
}

export function citations(view: View): string {
  const tab = openTab(view);
  const names = named(view, tab?.why_not === "" ? tab.name : "").join("; ");
  const papers = Object.entries(REFERENCES).flatMap(([name, entry]) => (names.includes(name) ? [entry] : []));
  return `${[SOFTWARE.replace("VERSION", view.overview.versions.bertlens ?? ""), ...papers].join("\n\n")}\n`;
}
