// Corpus view: what every head does over a corpus, and whether the story of the text at hand holds.

import { Segmented, Select } from "../../parts/controls";
import { useAnswer } from "../../state/answer";
import type { CorpusChoice } from "../../state/page";
import { useView } from "../context";
import { aboutOf, labelOf, readSurvey } from "./data";
import { HeadGrid } from "./grid";
import { HeadMap } from "./headmap";
import { LayerCurves } from "./layers";
import { Parse } from "./parse";
import { Story } from "./story";
import { HeadTable, RelationTable } from "./tables";

export function SurveyTab() {
  const { store, page } = useView();
  const data = useAnswer(store, "survey", readSurvey);
  if (!data)
    return <p class="bl-empty">{store.kernel.value ? "reading the survey …" : "The corpus view needs the kernel."}</p>;
  const chosen = page.corpus.value;
  const put = (change: Partial<CorpusChoice>) => {
    page.corpus.value = { ...page.corpus.value, ...change };
  };
  const pick = (layer: number, head: number) => store.synced.put({ layer, head, layer_map: "" });
  const shared = { ...chosen, data, put, pick };
  return (
    <div data-testid="survey">
      <div class="bl-controls">
        <Select
          label="statistic"
          value={chosen.name}
          choices={data.names.map((value) => ({ value, label: labelOf(value) }))}
          onChange={(name) => put({ name })}
        />
        {data.by.length > 1 && (
          <Segmented<CorpusChoice["by"]>
            label="rows by"
            value={chosen.by}
            choices={[
              { value: "weight", label: "Weight α" },
              { value: "norm", label: "Norm ‖αf(x)‖" },
            ]}
            onChange={(by) => put({ by })}
          />
        )}
        <Segmented<CorpusChoice["average"]>
          label="mean over"
          value={chosen.average}
          choices={[
            { value: "text", label: "Texts", title: "each text weighs the same (Clark et al. 2019)" },
            { value: "token", label: "Tokens", title: "each token weighs the same: long texts count for more" },
          ]}
          onChange={(average) => put({ average })}
        />
        <span class="bl-muted">
          {data.texts.toLocaleString("en")} texts, {data.tokens.toLocaleString("en")} tokens · {data.about}
        </span>
      </div>
      <p class="bl-muted bl-survey-about">
        <b>{labelOf(chosen.name)}</b>: {aboutOf(chosen.name)}
      </p>
      <div class="bl-norms">
        <div class="bl-stack">
          <HeadGrid {...shared} />
          <LayerCurves {...shared} />
        </div>
        <Story {...shared} />
        {data.map && <HeadMap {...shared} map={data.map} />}
      </div>
      <div class="bl-wide-tables">
        <HeadTable {...shared} />
        {data.relations.length > 0 && <RelationTable {...shared} />}
      </div>
      {data.sentence && data.guesses && <Parse {...shared} sentence={data.sentence} guesses={data.guesses} />}
    </div>
  );
}
