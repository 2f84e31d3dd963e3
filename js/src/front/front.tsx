// The top of a view: the sentence with what the chosen head looks at, and beside it what the model answers.
import { Answer } from "./answer";
import { Claim } from "./claim";
import { Loudness } from "./loudness";
import { Strip } from "./strip";

export const Front = () => (
  <div class="bl-front">
    <div class="bl-front-row">
      <div class="bl-front-claim">
        <Claim />
        <Loudness />
      </div>
      <Answer />
    </div>
    <Strip />
  </div>
);
