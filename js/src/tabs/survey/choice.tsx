// Which statistic, and of what rows.

import { MEASURES } from "../../generated/vocabulary";
import { Segmented, Select, wordChoices } from "../../parts/controls";
import type { CorpusChoice } from "../../state/page";
import { labelOf } from "./corpusheads";

type By = CorpusChoice["by"];

export const StatisticChoice = (props: {
  names: string[];
  name: string;
  among: By[];
  by: By;
  put: (change: Partial<CorpusChoice>) => void;
}) => (
  <>
    <Select
      label="statistic"
      value={props.name}
      choices={props.names.map((value) => ({ value, label: labelOf(value) }))}
      onChange={(name) => props.put({ name })}
    />
    {props.among.length > 1 && (
      <Segmented<By>
        label="rows by"
        value={props.by}
        choices={wordChoices(["weight", "norm"], MEASURES)}
        onChange={(by) => props.put({ by })}
      />
    )}
  </>
);
