// A treebank's sentence: its gold arcs above the words, below the arcs that the selected head predicts.

import * as phrases from "../../generated/phrases";
import { headLabel } from "../../paint/format";
import { inks } from "../../paint/palette";
import { directionOf } from "../../paint/quotes";
import { Drawing } from "../../parts/chart";
import { Segmented } from "../../parts/controls";
import { Section } from "../../parts/section";
import { useView } from "../../state/view";
import type { Choice, Sentence } from "./corpusheads";

const DIRECTIONS = ["dep->head", "head->dep"];
const NO_GUESS = -2;

interface Arc {
  word: number;
  other: number;
  right?: boolean; // whether it is in the treebank, which says nothing of its own
  label: string;
}

type ParseProps = Choice & { sentence: Sentence; guesses: Int32Array };

/** The treebank's arcs, and those that the head shown predicts. */
function arcsOf({ data, sentence, guesses, direction }: ParseProps, layer: number, head: number) {
  const { words, heads, relations } = sentence;
  const at = ((DIRECTIONS.indexOf(direction) * data.n_layers + layer) * data.n_heads + head) * words.length;
  const arc = (word: number, other: number, what: string): Arc => ({
    word,
    other,
    label: `${words[word]} ← ${words[other]}: ${what}`,
  });
  const gold = heads.map((truth, word) => arc(word, truth, relations[word]!));
  const guessed = heads.map((truth, word) => {
    const right = guesses[at + word] === truth;
    return { ...arc(word, guesses[at + word]!, right ? "right" : "not in the treebank"), right };
  });
  return { gold: gold.filter(({ other }) => other >= 0), guessed: guessed.filter(({ other }) => other !== NO_GUESS) };
}

const tall = ({ word, other }: Arc) => 12 + 11 * Math.abs(word - other) ** 0.75;
const highest = (arcs: Arc[]) => Math.max(20, ...arcs.map(tall));

export function Parse(props: ParseProps) {
  const { sentence, direction, put } = props;
  const { layer, head } = useView().shownHead;
  const { gold, guessed } = arcsOf(props, layer, head);
  const count = `${guessed.filter(({ right }) => right).length} of ${sentence.words.length}`;
  const name = headLabel(layer, head);
  return (
    <Section
      testid="parse"
      class="bl-parse"
      title="Parse"
      about={phrases.PARSES({ guess: `${name}, ${count} words right (full lines); arrows point to the head` })}
      aside={
        <Segmented
          label="direction"
          value={direction}
          choices={[
            { value: "dep->head", label: "word → its head", title: "the word attends most to its predicted head" },
            { value: "head->dep", label: "head → the word", title: "the predicted head attends most to the word" },
          ]}
          onChange={(value) => put({ direction: value })}
        />
      }
    >
      <div class="bl-scroll">
        <Arcs {...sentence} gold={gold} guessed={guessed} label={`Gold arcs, and those of ${name}: ${count} right`} />
      </div>
    </Section>
  );
}

function Arcs({ words, relations, gold, guessed, label }: Sentence & { gold: Arc[]; guessed: Arc[]; label: string }) {
  const { ink, muted } = inks(useView().dark);
  const ends = [8];
  for (const word of words) ends.push(ends.at(-1)! + Math.max(34, 7.4 * Array.from(word).length + 16));
  const isTurned = directionOf(words.join("")) === "rtl";
  const x = (word: number) => {
    const middle = (ends[word]! + ends[word + 1]!) / 2;
    return isTurned ? ends.at(-1)! + 8 - middle : middle;
  };
  const middle = highest(gold) + 30;
  const partner = (arcs: Arc[], word: number) => words[arcs.find((arc) => arc.word === word)?.other ?? -1] ?? null;
  const table = () => ({
    columns: ["word", "relation", "head in the treebank", "predicted head", "right"],
    rows: words.map((word, w) => [
      `${word} (${w})`,
      relations[w]!,
      partner(gold, w),
      partner(guessed, w),
      guessed.some((arc) => arc.word === w && arc.right) ? "yes" : "no",
    ]),
  });
  return (
    <Drawing wide width={ends.at(-1)! + 8} height={middle + highest(guessed) + 34} label={label} table={table}>
      {gold.map((arc) => (
        <Bow key={`g${arc.word}`} arc={arc} x={x} base={middle - 26} side={-1} />
      ))}
      {guessed.map((arc) => (
        <Bow key={`h${arc.word}`} arc={arc} x={x} base={middle + 12} side={1} />
      ))}
      {words.map((word, w) => (
        <g key={w} text-anchor="middle">
          <text x={x(w)} y={middle} font-size="13" fill={ink}>
            {word}
          </text>
          <text x={x(w)} y={middle - 16} font-size="9.5" fill={muted}>
            {relations[w]}
          </text>
        </g>
      ))}
    </Drawing>
  );
}

/** One arc with its arrow, above the words (side -1) or below. */
function Bow({ arc, x, base, side }: { arc: Arc; x: (word: number) => number; base: number; side: number }) {
  const { muted, ink, select } = inks(useView().dark);
  const { word, other: partner, right } = arc;
  const colour = right === undefined ? muted : right ? ink : select;
  const slant = x(partner) > x(word) ? 4 : -4;
  const [from, to, top] = [x(word) + slant, x(partner) - slant, base + side * tall(arc) * 1.3];
  return (
    <g stroke={colour} fill={colour}>
      <path
        d={`M${from} ${base}C${from} ${top} ${to} ${top} ${to} ${base}`}
        fill="none"
        stroke-width="1.6"
        stroke-dasharray={right === false ? "4 3" : undefined}
      >
        <title>{arc.label}</title>
      </path>
      <path d={`M${to - 3} ${base + side * 6}h6l-3 ${-side * 6}z`} stroke="none" />
    </g>
  );
}
