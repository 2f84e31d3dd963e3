// What the model answers in both runs: a sentence, and its numbers.
import { signed } from "../../paint/format";
import { tokenText } from "../../parts/token";
import { type Comparing, useModelAnswers } from "./comparison";

const text = (value: number | null) => (value === null ? "–" : signed(value, 3));

export function Answers({ runs }: { runs: Comparing }) {
  const answer = useModelAnswers(runs);
  if (answer.state !== "answered" || !answer.value.said) return null;
  const { said, rows, unit } = answer.value;
  const hasPlaces = rows.some(([where]) => where);
  return (
    <div class="bl-answers">
      <p data-testid="compare-answers">
        <b>{said}</b>
      </p>
      {rows.length > 1 && (
        <details>
          <summary>All answers of both</summary>
          <div class="bl-scroll">
            <table class="bl-effects">
              <caption>{unit}; –: no such answer in that run, or not among its best</caption>
              <thead>
                <tr>
                  {[...(hasPlaces ? ["where"] : []), "answer", "a", "b", "b − a"].map((name) => (
                    <th scope="col" key={name}>
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map(([where, name, a, b]) => (
                  <tr key={where + name}>
                    {hasPlaces && <td>{tokenText(where)}</td>}
                    <th scope="row">{tokenText(name)}</th>
                    <td class="bl-number">{text(a)}</td>
                    <td class="bl-number">{text(b)}</td>
                    <td class="bl-number">{a === null || b === null ? "–" : signed(b - a, 3)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </div>
  );
}
