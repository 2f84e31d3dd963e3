// The top of a view: the sentence with what the chosen head looks at, and beside it what the model answers.
import { isPlain } from "../state/cloze";
import { FrontAnswers } from "../state/frontanswers";
import { useView } from "../state/view";
import { TaskClaim, useHidden } from "../tabs/task/verdict";
import { Answer } from "./answer";
import { Claim } from "./claim";
import { Glances } from "./glances";
import { HeadSets } from "./headsets";
import { HeadsLeaf } from "./leaf/headsleaf";
import { Leaf } from "./leaf/leaf";
import { Loudness } from "./loudness";
import { Sentence } from "./sentence/sentence";
import { Strip } from "./strip";
import { Thread } from "./thread";
import { CompareVerb } from "./twin/compareverb";
import { textBelow } from "./twin/opentwin";
import { Twin } from "./twin/twin";
import { isBrief } from "./unfolded";

export function Front() {
  const view = useView();
  const losses = useHidden();
  if (textBelow(view))
    return (
      <div class="bl-front" data-brief={false}>
        <Twin />
      </div>
    );
  return (
    <div class="bl-front" data-brief={isBrief(view)}>
      <Sentence end={{ children: <CompareVerb />, width: 7 }} />
      <FrontAnswers>
        <Leaf />
        <HeadSets>
          <div class="bl-front-row">
            <div class="bl-front-claim">
              {losses && !isBrief(view) ? (
                <TaskClaim words={losses} />
              ) : (
                <>
                  <Claim />
                  <Loudness />
                </>
              )}
            </div>
            <Answer />
            {!losses && <Thread />}
          </div>
        </HeadSets>
        {isPlain(view) ? <Glances /> : <Strip />}
        <HeadsLeaf />
      </FrontAnswers>
    </div>
  );
}
