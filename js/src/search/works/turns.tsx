// Does the word that is named matter, over all failures? Work of minutes, which can be stopped.
import { amount, counted } from "../../paint/format";
import { Sheet } from "../tables";
import { Work } from "./searchwork";

const ABOUT =
  "The word of the wrong passage that puts most into the difference is hidden, wherever it stands; beside it eight random " +
  "words of the passage, and the eight nearest in how often they stand there. Shares of these are of the words without which the order turns.";

export const AllFailures = ({ failures }: { failures: number }) => (
  <Work
    work="turns"
    question="Does the word that is named matter, over all failures?"
    label={`Take it out of ${failures === 1 ? "the one failure" : `all ${counted(failures)} failures`}`}
    title="Up to 18 runs of the wrong passage of each failure"
    of={`of ${amount(failures, "failure")}`}
    about={ABOUT}
  >
    {(turns) => <Sheet name="turns" title="The named word, over all failures" sheet={{ ...turns, about: ABOUT }} />}
  </Work>
);
