// Both answers in pairs of bars: thin what the sentence above gives, full what the one below does.
import type { ComponentChildren } from "preact";
import { Button } from "../../parts/controls";
import { tokenQuote, tokenText } from "../../parts/token";
import { clozeOf, isPlain } from "../../state/cloze";
import { isLone } from "../../state/frontanswers";
import { TITLES, useFitted } from "../answer";
import { wordShares } from "../answerbars";
import { short } from "../claims";
import { answerPairs, bothPlain, type Side, type Sides } from "./sides";
import type { WordPairs } from "./wordpairs";

const ROWS = 5;
const ENDS = [0.1, 0.25, 0.5, 1];
export interface PairRow {
  name: string;
  above: number | null;
  below: number | null;
  hide?: () => void; // the word in both
}

/** Each common word's number above and below: the largest of the sentence below first, or those that differ most. */
function wordRows(
  { below: partners }: WordPairs,
  numbers: readonly [Map<number, number>, Map<number, number>],
  byDifference: boolean,
) {
  return [...partners]
    .flatMap(([a, b]) => {
      const [above, below] = [numbers[0].get(a), numbers[1].get(b)];
      return above === undefined || below === undefined ? [] : [{ a, b, above, below }];
    })
    .sort((x, y) => (byDifference ? Math.abs(y.above - y.below) - Math.abs(x.above - x.below) : y.below - x.below))
    .slice(0, ROWS);
}

/** How surely each word is found, or what of the vector it holds, by its number among the words. */
function numbersOf({ view, words, front }: Side): Map<number, number> {
  const { units } = words;
  const at = (piece: number) => units.findIndex(({ pieces }) => pieces[0] === piece);
  if (isPlain(view)) {
    const cloze = clozeOf(view);
    const list = cloze?.state === "answered" ? cloze.value.words : [];
    return new Map(list.map(({ pieces, probability }) => [at(pieces[0]!), probability]));
  }
  const shares = front?.shares;
  if (shares?.state !== "answered" || !shares.value.shares) return new Map();
  const list = wordShares(view.overview.queries, shares.value.shares).filter(({ special }) => !special);
  return new Map(list.map(({ pieces, share }) => [at(pieces[0]!), share]));
}

function rowsFrom(sides: Sides, pairs: WordPairs): PairRow[] {
  const [above, below] = sides;
  const isPlainPair = bothPlain(sides);
  const isVector = [above, below].some(({ front }) => front?.answers.kind === "embedding");
  if (!isPlainPair && !isVector) return answerPairs(sides);
  return wordRows(pairs, [numbersOf(above), numbersOf(below)], isPlainPair).map((row): PairRow => {
    const pieceOf = ({ words }: Side, n: number) => words.units[n]!.pieces[0]!;
    const hide = () => {
      above.view.page.front.toHide.value = pieceOf(above, row.a);
      below.view.page.front.toHide.value = pieceOf(below, row.b);
    };
    return {
      name: above.words.units[row.a]!.label,
      above: row.above,
      below: row.below,
      ...(isPlainPair ? { hide } : {}),
    };
  });
}

/** What the bars are of; of which word in each, where the answer is one word's. */
function titleOf(sides: Sides): string {
  if (bothPlain(sides)) return "Would it find the word again?";
  const [above, below] = sides.map(({ front, view }) => {
    const token = front && view.overview.queries.tokens[front.lead.position];
    return token === null || token === undefined ? "" : tokenQuote(token);
  });
  const answers = (sides[1].front ?? sides[0].front)?.answers;
  if (!answers) return "The model’s answer";
  if (answers.kind === "embedding") return "The vectors rest on";
  if (isLone(answers)) return "The model’s score";
  const title = TITLES[answers.kind]!;
  if (answers.kind !== "tags") return title;
  return `${title} ${above === below ? `${above} in both` : `${above} above, ${below} below`}`;
}

interface Props {
  sides: Sides;
  pairs: WordPairs;
  labels: readonly [above: string, below: string]; // the words that tell the sentences apart
  children?: ComponentChildren;
}

export function PairBars({ sides, pairs, labels, children }: Props) {
  const rows = rowsFrom(sides, pairs);
  const front = sides[1].front ?? sides[0].front;
  const kind = front?.answers.kind ?? "";
  const isScore = front !== null && isLone(front.answers);
  const numbers = rows.flatMap(({ above, below }) => [above ?? 0, below ?? 0]);
  const least = ["words", "embedding"].includes(kind) || front?.answers.unit !== "probability" ? 0 : 1;
  const peak = Math.max(least, ...numbers);
  const [lo, hi] = [Math.min(0, ...numbers), ENDS.find((end) => peak <= end) ?? peak];
  const longest = Math.max(0, ...rows.map(({ name }) => tokenText(name).length));
  const stretch = (value: number) => ({
    insetInlineStart: `${(100 * (Math.min(0, value) - lo)) / (hi - lo || 1)}%`,
    width: `${(100 * Math.abs(value)) / (hi - lo || 1)}%`,
  });
  const first = useFitted(rows[0]?.name ?? "");
  const number = (value: number | null) => (value === null ? "–" : short(value));
  return (
    <section class="bl-front-answer bl-pair-bars" data-testid="answer" aria-label="The model’s answers">
      <h3>{titleOf(sides)}</h3>
      <div class={longest > 9 ? "bl-bars bl-long-names" : "bl-bars"}>
        {rows.map(({ above, below, hide, ...row }, n) => {
          const name = isScore ? "score" : row.name;
          const words = `${tokenText(name)}: ${number(above)} above, ${number(below)} below`;
          const inside = (
            <>
              <span ref={n === 0 ? first : undefined} class={isScore ? "bl-answer-name bl-ours" : "bl-answer-name"}>
                <bdi dir="auto">{tokenText(name)}</bdi>
              </span>{" "}
              <span class="bl-answer-number bl-number">{number(below)}</span>{" "}
              <span class="bl-answer-track">
                {above !== null && <span class="bl-pair-above" style={stretch(above)} />}
                {below !== null && <span class="bl-stretch bl-stays" style={stretch(below)} />}
              </span>
            </>
          );
          const shared = {
            class: `bl-answer-row${n === 0 && !hide ? " bl-lead" : ""}`,
            "data-above": above ?? "",
            "data-below": below ?? "",
            title: words,
          };
          return hide ? (
            <Button key={`${name} ${n}`} {...shared} aria-label={`${words}: hide it in both`} onClick={hide}>
              {inside}
            </Button>
          ) : (
            <div key={`${name} ${n}`} {...shared} role="img" aria-label={words}>
              {inside}
            </div>
          );
        })}
      </div>
      {rows.length > 0 && (
        <p class="bl-bars-legend">
          <span class="bl-pair-above" /> above{labels[0] && ", "}
          {labels[0] && <i class="bl-text-word">{labels[0]}</i>} <span class="bl-stretch bl-stays" /> below
          {labels[1] && ", "}
          {labels[1] && <i class="bl-text-word">{labels[1]}</i>}
        </p>
      )}
      {children}
    </section>
  );
}
