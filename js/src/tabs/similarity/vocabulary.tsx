// A sparse encoder's vectors: the words of the vocabulary that both have, and what brought those that a text does not contain.
import { counted, signed } from "../../paint/format";
import { Table } from "../../parts/table";
import { Token, tokenQuote } from "../../parts/token";
import type { ChosenPair } from "./chosenpair";
import { pairAt, type Split } from "./splits";
import type { SharedWord, Similar, Vocabulary } from "./twotexts";

const DIGITS = 3;

interface Props {
  data: Similar;
  vocabulary: Vocabulary;
  split: Split;
  choice: ChosenPair;
}

/** The words of both vectors; a click chooses the pair of tokens that made the two weights. */
export function SharedWords({ data, vocabulary, split, choice }: Props) {
  const { words, others } = vocabulary;
  const isOn = ({ at }: SharedWord) => {
    const pair = pairAt(split, at);
    return pair !== null && pair.a === choice.pair?.a && pair.b === choice.pair.b;
  };
  const tokenOf = ({ at }: SharedWord, n: 0 | 1) => data.sides[n].tokens[at[n]]!;
  const side = (n: 0 | 1) => ({
    name: "ab"[n]!,
    title: `The weight in text ${"ab"[n]}’s vector and the token that made it, or most of it`,
    value: ({ weights }: SharedWord) => weights[n],
    show: (row: SharedWord) => (
      <>
        {signed(row.weights[n], DIGITS)}{" "}
        <span class={row.expansion[n] ? "bl-brought" : "bl-muted"}>
          {row.expansion[n] && "← "}
          <Token text={tokenOf(row, n)} />
        </span>
      </>
    ),
  });
  return (
    <Table<SharedWord>
      title="Words of both vectors"
      about={`parts of the number${others.count > 0 ? `; ${counted(others.count)} others have ${signed(others.sum, DIGITS)}` : ""}; ← a token that brings a word which its text does not contain`}
      rows={words}
      pinned={isOn}
      columns={[
        {
          name: "word",
          value: ({ word }) => word,
          show: (row) => (
            <button
              type="button"
              class="bl-link"
              aria-pressed={isOn(row)}
              onClick={() => {
                const pair = pairAt(split, row.at);
                if (pair) choice.choose(pair);
              }}
            >
              <Token text={row.word} />
            </button>
          ),
        },
        { name: "part", value: ({ part }) => part, show: ({ part }) => signed(part, DIGITS) },
        side(0),
        side(1),
      ]}
    />
  );
}

/** What a text's vector has beside its own words, and which token brings it. */
function expansionWords({ sides }: Similar, { expansions }: Vocabulary, n: 0 | 1): string {
  const { count, of, words } = expansions[n];
  const name = `Text ${"ab"[n]}’s vector`;
  if (of === 0) return `${name} has no word at all.`;
  if (count === 0) return `${name} has no word that the text does not contain.`;
  const list = words.map(
    ({ word, weight, at }) => `${tokenQuote(word)} ${signed(weight, DIGITS)} by ${tokenQuote(sides[n].tokens[at]!)}`,
  );
  const head = count > words.length ? `, the largest ${list.length}` : "";
  return `Of the ${counted(of)} ${of === 1 ? "word" : "words"} of text ${"ab"[n]}’s vector the text does not contain ${counted(count)}${head}: ${list.join(", ")}.`;
}

/** What is said of both vectors. */
export const vocabularyWords = (data: Similar, vocabulary: Vocabulary): string =>
  [vocabulary.said, expansionWords(data, vocabulary, 0), expansionWords(data, vocabulary, 1)].filter(Boolean).join(" ");
