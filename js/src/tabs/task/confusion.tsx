// Labels and guesses: how many of what were taken for what; a count lists its examples.

import { cssColor, inkOn } from "../../paint/colormap";
import { counted } from "../../paint/format";
import { weightColours } from "../../paint/palette";
import { isolate } from "../../paint/quotes";
import { Button } from "../../parts/controls";
import { Section } from "../../parts/section";
import { shortText } from "../../parts/token";
import { useView } from "../../state/view";
import type { State, Task } from "./examples";

const CHARACTERS = 16;

export function Confusion({ task, state }: { task: Task; state: State }) {
  const view = useView();
  if (!task.confusion) return <p class="bl-empty">This task has no classes to confuse.</p>;
  const { names, counts } = task.confusion;
  const sums = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
  const pair = state.cell.value;
  return (
    <Section title="Labels and guesses" about="rows are labels, columns guesses; a number lists its examples">
      <div class="bl-scroll">
        <table class="bl-confusion" data-testid="confusion">
          <thead>
            <tr>
              <th>
                <span class="bl-hidden">label</span>
              </th>
              {names.map((name) => (
                <th key={name} scope="col" title={name}>
                  {shortText(name, CHARACTERS)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((label, i) => (
              <tr key={label}>
                <th scope="row" title={label}>
                  {shortText(label, CHARACTERS)}
                </th>
                {names.map((guess, j) => {
                  const count = counts[i]![j]!;
                  const fill = cssColor(count / (sums[i] || 1), 0, 1, weightColours(view.dark));
                  const isAsked = pair?.[0] === label && pair[1] === guess;
                  return (
                    <td key={guess} class={i === j ? "bl-right" : ""}>
                      <Button
                        style={{ background: fill, color: inkOn(fill) }}
                        disabled={count === 0}
                        aria-pressed={isAsked}
                        aria-label={`${counted(count)} labelled ${isolate(label)}, guessed ${isolate(guess)}`}
                        onClick={() => {
                          state.cell.value = isAsked ? null : [label, guess];
                          state.only.value = "all";
                          state.rows.value = null;
                        }}
                      >
                        {counted(count)}
                      </Button>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
