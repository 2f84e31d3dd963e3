// The top of a view: the sentence with what the chosen head looks at, and beside it what the model answers.
import { Sentence } from "./sentence";

export const Front = () => (
  <div class="bl-front">
    <Sentence />
  </div>
);
