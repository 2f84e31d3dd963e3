// The top of a view: the sentence with what the chosen head looks at, and beside it what the model answers.
import { isPlain } from "../state/cloze";
import { FrontAnswers } from "../state/frontanswers";
import { useView } from "../state/view";
import { Answer } from "./answer";
import { Claim } from "./claim";
import { Glances } from "./glances";
import { HeadSets } from "./headsets";
import { Loudness } from "./loudness";
import { Sentence } from "./sentence/sentence";
import { Strip } from "./strip";
import { Thread } from "./thread";
import { isUnfolded } from "./unfolded";

export function Front() {
  const view = useView();
  return (
    <div class="bl-front" data-unfolded={isUnfolded(view)}>
      <Sentence />
      <FrontAnswers>
        <HeadSets>
          <div class="bl-front-row">
            <div class="bl-front-claim">
              <Claim />
              <Loudness />
            </div>
            <Answer />
            <Thread />
          </div>
        </HeadSets>
        {isPlain(view) ? <Glances /> : <Strip />}
      </FrontAnswers>
    </div>
  );
}
