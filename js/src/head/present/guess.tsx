// The first two slides: the row is empty and a word is guessed; then the row is shown.
import { counted, plural } from "../../paint/format";
import { Legend } from "../../parts/legend";
import type { View } from "../../state/view";
import { legendOf, shadesOf } from "../running";
import { currentScale } from "../scale";
import { type Bar, Bars, barText } from "./bars";
import { answerText, firstOf, nameOf, numberText, questionText, type Row } from "./rowquestion";
import { Words } from "./slidetext";
import type { Step } from "./steps";

const BARS = 6;

/** The bars of the largest numbers and of the guess. */
const barsOf = (row: Row, guess: number | null): Bar[] =>
  firstOf(row, BARS, guess).map((n) => ({
    name: nameOf(row.units, n),
    value: row.values[n]!,
    text: barText(row.scale, row.values[n]!),
    ...(n === guess ? { kind: "guess" as const } : {}),
  }));

/** What the bars leave out, of weights with their sum. */
function restText(row: Row, shown: Bar[], guess: number | null): string {
  const top = new Set(firstOf(row, BARS, guess));
  const remainder = row.seen.filter((n) => !top.has(n));
  if (remainder.length === 0 || shown.length === 0) return "";
  const count = `${counted(remainder.length)} more ${plural(row.noun, remainder.length)}`;
  const sum = remainder.reduce((total, n) => total + row.values[n]!, 0);
  return row.kind === "weight"
    ? `${count} get ${numberText(row, sum)}${remainder.length > 1 ? " together" : ""}`
    : count;
}

export function guessSteps(view: View, row: Row, guess: number | null, choose: (n: number) => void): Step[] {
  const { overview } = view;
  const shades = shadesOf(view, false)!;
  const legend = legendOf(shades);
  const key = <Legend {...legend} low={shades.scale.text(shades.scale.lo)} label={currentScale(view).symbol} />;
  const bars = barsOf(row, guess);
  const remainder = restText(row, bars, guess);
  const words = (isShown: boolean) => (
    <Words
      side={overview.keyside}
      units={row.units}
      shades={isShown ? shades : null}
      looks={overview.square ? row.at : -1}
      chosen={guess}
      {...(isShown ? {} : { pick: choose })}
    />
  );
  const guessed =
    guess === null ? [] : [{ name: nameOf(row.units, guess), value: 0, text: "?", kind: "guess" as const }];
  return [
    {
      title: "Guess",
      says: questionText(row),
      body: (
        <div class="bl-guess">
          <div>
            {words(false)}
            <div class="bl-unseen">{key}</div>
          </div>
          <div>
            <Bars bars={guessed} places={Math.min(BARS, row.units.length)} />
            <p class="bl-muted">{guess === null ? `Click the ${row.noun} that you guess.` : "Your guess. Show it?"}</p>
          </div>
        </div>
      ),
    },
    {
      title: "The row",
      says: answerText(row, guess),
      body: (
        <div class="bl-guess">
          <div>
            {words(true)}
            {key}
          </div>
          <div>
            <Bars bars={bars} />
            <p class="bl-muted">{remainder}</p>
          </div>
        </div>
      ),
    },
  ];
}
