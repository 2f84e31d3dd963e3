// A sparse encoder's vectors: the words of the vocabulary that both have, and the tokens that made their weights.
import { signed } from "../../paint/format";
import { Button } from "../../parts/controls";
import { Table } from "../../parts/table";
import { Token } from "../../parts/token";
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
  const isOn = ({ at }: SharedWord) => {
    const pair = pairAt(split, at);
    return pair !== null && pair.a === choice.pair?.a && pair.b === choice.pair.b;
  };
  const tokenOf = ({ at }: SharedWord, n: 0 | 1) => data.sides[n].tokens[at[n]]!;
  const side = (n: 0 | 1) => ({
    name: "ab"[n]!,
    title: "Weight, and the token that made it or most of it",
    value: ({ weights }: SharedWord) => weights[n],
    show: (row: SharedWord) => (
      <>
        {signed(row.weights[n], DIGITS)}{" "}
        <span class={row.expansion[n] ? "" : "bl-muted"}>
          {row.expansion[n] && "← "}
          <Token text={tokenOf(row, n)} />
        </span>
      </>
    ),
  });
  return (
    <Table<SharedWord>
      title="Words of both vectors"
      about="← brings a word that its text does not contain"
      rows={vocabulary.words}
      pinned={isOn}
      columns={[
        {
          name: "word",
          value: ({ word }) => word,
          show: (row) => (
            <Button
              class="bl-link"
              aria-pressed={isOn(row)}
              onClick={() => {
                const pair = pairAt(split, row.at);
                if (pair) choice.choose(pair);
              }}
            >
              <Token text={row.word} />
            </Button>
          ),
        },
        { name: "part", value: ({ part }) => part, show: ({ part }) => signed(part, DIGITS) },
        side(0),
        side(1),
      ]}
    />
  );
}
