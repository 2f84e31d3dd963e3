// Where nothing is hidden: how surely the model finds each word again. A bar hides its word.
import { NOTHING_HIDDEN, NOTHING_HIDDEN_SAVED } from "../generated/phrases";
import { Button } from "../parts/controls";
import { tokenText } from "../parts/token";
import { type ClozeWord, clozeOf } from "../state/cloze";
import { useView } from "../state/view";
import { brief, short } from "./claims";
import { wordsOf } from "./sentence/wordrow";

const SUREST = 2;
const LEAST = 4; // sure

/** The surest and the least sure, the surest first. */
function extremes(words: ClozeWord[]): ClozeWord[] {
  const order = words.toSorted((a, b) => b.probability - a.probability);
  return order.length > SUREST + LEAST ? [...order.slice(0, SUREST), ...order.slice(-LEAST)] : order;
}

/** The words that are shown, of how many, and what each is called; why there are none. */
function useCloze() {
  const view = useView();
  const { overview } = view;
  const answer = clozeOf(view);
  const words = answer?.state === "answered" ? answer.value.words : [];
  const why = answer?.state === "answered" ? answer.value.why_not : "";
  const { units, lines } = wordsOf(overview);
  const label = ({ pieces }: ClozeWord) => {
    const n = units.findIndex((unit) => unit.pieces[0] === pieces[0]);
    const written = lines.flatMap(({ text, places }) =>
      places[n] ? [text.slice(places[n].start, places[n].end)] : [],
    );
    return tokenText(written[0] ?? units[n]?.label ?? "");
  };
  return { rows: extremes(words), count: words.length, why, label };
}

/** Whether the model's best guess is the word itself; of several pieces only where that is sure. */
const isGuess = ({ pieces, probability, guessProbability }: ClozeWord): boolean =>
  probability > 0.5 || (pieces.length === 1 && probability >= guessProbability - 1e-9);

/** What can be done, and what the bars beside it say of the surest and the least sure. */
export function ClozeClaim() {
  const { overview, link } = useView();
  const { rows, why, label } = useCloze();
  const isLive = Boolean(link.kernel.value && overview.lens);
  const [hit, miss] = [rows.find(isGuess), rows.findLast((word) => !isGuess(word))];
  const serif = (text: string) => <i class="bl-text-word">{text}</i>;
  return (
    <div class="bl-cloze-claim" data-testid="cloze-claim">
      <p>{why || (isLive ? NOTHING_HIDDEN : link.coming.value ? "" : NOTHING_HIDDEN_SAVED)}</p>
      {rows.length > 0 && (
        <p class="bl-cloze-words">
          {hit && (
            <>
              It would find {serif(label(hit))} again ({brief(hit.probability)})
            </>
          )}
          {miss && (
            <>
              {hit ? ", but not " : "It would not find "}
              {serif(label(miss))} ({brief(miss.probability)}): in{" "}
              {miss.pieces.length > 1 ? "place of its first piece" : "its place"} it guesses{" "}
              {serif(tokenText(miss.guess))} ({brief(miss.guessProbability)})
            </>
          )}
          .
        </p>
      )}
      {rows.length > 0 && (
        <p class="bl-answer-note">
          The line under a word: how surely the model finds it when it is hidden. One run a word.
        </p>
      )}
    </div>
  );
}

export function Cloze() {
  const { overview, link, page } = useView();
  const isLive = Boolean(link.kernel.value && overview.lens);
  const { rows, count, label } = useCloze();
  if (rows.length === 0) return null;
  return (
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
              <span class="bl-stretch bl-stays" style={{ insetInlineStart: 0, width: `${100 * word.probability}%` }} />
            </span>
          </Button>
        ))}
        {rows.length < count && <p class="bl-answer-note">two surest, four least sure of {count}</p>}
      </div>
    </>
  );
}
