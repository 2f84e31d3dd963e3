// Corpus view: what every head does over a corpus, and whether the story of the text at hand holds.
import { into, Segmented } from "../../parts/controls";
import { Waiting } from "../../parts/section";
import type { CorpusChoice } from "../../state/page";
import { useAnswer } from "../../state/useanswer";
import { useView } from "../../state/view";
import { StatisticChoice } from "./choice";
import { HeadGrid } from "./corpusatlas";
import { aboutOf, allOf, type Choice, fewOf, labelOf, SURVEY } from "./corpusheads";
import { HeadMap } from "./headmap";
import { HeadTable, RelationTable } from "./headtables";
import { LayerCurves } from "./layers";
import { Parse } from "./parse";
import { Story } from "./story";

export function SurveyTab() {
  const { synced, page } = useView();
  const answer = useAnswer(SURVEY, {});
  if (answer.state !== "answered") return <Waiting answer={answer} doing="reading the survey" />;
  const data = answer.value;
  const shared: Choice = {
    ...page.corpus.value,
    data,
    put: (change) => into(page.corpus)({ ...page.corpus.value, ...change }),
    pick: (layer, head) => synced.put({ layer, head, layer_map: "" }),
  };
  const isShort = fewOf(data, data.alike.texts) !== ""; // a sentence instead of a picture
  return (
    <div data-testid="survey">
      <Controls {...shared} />
      <p class="bl-muted bl-survey-about">
        <b>{labelOf(shared.name)}</b>: {aboutOf(shared.name)}
      </p>
      <div class="bl-corpus">
        <div class="bl-stack">
          <HeadGrid {...shared} />
          <LayerCurves {...shared} />
        </div>
        {!isShort && <Story {...shared} />}
        {data.headMap && data.map && <HeadMap {...shared} places={data.headMap} trust={data.map} />}
        {isShort ? (
          <div class={data.headMap ? "bl-stack bl-few" : "bl-stack"}>
            <Story {...shared} />
            <HeadTable {...shared} across={false} />
          </div>
        ) : (
          <HeadTable {...shared} across={!data.headMap} />
        )}
        {data.relations.length > 0 && <RelationTable {...shared} />}
      </div>
      {data.sentence && data.guesses && <Parse {...shared} sentence={data.sentence} guesses={data.guesses} />}
    </div>
  );
}

function Controls({ data, name, by, average, put }: Choice) {
  return (
    <div class="bl-controls">
      <StatisticChoice {...{ name, by, put }} names={data.names} among={data.by} />
      <Segmented<CorpusChoice["average"]>
        label="mean over"
        value={average}
        choices={[
          { value: "text", label: "Texts", title: "each text weighs the same (Clark et al. 2019)" },
          { value: "token", label: "Tokens", title: "each token weighs the same: long texts count for more" },
        ]}
        onChange={(value) => put({ average: value })}
      />
      <span class="bl-muted">
        {allOf(data)}, {data.tokens.toLocaleString("en")} in all · {data.about}
      </span>
    </div>
  );
}
