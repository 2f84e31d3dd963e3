// Where nothing is hidden: how surely the model finds each word again. A bar hides its word.
import { NOTHING_HIDDEN, NOTHING_HIDDEN_SAVED } from "../generated/phrases";
import { Button } from "../parts/controls";
import { tokenText } from "../parts/token";
import { type ClozeWord, clozeOf } from "../state/cloze";
import { useView } from "../state/view";
import { isAlike, short } from "./claims";
import { wordsOf } from "./sentence/wordrow";

const SUREST = 2;
const LEAST = 4; // sure

/** The surest and the least sure, the surest first. */
function extremes(words: ClozeWord[]): ClozeWord[] {
  const order = words.toSorted((a, b) => b.probability - a.probability);
  return order.length > SUREST + LEAST ? [...order.slice(0, SUREST), ...order.slice(-LEAST)] : order;
}

export function Cloze() {
  const view = useView();
  const { overview, link, page } = view;
  const isLive = Boolean(link.kernel.value && overview.lens);
  const answer = clozeOf(view);
  const words = answer?.state === "answered" ? answer.value.words : [];
  const { units, lines } = wordsOf(overview);
  const label = ({ pieces }: ClozeWord) => {
    const n = units.findIndex((unit) => unit.pieces[0] === pieces[0]);
    const written = lines.flatMap(({ text, places }) =>
      places[n] ? [text.slice(places[n].start, places[n].end)] : [],
    );
    return tokenText(written[0] ?? units[n]?.label ?? "");
  };
  const rows = extremes(words);
  const hardest = rows.at(-1);
  return (
    <>
      <p class="bl-muted">{isLive ? NOTHING_HIDDEN : link.coming.value ? "" : NOTHING_HIDDEN_SAVED}</p>
      {rows.length > 0 && (
        <>
          <h3>Would it find the word again?</h3>
          <div class="bl-bars" data-testid="cloze">
            {rows.map((word) => (
              <Button
                key={word.pieces[0]}
                class="bl-answer-row"
                aria-label={`${label(word)}, ${short(word.probability)}: hide it`}
                title={`Hide it: in place of ${word.pieces.length > 1 ? "its first piece" : "it"} the model guesses ${word.guess} (${short(word.guessProbability)})`}
                disabled={!isLive}
                onClick={() => {
                  page.front.toHide.value = word.pieces[0]!;
                }}
              >
                <span class="bl-answer-name bl-serif" dir="auto">
                  {label(word)}
                </span>{" "}
                <span class="bl-answer-number bl-number">{short(word.probability)}</span>{" "}
                <span class="bl-answer-track">
                  <span
                    class="bl-stretch bl-stays"
                    style={{ insetInlineStart: 0, width: `${100 * word.probability}%` }}
                  />
                </span>
              </Button>
            ))}
            <p class="bl-answer-note">
              {rows.length < words.length && `The two surest, the four least sure of ${words.length}. `}
              The line under a word: how surely the model finds it when it is hidden.
              {hardest && !isAlike(hardest.probability, hardest.guessProbability) && (
                <>
                  {" "}
                  In place of {hardest.pieces.length > 1 && "the first piece of "}
                  <i>{label(hardest)}</i> it guesses <i>{tokenText(hardest.guess)}</i> (
                  {short(hardest.guessProbability)}).
                </>
              )}
            </p>
          </div>
        </>
      )}
    </>
  );
}
